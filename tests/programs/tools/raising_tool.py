"""A tool that raises: caught by a callback first, then not caught at all."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_event


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


def divide(a: int, b: int) -> float:
    """Divides."""
    return a / b


def on_error(tool, args, tool_context, error):
    if args["a"] == 1:
        return {"problem": type(error).__name__, "tool": tool.name}
    return None


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("divide", a=1, b=0), say("No."), call("divide", a=2, b=0)]),
    tools=[divide],
    on_tool_error_callback=on_error,
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in ("1/0", "2/0"):
        try:
            async for event in runner.run_async(
                user_id="u", session_id="s", new_message=types.UserContent(text)
            ):
                show_event(event)
        except ZeroDivisionError as error:
            show(raised=type(error).__name__, said=str(error))
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(authors=[event.author for event in session.events])


asyncio.run(main())
