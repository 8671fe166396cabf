"""A long-running tool: a ticket first, then an update, then the final answer as messages."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import LongRunningFunctionTool, ToolContext
from google.genai import types
from showing import show_request, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def ask_manager(amount: int, tool_context: ToolContext) -> dict:
    """Asks the manager."""
    return {"status": "pending", "ticket": f"T{amount}"}


root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[call("ask_manager", amount=7), say("I asked."), say("Waiting."), say("Approved.")]
    ),
    tools=[LongRunningFunctionTool(func=ask_manager)],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    message = types.UserContent("Pay 7")
    for status in ("still pending", "approved", None):
        found = None
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            for one in event.get_function_calls():
                found = one if one.id in event.long_running_tool_ids else found
        asked = found or asked  # noqa: F821
        response = types.FunctionResponse(id=asked.id, name=asked.name, response={"status": status})
        message = types.Content(role="user", parts=[types.Part(function_response=response)])
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
