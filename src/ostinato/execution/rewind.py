"""Rewind of a session: the event that hides an invocation and its successors, and undoes their
effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import types
from ..context.invocation import new_invocation_context_id
from ..errors import NotFoundError
from ..events.event import Event
from ..events.event_actions import EventActions
from ..sessions.log.event_log import (
    ARTIFACT_DELTA,
    STATE_DELTA,
    EventLog,
    EventRecord,
    visible_records,
)
from ..sessions.session import Session, log_of
from ..sessions.state import State

_SHARED = (State.APP_PREFIX, State.USER_PREFIX)


async def rewind_event(
    session: Session,
    invocation_id: str,
    *,
    initial_state: dict[str, Any],
    artifacts: Any,
) -> Event:
    """Return the event that takes a session back to before an invocation.

    State shared with other sessions (`app:`, `user:`) and the user's artifacts do not change.

    Args:
      session: the session.
      invocation_id: the first invocation to hide.
      initial_state: state the session was created with.
      artifacts: the artifact service, whose earlier versions are saved again; or None.

    Raises:
      NotFoundError: the session has no such invocation.
    """
    log = log_of(session)
    start = log.start_of(invocation_id)
    if start is None:
        raise NotFoundError(f"Invocation {invocation_id!r} is not in session {session.id!r}.")
    before = visible_records(EventLog(log.records[:start]))
    delta = _state_delta(before, log.records[start:], initial_state)
    return Event(
        invocation_id=new_invocation_context_id(),
        author="user",
        actions=EventActions(
            rewind_before_invocation_id=invocation_id,
            state_delta={k: v for k, v in delta.items() if _is_different(session.state, k, v)},
            artifact_delta=await _restore_artifacts(
                session, before, log.records[start:], artifacts
            ),
        ),
    )


def _is_different(state: dict[str, Any], key: str, value: Any) -> bool:
    return (key in state) if value is None else state.get(key) != value


def _state_delta(
    before: Sequence[EventRecord], after: Sequence[EventRecord], initial: dict[str, Any]
) -> dict[str, Any]:
    """Return the earlier value of every key written since; None for new keys."""
    touched = [
        key
        for record in after
        if record.kinds & STATE_DELTA
        for key in record.event().actions.state_delta
        if not key.startswith(_SHARED)
    ]
    value = dict(initial)
    for record in before:
        if record.kinds & STATE_DELTA:
            value.update(record.event().actions.state_delta)
    return {key: value.get(key) for key in dict.fromkeys(touched)}


async def _restore_artifacts(
    session: Session,
    before: Sequence[EventRecord],
    after: Sequence[EventRecord],
    artifacts: Any,
) -> dict[str, int]:
    """Save the earlier version of each artifact written since then as a new one."""
    touched = {
        name
        for record in after
        if record.kinds & ARTIFACT_DELTA
        for name in record.event().actions.artifact_delta
        if not name.startswith(State.USER_PREFIX)
    }
    if not touched or artifacts is None:
        return {}
    versions: dict[str, int] = {}
    for record in before:
        if record.kinds & ARTIFACT_DELTA:
            versions.update(record.event().actions.artifact_delta)
    place = {
        "app_name": session.app_name,
        "user_id": session.user_id,
        "session_id": session.id,
    }
    saved: dict[str, int] = {}
    for name in sorted(touched):
        part: types.Part | None = None
        if name in versions:
            part = await artifacts.load_artifact(**place, filename=name, version=versions[name])
        # A new artifact becomes empty: artifacts have versions, but no gaps.
        part = part or types.Part(
            inline_data=types.Blob(mime_type="application/octet-stream", data=b"")
        )
        saved[name] = await artifacts.save_artifact(**place, filename=name, artifact=part)
    return saved
