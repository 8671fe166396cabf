"""Faults planted in the runtime, to see whether the simulation finds them; one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from ostinato.durable.lease import LeaseKeeper
from ostinato.execution.recovery import blockers
from ostinato.execution.routing import answers
from ostinato.flows.llm_flows import functions
from ostinato.sessions import in_memory_session_service as memory
from ostinato.sessions.in_memory import memory_ownership as ownership
from ostinato.sessions.in_memory import memory_requests
from ostinato.sessions.in_memory.memory_ownership import MemoryOwnership, Owned
from ostinato.sessions.log.event_log import EventLog
from ostinato.tools import FunctionTool

Plant = tuple[Any, str, Callable[[Any], Any]]


def _nothing(*args: Any, **named: Any) -> None:
    """Do nothing."""


def _grant_to_all(inner: Any) -> Any:
    """Give a lease although another owner holds it."""

    def grant(place: Any, lease: Any, first: Any, claim: Any, revision: int) -> Any:
        free = lease and replace(lease, owner="", invocation_id="")
        return inner(place, free, first, claim, revision)

    return grant


def _grant_old_token(inner: Any) -> Any:
    def grant(place: Any, lease: Any, first: Any, claim: Any, revision: int) -> Any:
        new = inner(place, lease, first, claim, revision)
        return replace(new, token=max(1, new.token - 1))

    return grant


def _grant_out_of_turn(inner: Any) -> Any:
    return lambda place, lease, first, claim, revision: inner(place, lease, None, claim, revision)


def _grant_stale(inner: Any) -> Any:
    def grant(place: Any, lease: Any, first: Any, claim: Any, revision: int) -> Any:
        return inner(place, lease, first, replace(claim, revision=None), revision)

    return grant


def _drop_finished(inner: Any) -> Any:
    return lambda self, rows: inner(self, [row for row in rows if row.status != "finished"])


def _drop_started(inner: Any) -> Any:
    return lambda self, rows: inner(self, [row for row in rows if row.status == "finished"])


def _forget_rows(inner: Any) -> Any:
    """Clear the journal of an invocation when another owner claims it."""

    def claim(self: Any, place: Any, wish: Any, revision: int) -> Any:
        given = inner(self, place, wish, revision)
        self.journal.clear()
        return given

    return claim


def _keep_invocation(inner: Any) -> Any:
    async def release(self: Any, place: Any, fence: Any, **named: Any) -> None:
        found = self._owned.get(place)
        if found is not None and found.find_lease(fence) is not None:
            found.lease = replace(found.lease, left=0.0)

    return release


def _renew_lost(inner: Any) -> Any:
    """Renew for a former owner, in the name of the present one."""

    def renew(self: Any, place: Any, fence: Any, seconds: float) -> Any:
        found = self._owned.get(place)
        if found is not None and found.lease is not None:
            found.lease = replace(found.lease, owner=fence.owner, token=fence.token)
        return inner(self, place, fence, seconds)

    return renew


def _lose_messages(inner: Any) -> Any:
    async def put(self: Any, place: Any, message: Any, seconds: float, answers: Any = ()) -> None:
        await inner(self, place, message, seconds, answers)
        self._owned[place].inbox.pop(message.invocation_id, None)

    return put


def _newest_first(inner: Any) -> Any:
    async def put(self: Any, place: Any, message: Any, seconds: float, answers: Any = ()) -> None:
        await inner(self, place, message, seconds, answers)
        inbox = self._owned[place].inbox
        mine = inbox.pop(message.invocation_id, None)
        rest = dict(inbox)
        inbox.clear()
        if mine is not None:
            inbox[message.invocation_id] = mine
        inbox.update(rest)

    return put


def _append_twice(inner: Any) -> Any:
    def append(self: Any, record: Any) -> Any:
        taken = inner(self, record)
        if taken and record.responses:
            self.records.append(record)
        return taken

    return append


def _write_half(inner: Any) -> Any:
    """Commit the first of several events, and lose the others."""

    async def append(self: Any, session: Any, events: Any, *args: Any, **named: Any) -> Any:
        return await inner(self, session, list(events)[:1], *args, **named)

    return append


def _lose_state(inner: Any) -> Any:
    def write(self: Any, key: Any, stored: Any, delta: dict[str, Any]) -> None:
        inner(self, key, stored, {k: v for k, v in delta.items() if k not in stored.scope.value})

    return write


def _skip_approval(inner: Any) -> Any:
    async def ask(self: Any, *args: Any, **named: Any) -> None:
        """Let every call run."""

    return ask


def _claim_again(inner: Any) -> Any:
    return lambda answer, answered, stored, message_id: True


def _forget_doubt(inner: Any) -> Any:
    def make(self: Any, ctx: Any, call: Any, tool: Any, context: Any, in_doubt: bool) -> None:
        inner(self, ctx, call, tool, context, False)

    return make


def _take_live_for_dead(inner: Any) -> Any:
    return lambda lease: True


def _commit_reversed(inner: Any) -> Any:
    async def append(self: Any, session: Any, events: Any, *args: Any, **named: Any) -> Any:
        return await inner(self, session, list(reversed(events)), *args, **named)

    return append


PLANTED: dict[str, list[Plant]] = {
    "the fence is not checked": [(Owned, "check_fence_of", lambda _: _nothing)],
    "a claim ignores the present owner": [(ownership, "grant_lease", _grant_to_all)],
    "the token of a claim does not rise": [(ownership, "grant_lease", _grant_old_token)],
    "a claim ignores the order of the inbox": [(ownership, "grant_lease", _grant_out_of_turn)],
    "a message stays in the inbox": [(Owned, "dequeue_message", lambda _: _nothing)],
    "the journal loses results": [(Owned, "write_journal", _drop_finished)],
    "the journal loses starts": [(Owned, "write_journal", _drop_started)],
    "a claim clears the journal": [(Owned, "claim_lease", _forget_rows)],
    "the journal is never cleared": [(Owned, "clear_journal", lambda _: _nothing)],
    "a release keeps the invocation": [(MemoryOwnership, "release", _keep_invocation)],
    "a former owner renews the lease": [(MemoryOwnership, "_renew_lease", _renew_lost)],
    "a message that waits is lost": [(MemoryOwnership, "put_message", _lose_messages)],
    "the newest message is answered first": [(MemoryOwnership, "put_message", _newest_first)],
    "a response is stored twice": [(EventLog, "append", _append_twice)],
    "a commit writes a part only": [(memory.InMemorySessionService, "append", _write_half)],
    "a commit stores its events in reverse": [
        (memory.InMemorySessionService, "append", _commit_reversed)
    ],
    "a second write of a key is lost": [
        (memory.InMemorySessionService, "_write_state", _lose_state)
    ],
    "an answered question takes another answer": [
        (answers, "_check_open", lambda _: _nothing),
        (memory_requests, "may_claim", _claim_again),
    ],
    "an approval is not asked for": [(FunctionTool, "_ask_user", _skip_approval)],
    "a call in doubt runs again as if it were new": [
        (functions._ToolCall, "__init__", _forget_doubt)
    ],
    "a live process is taken for dead": [(blockers, "is_abandoned", _take_live_for_dead)],
    "leases are not renewed": [(LeaseKeeper, "renew", lambda _: _do_nothing)],
}


async def _do_nothing(*args: Any, **named: Any) -> None:
    """Do nothing."""


def plant(name: str) -> AbstractContextManager[None]:
    """Plant a fault for the length of the block."""
    return apply_plants(PLANTED[name])


@contextmanager
def apply_plants(plants: Sequence[Plant]) -> Iterator[None]:
    """Put other functions in the place of some for the length of the block.

    Args:
      plants: object, name of its attribute, and what makes the new one of the old one.
    """
    patches = [
        patch.object(target, attribute, make(getattr(target, attribute)))
        for target, attribute, make in plants
    ]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()
