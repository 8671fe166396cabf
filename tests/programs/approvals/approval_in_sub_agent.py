"""A confirmation asked in a sub-agent after a transfer; the answer finds its way there."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
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


def refund(order: str) -> str:
    """Refunds."""
    return f"refunded {order}"


clerk = LlmAgent(
    name="clerk",
    model=Scripted(replies=[call("refund", order="7"), say("Refunded."), say("Anything else?")]),
    tools=[FunctionTool(refund, require_confirmation=True)],
)
root_agent = LlmAgent(
    name="desk",
    model=Scripted(replies=[call("transfer_to_agent", agent_name="clerk")]),
    sub_agents=[clerk],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Refund 7")
    ):
        for one in event.get_function_calls():
            asked = one
    answer = types.FunctionResponse(
        id=asked.id, name="adk_request_confirmation", response={"confirmed": True}
    )
    for message in (
        types.Content(role="user", parts=[types.Part(function_response=answer)]),
        types.UserContent("Thanks"),
    ):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
