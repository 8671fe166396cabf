"""Values that are not plain JSON: returned by tools, kept in state, given as arguments."""

import asyncio
import datetime
import enum

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types
from printing import show, show_request
from pydantic import BaseModel


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


class Colour(enum.StrEnum):
    RED = "red"


class Place(BaseModel):
    name: str
    found_on: datetime.date | None = None


def model_of(place: str) -> Place:
    """Returns a record."""
    return Place(name=place, found_on=datetime.date(2024, 1, 2))


def nothing() -> None:
    """Returns nothing."""


def numbers() -> list[int]:
    """Returns a list."""
    return [1, 2]


def colour(wanted: Colour, at: datetime.date | None = None) -> dict:
    """Takes an enum."""
    return {"wanted": wanted, "kind": isinstance(wanted, Colour)}


def keep(tool_context: ToolContext) -> str:
    """Keeps odd values in state."""
    tool_context.state["tuple"] = (1, 2)
    tool_context.state["nested"] = {"list": [{"deep": True}]}
    return "kept"


async def main():
    agent = LlmAgent(
        name="values",
        model=Scripted(
            replies=[
                call("model_of", place="Rome"),
                call("nothing"),
                call("numbers"),
                call("colour", wanted="red"),
                call("keep"),
                say("Done."),
            ]
        ),
        tools=[model_of, nothing, numbers, colour, keep],
    )
    runner = InMemoryRunner(agent=agent, app_name="values")
    await runner.session_service.create_session(app_name="values", user_id="u", session_id="s")
    for text in ("Go",):
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            show(event)
    session = await runner.session_service.get_session(
        app_name="values", user_id="u", session_id="s"
    )
    print({key: list(value) for key, value in session.state.items()})


asyncio.run(main())
