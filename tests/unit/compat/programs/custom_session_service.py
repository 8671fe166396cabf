"""A session service of one's own: sessions as JSON texts in a dictionary."""

import asyncio
import uuid

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
from google.adk.tools import ToolContext
from google.genai import types
from printing import show, show_request


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


class JsonSessionService(BaseSessionService):
    def __init__(self):
        self.texts: dict[tuple[str, str, str], str] = {}

    async def create_session(self, *, app_name, user_id, state=None, session_id=None) -> Session:
        session = Session(
            app_name=app_name,
            user_id=user_id,
            id=session_id or str(uuid.uuid4()),
            state=state or {},
            last_update_time=1.0,
        )
        self._save(session)
        return session

    async def get_session(
        self, *, app_name, user_id, session_id, config: GetSessionConfig | None = None
    ) -> Session | None:
        text = self.texts.get((app_name, user_id, session_id))
        return Session.model_validate_json(text) if text else None

    async def list_sessions(self, *, app_name, user_id=None) -> ListSessionsResponse:
        found = [Session.model_validate_json(text) for text in self.texts.values()]
        return ListSessionsResponse(sessions=[s for s in found if s.app_name == app_name])

    async def delete_session(self, *, app_name, user_id, session_id) -> None:
        del self.texts[app_name, user_id, session_id]

    async def append_event(self, session: Session, event: Event) -> Event:
        event = await super().append_event(session, event)
        session.last_update_time = event.timestamp
        if not event.partial:
            self._save(session)
        return event

    def _save(self, session):
        key = (session.app_name, session.user_id, session.id)
        self.texts[key] = session.model_dump_json(by_alias=True)


def remember(what: str, tool_context: ToolContext) -> str:
    """Remembers something."""
    tool_context.state["remembered"] = what
    tool_context.state["temp:scratch"] = "gone"
    return "ok"


async def main():
    service = JsonSessionService()
    agent = LlmAgent(
        name="keeper",
        model=Scripted(replies=[call("remember", what="milk"), say("Kept."), say("Milk.")]),
        instruction="You remember {remembered?}.",
        tools=[remember],
    )
    runner = Runner(agent=agent, app_name="keep", session_service=service)
    await service.create_session(app_name="keep", user_id="u", session_id="s")
    for text in ["Milk", "What was it?"]:
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            show(event)
    stored = await service.get_session(app_name="keep", user_id="u", session_id="s")
    print(stored.state, len(stored.events))
    for event in stored.events:
        show(event)
    print(len((await service.list_sessions(app_name="keep", user_id="u")).sessions))


asyncio.run(main())
