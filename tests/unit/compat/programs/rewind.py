"""Runner.rewind_async: a turn is taken back with its state and its artifact, then asked anew."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
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


async def paint(colour: str, tool_context: ToolContext) -> str:
    """Paints the wall."""
    tool_context.state["colour"] = colour
    tool_context.state[f"has_{colour}"] = True
    await tool_context.save_artifact("wall.txt", types.Part.from_text(text=colour))
    return "painted"


async def main():
    replies = []
    for colour in ("red", "blue", "green"):
        replies += [call("paint", colour=colour), say(f"It is {colour}.")]
    agent = Agent(name="painter", model=Scripted(replies=replies), tools=[paint])
    runner = InMemoryRunner(agent=agent, app_name="house")
    place = {"app_name": "house", "user_id": "u", "session_id": "s"}
    await runner.session_service.create_session(**place)
    second = None
    for text in ("Red", "Blue"):
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            second = event.invocation_id
    await runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=second)
    session = await runner.session_service.get_session(**place)
    print(session.state["colour"], session.state.get("has_blue"))
    print(await runner.artifact_service.list_versions(filename="wall.txt", **place))
    wall = await runner.artifact_service.load_artifact(filename="wall.txt", **place)
    print(wall.text)
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Green")
    ):
        show(event)


asyncio.run(main())
