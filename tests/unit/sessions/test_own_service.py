"""A session service of the user's own, built on the base class alone."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.events import Event
from ostinato.sessions import Session
from ostinato.sessions.base_session_service import BaseSessionService, ListSessionsResponse


class OwnService(BaseSessionService):
    """Keeps one session, and leaves appending to the base class."""

    def __init__(self) -> None:
        self.session = Session(id="one", app_name="talk", user_id="ann")

    async def create_session(self, **place: Any) -> Session:
        return self.session

    async def get_session(self, **place: Any) -> Session | None:
        return self.session

    async def list_sessions(self, **place: Any) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=[self.session])

    async def delete_session(self, **place: Any) -> None:
        raise NotImplementedError


@pytest.mark.spec(189)
async def test_an_appended_event_has_an_id_a_time_and_takes_effect() -> None:
    service = OwnService()
    session = await service.create_session()
    events = [
        Event(author="ann", content=types.UserContent(text), actions={"state_delta": {text: 1}})  # type: ignore[arg-type]
        for text in ("a", "b")
    ]
    for event in events:
        event.id = ""
        assert await service.append_event(session, event) is event
    assert len({event.id for event in events}) == 2
    assert all(len(event.id) == 36 and event.timestamp > 0 for event in session.events)
    assert session.events == events
    assert session.state == {"a": 1, "b": 1}
    assert session.last_update_time == events[-1].timestamp
