"""LoopAgent: refine until the critic calls exit_loop; and a loop that its checker ends."""

import asyncio

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import exit_loop
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


def stop(tool_context: ToolContext):
    """Call this when nothing is left to improve."""
    tool_context.actions.escalate = True
    return {}


class CheckStatus(BaseAgent):
    async def _run_async_impl(self, ctx):
        status = ctx.session.state.get("round", 0) + 1
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            actions=EventActions(state_delta={"round": status}, escalate=status >= 2),
        )


def loop(tool):
    name = getattr(tool, "__name__", "exit_loop")
    return LoopAgent(
        name="refine",
        max_iterations=5,
        sub_agents=[
            LlmAgent(
                name="writer",
                model=Scripted(replies=[say("Draft."), say("Better draft.")]),
                output_key="draft",
            ),
            LlmAgent(
                name="critic",
                model=Scripted(replies=[say("Weak: {draft}"), call(name), say("Left.")]),
                tools=[tool],
            ),
        ],
    )


async def run(agent):
    print("--", agent.name)
    runner = InMemoryRunner(agent=agent, app_name="loops")
    session = await runner.session_service.create_session(app_name="loops", user_id="u")
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("Write")
    ):
        show(event)


async def main():
    await run(loop(exit_loop))
    await run(loop(stop))
    await run(LoopAgent(name="checked", max_iterations=9, sub_agents=[CheckStatus(name="check")]))
    await run(LoopAgent(name="bounded", max_iterations=1, sub_agents=[CheckStatus(name="once")]))


asyncio.run(main())
