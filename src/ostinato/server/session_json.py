"""Events and sessions as JSON for clients: google-adk's format, without nulls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..events.event import Event
from ..sessions.log.event_log import EventRecord
from ..sessions.session import Session, log_of
from .problems import public_event

_MANY = 100  # events above which a thread writes them


def event_json(event: Event) -> bytes:
    """Return an event as JSON."""
    return public_event(event).model_dump_json(by_alias=True, exclude_none=True).encode()


def event_pieces(event: Event, *, split: bool) -> list[bytes]:
    """Return an event as one or two JSON texts; google-adk's page wants artifact changes apart."""
    if not (split and event.content is not None and event.content.parts):
        return [event_json(event)]
    if not event.actions.artifact_delta:
        return [event_json(event)]
    without = event.actions.model_copy(update={"artifact_delta": {}})
    return [
        event_json(event.model_copy(update={"actions": without})),
        event_json(event.model_copy(update={"content": None})),
    ]


def _records_json(records: Sequence[EventRecord]) -> bytes:
    return b"[" + b",".join(event_json(record.event()) for record in records) + b"]"


def outline_json(session: Session) -> bytes:
    """Return a session without its events as JSON."""
    bare = Session(
        id=session.id,
        app_name=session.app_name,
        user_id=session.user_id,
        state=session.state,
        last_update_time=session.last_update_time,
    )
    return bare.model_dump_json(by_alias=True, exclude_none=True, exclude={"events"}).encode()


async def session_json(session: Session) -> bytes:
    """Return a session with its events as JSON."""
    records = list(log_of(session).records)
    head = outline_json(session)
    if len(records) < _MANY:
        events = _records_json(records)
    else:
        events = await asyncio.to_thread(_records_json, records)
    return head[:-1] + b',"events":' + events + b"}"
