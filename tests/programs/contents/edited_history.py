"""A program that appends events by itself and edits the session between two turns."""

import asyncio

from google.adk.agents import Agent
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
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


async def main():
    agent = Agent(name="desk", model=Scripted(replies=[say("One."), say("Two.")]))
    runner = InMemoryRunner(agent=agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name="desk", user_id="u", session_id="s")
    await service.append_event(
        session, Event(author="user", content=types.UserContent("Earlier question"))
    )
    await service.append_event(
        session,
        Event(
            author="desk",
            content=types.ModelContent("Earlier answer"),
            actions=EventActions(state_delta={"seen": True}),
        ),
    )
    for text in ("Now", "Later"):
        async for _ in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            pass
    copy = await service.get_session(app_name="desk", user_id="u", session_id="s")
    copy.events.clear()
    copy.state["local"] = "only here"
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
