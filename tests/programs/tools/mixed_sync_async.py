"""Plain and async tools of one step: they share contextvars and the event loop's thread."""

import asyncio
import contextvars
import threading

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
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


name = contextvars.ContextVar("name", default="nobody")
main_thread = threading.get_ident()


def plain() -> dict:
    """Runs plainly."""
    return {"name": name.get(), "main": threading.get_ident() == main_thread}


async def slow() -> dict:
    """Runs slowly."""
    await asyncio.sleep(0.01)
    return {"name": name.get(), "main": threading.get_ident() == main_thread}


both = types.ModelContent(
    [types.Part.from_function_call(name=tool, args={}) for tool in ("slow", "plain")]
)
root_agent = Agent(name="desk", model=Scripted(replies=[both, say("Ok.")]), tools=[plain, slow])
name.set("Ann")


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Go"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
