"""Sessions and events as JSON with aliases, and back; what a web client reads."""

import asyncio
import json

from google.adk.agents import Agent
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.sessions import Session
from google.adk.tools import ToolContext
from google.genai import types
from showing import show


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


def add(a: int, b: int, tool_context: ToolContext) -> dict:
    """Adds."""
    tool_context.state["sum"] = a + b
    return {"sum": a + b}


async def main():
    runner = InMemoryRunner(
        agent=Agent(
            name="desk", model=Scripted(replies=[call("add", a=1, b=2), say("3.")]), tools=[add]
        ),
        app_name="desk",
    )
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("1 + 2?")
    ):
        raw = json.loads(event.model_dump_json(by_alias=True, exclude_none=True))
        raw.pop("timestamp")
        show(raw=raw)
        same = Event.model_validate_json(event.model_dump_json(by_alias=True))
        show(same=same.model_dump() == event.model_dump())
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    raw = json.loads(session.model_dump_json(by_alias=True, exclude_none=True))
    show(keys=sorted(raw), events=len(raw["events"]))
    again = Session.model_validate(raw)
    show(same=[event.content.parts[0].text for event in again.events], state=again.state)


asyncio.run(main())
