"""Tools that return parts, bytes in dicts, and nested models."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel
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


class Report(BaseModel):
    title: str
    pages: list[int]


def report() -> Report:
    """Makes a report."""
    return Report(title="T", pages=[1, 2])


def link() -> types.Part:
    """Returns a file."""
    return types.Part(file_data=types.FileData(file_uri="gs://b/f.png", mime_type="image/png"))


def mixed() -> dict:
    """Returns a model in a dict."""
    return {"report": Report(title="In", pages=[]), "ok": True}


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("report"), call("link"), call("mixed"), say("Done.")]),
    tools=[report, link, mixed],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Report"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
