"""Faults planted in the SQLite store, to see whether the checker finds them; one at a time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ostinato.sessions import sqlite_session_service as service_module
from ostinato.sessions.sqlite import sqlite_leases, sqlite_requests, sqlite_rows
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.stored_rows import Changes
from tests.jepsen.checker import SHARED
from tests.support.planted_faults import Plant, apply_plants

_SHARE = 0.3  # of the calls that go wrong
_LATE = 0.3  # seconds
_CHANCE = random.Random(1)
_later: set[asyncio.Task[Any]] = set()


def _goes_wrong(events: Sequence[Any], rest: Sequence[Any], named: dict[str, Any]) -> bool:
    """Choose some appends from outside of a run."""
    is_run = bool(rest) or named.get("claim") or named.get("fence")
    return not is_run and len(events) == 1 and _CHANCE.random() < _SHARE


def _acknowledge_only(inner: Any) -> Any:
    """Acknowledge some appends without storing them."""

    async def append(self: Any, session: Any, events: Any, *rest: Any, **named: Any) -> Any:
        if _goes_wrong(events, rest, named):
            return None
        return await inner(self, session, events, *rest, **named)

    return append


def _acknowledge_early(inner: Any) -> Any:
    """Acknowledge some appends before they are committed."""

    async def append(self: Any, session: Any, events: Any, *rest: Any, **named: Any) -> Any:
        if not _goes_wrong(events, rest, named):
            return await inner(self, session, events, *rest, **named)

        async def commit() -> None:
            await asyncio.sleep(_LATE)
            await inner(self, session, events, *rest, **named)

        task = asyncio.create_task(commit())
        _later.add(task)
        task.add_done_callback(_later.discard)
        return None

    return append


def _append_twice(inner: Any) -> Any:
    """Store some appends a second time, under another id."""

    async def append(self: Any, session: Any, events: Any, *rest: Any, **named: Any) -> Any:
        if _goes_wrong(events, rest, named):
            again = events[0].model_copy(update={"id": f"{events[0].id}-again"}, deep=True)
            return await inner(self, session, (*events, again), *rest, **named)
        return await inner(self, session, events, *rest, **named)

    return append


def _read_stale(inner: Any) -> Any:
    """Answer reads with what an earlier one returned, for a while."""
    kept: dict[str, tuple[float, Any]] = {}

    async def get_session(self: Any, *, config: Any = None, **names: Any) -> Any:
        made, found = kept.get(names["session_id"], (0.0, None))
        if config is None and found is not None and time.monotonic() - made < _LATE:
            return found
        read = await inner(self, config=config, **names)
        if config is None and read is not None:
            kept[names["session_id"]] = time.monotonic(), read
        return read

    return get_session


def _ignore_clashes(inner: Any) -> Any:
    """Let an append overwrite what its session does not show."""
    return lambda batch, newer, own: set()


def _lose_state(inner: Any) -> Any:
    """Store some events without the state that they write."""

    def snapshot(session: Any, event: Any) -> Any:
        record, changes = inner(session, event)
        if isinstance(changes, Changes) and _CHANCE.random() < _SHARE:
            changes.own = [row for row in changes.own if row[0] != SHARED]
        return record, changes

    return snapshot


def _take_every_answer(inner: Any) -> Any:
    """Let each answer to a call claim it."""
    return lambda *args: True


def _lose_message(inner: Any) -> Any:
    """Accept a message into the inbox without storing it."""

    def put(db: Any, place: Any, message: Any, seconds: float, answers: Any = ()) -> None:
        if message.owner and _CHANCE.random() > _SHARE:
            inner(db, place, message, seconds, answers)

    return put


def _forget_starts(inner: Any) -> Any:
    """Lose the journal's rows of calls that have begun."""
    return lambda db, sid, rows: inner(db, sid, [row for row in rows if row.status != "started"])


def _seem_new(inner: Any) -> Any:
    """Answer some reads with their newest two events exchanged."""

    def view(*args: Any) -> Any:
        session = inner(*args)
        if len(session.events) > 2 and _CHANCE.random() < _SHARE:
            session.events[-1], session.events[-2] = session.events[-2], session.events[-1]
        return session

    return view


def _drop_older_write(inner: Any) -> Any:
    """Let a run's write count although another writer's is later."""
    return lambda session, events, newer, own: None


# Each fault with the kinds of violation of which at least one must be found.
PLANTED: dict[str, tuple[set[str], list[Plant]]] = {
    "an append is acknowledged and not stored": (
        {"lost"},
        [(SqliteSessionService, "append", _acknowledge_only)],
    ),
    "an append is acknowledged before its commit": (
        {"order"},
        [(SqliteSessionService, "append", _acknowledge_early)],
    ),
    "an append is stored twice": (
        {"doubled"},
        [(SqliteSessionService, "append", _append_twice)],
    ),
    "a read is stale": ({"order"}, [(SqliteSessionService, "get_session", _read_stale)]),
    "a read has another order": ({"read"}, [(service_module, "admit_view", _seem_new)]),
    "an append overwrites what it has not seen": (
        {"overwritten"},
        [(sqlite_rows, "find_clashes", _ignore_clashes)],
    ),
    "a write of state is lost": ({"state"}, [(service_module, "snapshot_event", _lose_state)]),
    "an older write of a run counts": (
        {"last write"},
        [(service_module, "check_order", _drop_older_write)],
    ),
    "a call is answered twice": (
        {"answer"},
        [(sqlite_requests, "may_claim", _take_every_answer)],
    ),
    "a message in the inbox is lost": (
        {"lost"},
        [(sqlite_leases, "put_message", _lose_message)],
    ),
}

# Found only if clients are killed.
PLANTED_FOR_KILLS: dict[str, tuple[set[str], list[Plant]]] = {
    "a call in doubt is forgotten": (
        {"effect"},
        [(sqlite_leases, "write_journal", _forget_starts)],
    ),
}


def plant(name: str) -> AbstractContextManager[None]:
    """Plant a fault for the length of the block; none if the name is empty."""
    if not name:
        return apply_plants([])
    return apply_plants({**PLANTED, **PLANTED_FOR_KILLS}[name][1])
