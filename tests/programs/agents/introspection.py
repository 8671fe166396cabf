"""What programs read from agents: canonical tools and instructions, copies, dumps of fields."""

import asyncio
import copy

from google.adk.agents import (
    InvocationContext,
    LlmAgent,
)
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types
from showing import show


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def ping() -> str:
    """Pings."""
    return "pong"


def told(context: ReadonlyContext) -> str:
    return f"For {context.agent_name}"


agent = LlmAgent(
    name="desk",
    description="A desk",
    model=Scripted(replies=[say("Hi.")]),
    instruction=told,
    global_instruction="All",
    tools=[ping],
    before_model_callback=[lambda callback_context, llm_request: None],
)


async def main():
    runner = InMemoryRunner(agent=agent, app_name="desk")
    session = await runner.session_service.create_session(app_name="desk", user_id="u")
    context = ReadonlyContext(
        InvocationContext(
            invocation_id="i",
            agent=agent,
            session=session,
            session_service=runner.session_service,
        )
    )
    show(tools=[tool.name for tool in await agent.canonical_tools(context)])
    show(instruction=await agent.canonical_instruction(context))
    show(everywhere=await agent.canonical_global_instruction(context))
    show(before=len(agent.canonical_before_model_callbacks))
    show(after=agent.canonical_after_tool_callbacks, model=agent.canonical_model is agent.model)
    show(described=agent.description, root=agent.root_agent is agent, subs=agent.sub_agents)
    other = agent.model_copy(update={"name": "other"})
    show(copied=[other.name, other.tools == agent.tools, other.model is agent.model])
    agent.instruction = "Changed"
    show(changed=await agent.canonical_instruction(context))
    agent.tools.append(FunctionTool(told))
    show(more=[tool.name for tool in await agent.canonical_tools(context)])
    twin = copy.copy(agent)
    show(twin=twin.name, same=twin.model is agent.model)
    try:
        agent.no_such_field = 1
    except ValueError:
        print("no such field")


asyncio.run(main())
