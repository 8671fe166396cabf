"""Rewind of a session: the event that hides an invocation and its successors, and undoes their
effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import types
from ..context.invocation import new_invocation_context_id
from ..errors import CallAlreadyAnsweredError, NotFoundError, SessionBusyError
from ..events.event import Event
from ..events.event_actions import EventActions
from ..sessions.log.call_requests import find_unstarted, note_requests
from ..sessions.log.event_log import (
    ARTIFACT_DELTA,
    STATE_DELTA,
    EventLog,
    EventRecord,
    visible_records,
)
from ..sessions.session import Session, log_of
from ..sessions.state import State
from ..sessions.store.durable_store import CallAnswer, CallChanges
from .store_access import StoreAccess
from .turn import Turn

_SHARED = (State.APP_PREFIX, State.USER_PREFIX)


async def append_rewind(
    session: Session, turn: Turn, *, store: StoreAccess, invocation_id: str
) -> None:
    """Claim a session and rewind it.

    Args:
      session: the session.
      turn: the turn of the rewind.
      store: the session's store.
      invocation_id: the first invocation to hide.

    Raises:
      NotFoundError: the session has no such invocation.
      SessionBusyError: a message that waits answers a call that the rewind would hide.
    """
    await turn.claim()
    event = await rewind_event(
        session,
        invocation_id,
        initial_state=await store.initial_state(session),
        artifacts=turn.request.runner.host.artifact_service,
    )
    try:
        await turn.commit((event,), (), rewind_changes(log_of(session), invocation_id))
    except CallAlreadyAnsweredError as error:
        raise SessionBusyError(
            f"Session {session.id!r} was not rewound: a message that came meanwhile answers call "
            f"{error.call_id!r}. Wait until it has run, then rewind again."
        ) from None


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


def rewind_changes(log: EventLog, invocation_id: str) -> CallChanges | None:
    """Return what a rewind to before an invocation changes of requests; None if nothing.

    The rewind claims the open calls that it hides: it is refused if a message that waits for its
    turn answers one of them.

    Args:
      log: all records of the session, before the rewind.
      invocation_id: the invocation before which the session is taken back.
    """
    start = log.start_of(invocation_id)
    if start is None:
        return None
    visible = visible_records(log)
    hidden = {record.id for record in log.records[start:]}
    withdrawn: dict[str, None] = {}
    reopened: dict[str, None] = {}
    asked: set[str] = set()
    answered: set[str | None] = set()
    for record in visible:
        if record.long_running and record.id in hidden:
            withdrawn.update(dict.fromkeys(record.long_running))
        asked.update(record.long_running if record.id not in hidden else ())
        if record.author == "user":
            answered.update(call for call, _ in record.responses)
        if record.author == "user" and record.id in hidden:
            reopened.update({call: None for call, _ in record.responses if call in asked and call})
    for record in visible:
        if record.author == "user" and record.id not in hidden:  # its answer stays in sight
            for call, _ in record.responses:
                reopened.pop(call or "", None)
    known = {record.id for record in visible}
    after = visible_records(EventLog(log.records[:start]))
    again = _changes_of_returned([one for one in after if one.id not in known], log)
    unstarted = find_unstarted(after)
    claims = [
        CallAnswer(call, "{}", f"rewind:{invocation_id}") for call in withdrawn.keys() - answered
    ]
    withdrawn.update(dict.fromkeys(one for one in sorted(unstarted) if one in asked))
    if not (withdrawn or reopened or again.asked or again.withdrawn):
        return None
    gone = (*withdrawn, *again.withdrawn)
    return replace(again, answers=claims, withdrawn=gone, reopened=tuple(reopened))


def _changes_of_returned(records: Sequence[EventRecord], log: EventLog) -> CallChanges:
    """Return what changes of requests since a rewind hides an earlier one, which hid records."""
    changes = note_requests(None, [record.event() for record in records], log)
    settled = {answer.call_id: None for answer in changes.answers}
    for record in records:
        if record.author == "user":
            settled.update({call: None for call, _ in record.responses if call})
    asked = [request for request in changes.asked if request.call_id not in settled]
    return CallChanges(asked=asked, withdrawn=(*changes.withdrawn, *settled))
