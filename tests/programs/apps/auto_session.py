"""A runner that creates missing sessions, and one that does not."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
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


async def main():
    service = InMemorySessionService()
    for auto in (True, False):
        runner = Runner(
            app_name="desk",
            agent=Agent(name="desk", model=Scripted(replies=[say("Hi."), say("Ho."), say("Ha.")])),
            session_service=service,
            auto_create_session=auto,
        )
        try:
            async for event in runner.run_async(
                user_id="u", session_id=f"s{auto}", new_message=types.UserContent("Hi")
            ):
                show_event(event)
        except ValueError:
            show(auto=auto, refused=True)
    listed = await service.list_sessions(app_name="desk", user_id="u")
    show(ids=[session.id for session in listed.sessions])
    for message in (types.Content(role="user", parts=[]), types.Content(role="user")):
        try:
            async for event in runner.run_async(
                user_id="u", session_id="sTrue", new_message=message
            ):
                show_event(event)
        except ValueError:
            print("refused", message.parts)


asyncio.run(main())
