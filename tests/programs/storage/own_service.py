"""A session service of one's own: a subclass of BaseSessionService on a dict."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import ListSessionsResponse
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


class Dicts(BaseSessionService):
    def __init__(self):
        self.rows = {}

    async def create_session(self, *, app_name, user_id, state=None, session_id=None):
        session = Session(
            id=session_id or "made", app_name=app_name, user_id=user_id, state=state or {}
        )
        self.rows[session.id] = session
        return session.model_copy(deep=True)

    async def get_session(self, *, app_name, user_id, session_id, config=None):
        found = self.rows.get(session_id)
        return found.model_copy(deep=True) if found else None

    async def list_sessions(self, *, app_name, user_id=None):
        return ListSessionsResponse(sessions=list(self.rows.values()))

    async def delete_session(self, *, app_name, user_id, session_id):
        self.rows.pop(session_id, None)

    async def append_event(self, session, event):
        await super().append_event(session, event)
        stored = self.rows[session.id]
        if stored is not session and not event.partial:
            await super().append_event(stored, event)
        show(appended=event.author)
        return event


def add(n: int, tool_context: ToolContext) -> int:
    """Adds."""
    tool_context.state["sum"] = tool_context.state.get("sum", 0) + n
    return tool_context.state["sum"]


async def main():
    agent = Agent(name="desk", model=Scripted(replies=[call("add", n=2), say("Two.")]), tools=[add])
    service = Dicts()
    await service.create_session(app_name="a", user_id="u", session_id="s")
    runner = Runner(app_name="a", agent=agent, session_service=service)
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Add 2")
    ):
        pass
    show_session(await service.get_session(app_name="a", user_id="u", session_id="s"))


asyncio.run(main())
