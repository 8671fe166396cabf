"""A state_delta with the message, output keys, and state that callbacks and tools share."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types
from showing import show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def bump(tool_context: ToolContext) -> int:
    """Bumps."""
    tool_context.state["n"] = tool_context.state.get("n", 0) + 1
    return tool_context.state["n"]


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("bump"), call("bump"), say("Two more than {start}.")]),
    tools=[bump],
    output_key="user:said",
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.UserContent("Bump"),
        state_delta={"n": 5, "app:seen": True, "temp:t": 1},
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
