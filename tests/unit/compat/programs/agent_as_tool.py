"""AgentTool: an agent asks another like a tool, state goes down and comes back."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
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


def note(text: str, tool_context: ToolContext) -> str:
    """Notes something."""
    tool_context.state["note"] = text + " for " + tool_context.state["who"]
    return "noted"


summary_agent = Agent(
    name="summary_agent",
    model=Scripted(replies=[call("note", text="short"), say("A short summary.")]),
    description="Summarizes texts",
    tools=[note],
)
root_agent = Agent(
    name="root_agent",
    model=Scripted(
        replies=[call("summary_agent", request="Summarize a long text"), say("There it is.")]
    ),
    tools=[AgentTool(agent=summary_agent)],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="summaries")
    session = await runner.session_service.create_session(
        app_name="summaries", user_id="u", state={"who": "Ann"}
    )
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("Summarize")
    ):
        show(event)
    session = await runner.session_service.get_session(
        app_name="summaries", user_id="u", session_id=session.id
    )
    print(sorted(session.state.items()), len(session.events))


asyncio.run(main())
