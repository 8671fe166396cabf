"""Events and sessions as clients get them: google-adk's JSON, nulls left out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..events.event import Event
from ..sessions.event_log import EventRecord
from ..sessions.session import Session, log_of
from .problems import public_text

_MANY = 100  # events from which on they are written in a thread


def event_json(event: Event) -> bytes:
    """Return an event as JSON."""
    if event.error_message:
        event = event.model_copy(update={"error_message": public_text(event.error_message)})
    return event.model_dump_json(by_alias=True, exclude_none=True).encode()


def frames_of(event: Event, *, split: bool) -> list[bytes]:
    """Return an event as the one or two pieces that google-adk's server sends.

    Args:
      event: the event.
      split: send content and files apart, as its page wants it.
    """
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


def listed_json(session: Session) -> bytes:
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
    head = listed_json(session)
    if len(records) < _MANY:
        events = _records_json(records)
    else:
        events = await asyncio.to_thread(_records_json, records)
    return head[:-1] + b',"events":' + events + b"}"
