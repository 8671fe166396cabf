"""Two calls of one step: one needs a confirmation, the other runs at once."""

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


def delete(path: str) -> str:
    """Deletes."""
    return f"deleted {path}"


def look(path: str) -> str:
    """Looks."""
    return f"looked at {path}"


def risky(path: str) -> bool:
    return path.startswith("/")


two = types.ModelContent(
    [
        types.Part.from_function_call(name="delete", args={"path": "/a"}),
        types.Part.from_function_call(name="look", args={"path": "b"}),
    ]
)
root_agent = Agent(
    name="desk",
    model=Scripted(replies=[two, say("Deleted."), call("delete", path="c"), say("Gone.")]),
    tools=[FunctionTool(delete, require_confirmation=risky), look],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Delete /a")
    ):
        for one in event.get_function_calls():
            asked = one
    answer = types.FunctionResponse(
        id=asked.id, name="adk_request_confirmation", response={"confirmed": True}
    )
    for message in (
        types.Content(role="user", parts=[types.Part(function_response=answer)]),
        types.UserContent("Delete c"),
    ):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
