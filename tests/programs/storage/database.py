"""DatabaseSessionService on SQLite: state, events and a second service on the same file."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService
from google.adk.tools import ToolContext
from google.genai import types
from showing import show, show_session


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


def note(text: str, tool_context: ToolContext) -> str:
    """Notes."""
    tool_context.state["user:note"] = text
    return "noted"


async def main():
    url = "sqlite+aiosqlite:///sessions.db"
    model = Scripted(replies=[call("note", text="blue"), say("Noted.")])
    agent = Agent(name="desk", model=model, tools=[note])
    service = DatabaseSessionService(db_url=url)
    await service.create_session(app_name="a", user_id="u", session_id="s", state={"app:v": 1})
    runner = Runner(app_name="a", agent=agent, session_service=service)
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Note blue")
    ):
        pass
    await service.close()
    async with DatabaseSessionService(db_url=url) as again:
        show_session(await again.get_session(app_name="a", user_id="u", session_id="s"))
        listed = await again.list_sessions(app_name="a", user_id="u")
        show(ids=[session.id for session in listed.sessions], events=len(listed.sessions[0].events))
        await again.delete_session(app_name="a", user_id="u", session_id="s")
        show(gone=await again.get_session(app_name="a", user_id="u", session_id="s"))


asyncio.run(main())
