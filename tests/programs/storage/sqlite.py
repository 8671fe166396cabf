"""SqliteSessionService: a session that a second runner on the same file goes on with."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
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
    for turn, text in enumerate(("I am Ann", "Who am I?")):
        service = SqliteSessionService(db_path="sessions.db")
        if not turn:
            await service.create_session(app_name="a", user_id="u", session_id="s")
        agent = Agent(name="desk", model=Scripted(replies=[say(f"Answer {turn}")]))
        runner = Runner(app_name="a", agent=agent, session_service=service)
        async for _ in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            pass
    show_session(await service.get_session(app_name="a", user_id="u", session_id="s"))


asyncio.run(main())
