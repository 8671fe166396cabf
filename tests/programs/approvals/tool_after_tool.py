"""Two approvals, one after the other, in one conversation; the second is refused."""

import asyncio

from google.adk.agents import Agent
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


def send(to: str) -> str:
    """Sends."""
    return f"sent to {to}"


root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[call("send", to="a"), call("send", to="b"), say("One of two is sent.")]
    ),
    tools=[FunctionTool(send, require_confirmation=True)],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    message = types.UserContent("Send to a and b")
    for confirmed in (True, False, None):
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            for one in event.get_function_calls():
                asked = one
        answer = types.FunctionResponse(
            id=asked.id, name="adk_request_confirmation", response={"confirmed": confirmed}
        )
        message = types.Content(role="user", parts=[types.Part(function_response=answer)])
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
