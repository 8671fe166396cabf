"""Endpoints of a session's past: the state around an event, and the sessions forked from it."""

from __future__ import annotations

import asyncio
from typing import Any

from ..errors import SessionNotFoundError
from ..execution.store_access import durable_store
from ..sessions.log.event_log import EventRecord
from ..sessions.log.fork import fold_state
from ..sessions.state import SCOPED_PREFIXES
from ..sessions.store.durable_store import Place
from ..sessions.store.session_search import TITLE_KEY, title_of
from .endpoint import SESSION_PATH, Call, Endpoint, NoQuery
from .names import Id
from .place import list_page, load_records, need_session
from .problems import Problem
from .runs import StrictRecord, WireRecord

_RELATIVES = 200  # last changed sessions of a user among which forks are searched
_AT_ONCE = 8
_REMEMBERED = 20_000  # sessions whose first event is remembered


class StateQuery(StrictRecord):
    """Around which event; the last one if it is left out."""

    event_id: Id | None = None


class StateAround(WireRecord):
    """A session's state around an event.

    Attributes:
      initial: the state at creation.
      initial_known: false if the store does not keep it; keys that events wrote are missing then.
      before, after: the state before and after the event, without removed keys; of the state of
        the user and the app, only what events of this session wrote.
    """

    initial: dict[str, Any]
    initial_known: bool
    before: dict[str, Any]
    after: dict[str, Any]


class BranchSession(WireRecord):
    """A session that ends in a branch."""

    id: str
    user_id: str
    title: str | None = None
    last_update_time: float


class Branch(WireRecord):
    """Events that sessions share, and what follows in each.

    Attributes:
      first, last: numbers of the branch's first and last event; 0 if it has none.
      sessions: the sessions that end with this branch.
      branches: what follows where the sessions part.
    """

    first: int
    last: int
    sessions: list[BranchSession]
    branches: list[Branch]


async def get_state(call: Call) -> StateAround:
    """Return the state at creation, and before and after an event."""
    place, service = call.read_place(), call.host.services.sessions
    _, records = await load_records(service, place)
    end = len(records)
    if call.query.event_id is not None:
        ids = [record.id for record in records]
        if call.query.event_id not in ids:
            raise Problem(404, "NotFoundError", "The event is not in this session.")
        end = ids.index(call.query.event_id) + 1
    initial, known = await _load_initial_state(call, place, records)

    def fold(count: int) -> dict[str, Any]:
        state = fold_state(initial, records[:count], shared=True)
        return {key: value for key, value in state.items() if value is not None}

    return StateAround(
        initial=initial, initial_known=known, before=fold(max(0, end - 1)), after=fold(end)
    )


async def _load_initial_state(
    call: Call, place: Place, records: list[EventRecord]
) -> tuple[dict[str, Any], bool]:
    """Return the state at creation and whether the store knew it."""
    service = call.host.services.sessions
    session = await need_session(service, place)
    durable = durable_store(service)
    if durable is not None:
        return await durable.initial_state(session), True
    written = fold_state({}, records)
    own = {k: v for k, v in session.state.items() if not k.startswith(SCOPED_PREFIXES)}
    return {key: value for key, value in own.items() if key not in written}, False


async def list_forks(call: Call) -> Branch:
    """Return the user's sessions that begin with the same event, as a tree."""
    place, service = call.read_place(), call.host.services.sessions
    _, records = await load_records(service, place)
    page = await list_page(service, place.app_name, place.user_id, _RELATIVES, None)
    known = call.host.first_events
    gate = asyncio.Semaphore(_AT_ONCE)

    async def load_ids(session: Any) -> tuple[BranchSession, list[str]] | None:
        where = Place(place.app_name, session.user_id, session.id)
        if not records or known.get(where) not in (None, records[0].id):
            return None
        try:
            async with gate:
                _, found = await load_records(service, where)
        except SessionNotFoundError:  # deleted in the meantime
            return None
        if found:
            known[where] = found[0].id
            while len(known) > _REMEMBERED:
                known.popitem(last=False)
        if not found or found[0].id != records[0].id:
            return None
        title = title_of(session.state.get(TITLE_KEY))
        summary = BranchSession(
            id=session.id,
            user_id=session.user_id,
            title=title,
            last_update_time=session.last_update_time,
        )
        return summary, [record.id for record in found]

    found = await asyncio.gather(*(load_ids(one) for one in page.sessions[:_RELATIVES]))
    return _grow([one for one in found if one is not None], 0)


def _grow(sessions: list[tuple[BranchSession, list[str]]], start: int) -> Branch:
    """Return the branch of sessions whose first `start` events are already in the tree."""
    if not sessions:
        return Branch(first=0, last=0, sessions=[], branches=[])
    end = start
    while all(len(ids) > end for _, ids in sessions):
        if len({ids[end] for _, ids in sessions}) > 1:
            break
        end += 1
    below: dict[str, list[tuple[BranchSession, list[str]]]] = {}
    for one in sessions:
        if len(one[1]) > end:
            below.setdefault(one[1][end], []).append(one)
    return Branch(
        first=start + 1 if end > start else 0,
        last=end if end > start else 0,
        sessions=[summary for summary, ids in sessions if len(ids) == end],
        branches=[_grow(group, end) for group in below.values()],
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        f"{SESSION_PATH}/state",
        "Return a session's state around an event",
        get_state,
        query=StateQuery,
        answer=StateAround,
    ),
    Endpoint(
        "GET",
        f"{SESSION_PATH}/forks",
        "List the sessions that begin as this one did",
        list_forks,
        query=NoQuery,
        answer=Branch,
    ),
)
