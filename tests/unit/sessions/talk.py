"""What the tests of session stores say and read: events, texts, sessions loaded afresh."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest

from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.sessions.base_session_service import BaseSessionService, GetSessionConfig
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite import sqlite_connection as _sqlite_connection
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Claim, Fence, Place
from ostinato.types import Content, Part

OWNER: dict[str, Any] = {"app_name": "app", "user_id": "ann"}

STALE = (
    "The session has been modified in storage since it was loaded. "
    "Please reload the session before appending more events."
)
PLACE = Place("app", "ann", "s1")

Store = InMemorySessionService | SqliteSessionService | DatabaseSessionService


def trace_statements(monkeypatch: pytest.MonkeyPatch, note: Callable[[str], object]) -> None:
    """Have each statement noted that SQLite connections made from now on execute, where it runs."""
    inner = _sqlite_connection.connect

    def traced(*args: Any) -> sqlite3.Connection:
        connection = inner(*args)
        connection.set_trace_callback(note)
        return connection

    monkeypatch.setattr(_sqlite_connection, "connect", traced)


def said(text: str, delta: dict[str, Any] | None = None, **fields: Any) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    actions = EventActions(state_delta=delta or {})
    return Event(
        **{
            "author": "user",
            "invocation_id": "e-1",
            "content": content,
            "actions": actions,
            **fields,
        }
    )


def texts(session: Session) -> list[str | None]:
    return [(e.content.parts or [])[0].text for e in session.events if e.content]


async def reloaded(store: BaseSessionService, session: Session, **config: Any) -> Session:
    found = await store.get_session(
        app_name=session.app_name,
        user_id=session.user_id,
        session_id=session.id,
        config=GetSessionConfig(**config) if config else None,
    )
    assert found is not None
    return found


class Clock:
    """A time that moves only when told to, but for the tiny steps that tell its answers apart."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Passing:
    """Real time that has passed since it was made: that of a server goes on while a test runs."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def leaves(self, left: float, of: float) -> bool:
        """Tell whether `left` may be left of so many seconds that began since."""
        return of - (time.monotonic() - self._begun) - 0.1 <= left <= of


def claim(owner: str = "me", invocation: str = "e-1", **fields: Any) -> Claim:
    fields.setdefault("message", invocation)
    return Claim(owner, f"process of {owner}", 30.0, invocation, "digest", **fields)


async def begin(store: Store, session: Session, wish: Claim, *events: Event) -> Fence:
    fence = await store.append(session, events, claim=wish)
    assert fence is not None
    return fence
