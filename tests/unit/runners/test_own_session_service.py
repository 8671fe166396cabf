"""A session service of a user's own, which leaves the rules of an append to the base class."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from ostinato import types
from ostinato.agents import BaseAgent, InvocationContext
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.sessions import Session
from ostinato.sessions.base_session_service import BaseSessionService, ListSessionsResponse


class OwnService(BaseSessionService):
    """Keeps one session, and what was appended to it."""

    def __init__(self) -> None:
        self.session = Session(id="one", app_name="app", user_id="ann")
        self.appended: list[Event] = []

    async def create_session(self, **_: Any) -> Session:
        return self.session

    async def get_session(self, **_: Any) -> Session | None:
        return self.session

    async def list_sessions(self, **_: Any) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=[self.session])

    async def delete_session(self, **_: Any) -> None:
        raise NotImplementedError

    async def append_event(self, session: Session, event: Event) -> Event:
        event = await super().append_event(session, event)
        self.appended.append(event)
        return event


class Nameless(BaseAgent):
    """Yields two events without ids, as an agent that copies events from elsewhere may."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for text in ("one", "two"):
            content = types.Content(role="model", parts=[types.Part(text=text)])
            event = Event(author=self.name, invocation_id=ctx.invocation_id, content=content)
            event.id = ""
            yield event


async def test_an_event_without_an_id_gets_one_when_it_is_appended() -> None:
    service = OwnService()
    runner = Runner(app_name="app", agent=Nameless(name="root"), session_service=service)
    run = runner.run_async(user_id="ann", session_id="one", new_message="Go")
    seen = [event.id async for event in run]
    ids = [event.id for event in service.appended]
    assert all(ids) and len(set(ids)) == 3
    assert [event.id for event in service.session.events] == ids
    assert seen == ids[1:]
