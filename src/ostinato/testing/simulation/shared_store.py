"""The store of a simulation: in memory, shared by its processes, slow or lost by plan.

`StoreHistory` checks each commit by rules of its own, independent of the store that it checks.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ... import _clock
from ...errors import StoreError
from ...events.event import Event
from ...events.pending import CONFIRMATION
from ...events.request_input import REQUEST_INPUT
from ...sessions.base_session_service import read_port
from ...sessions.in_memory_session_service import InMemorySessionService
from ...sessions.log.event_log import EventLog
from ...sessions.store.durable_store import (
    Claim,
    Fence,
    InboxMessage,
    JournalRow,
    Lease,
    Place,
)
from ...sessions.store.lease_rules import find_skipped_invocation
from ...workflow.tool_node import find_asking_call

_WRITES = (
    "leave_message renew renew_messages request_cancel claim_answers release_answers take_messages"
).split()
_READS = "open_session get_session journal lease open_leases messages waiting_places".split()
_ASKED_ONCE = (CONFIRMATION, REQUEST_INPUT)
_Post = tuple[Place, Fence, bool]  # a release that no caller waits for, and whether it keeps rows
_DELAY = 0.02  # seconds that half of an operation takes, at most


class ProcessDiedError(BaseException):
    """A dead process tried to continue; no handler of ordinary errors catches it."""


class InvariantError(AssertionError):
    """Something that must always be true was not."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What an event says of calls: its invocation, what it rewinds to, and which answers it has.

    A rewind means what was stored then: `pruned` counts the events that were deleted before.
    """

    invocation_id: str
    rewound: str | None
    pruned: int
    answers: list[tuple[Place, str, bool]] = field(default_factory=list[tuple[Place, str, bool]])


class StoreHistory:
    """What was committed, and which rules that broke.

    Attributes:
      violations: the broken rules, first come first; the runtime may have caught the errors.
      trace: a line for each commit.
      digest: a number made of all lines; equal for equal runs.
      commits: how many there were.
      refused: appends of former owners that the store refused.
      taken_over: leases that another owner took while an invocation was open.
      finished: calls whose result is in the journal.
      events: all events that were ever stored, by session.
      pruned: how many of them a host has deleted since.
      parked: invocations that were parked.
      reopened: calls that a person may approve again, since a rewind hides the answer.
      is_healthy: whether an owner's process lives, and no fault has touched it lately.
      on_commit: called after each commit with its session.
    """

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.trace: list[str] = []
        self.digest = 0
        self.commits = self.refused = self.taken_over = 0
        self.on_commit: Callable[[Place], None] = lambda place: None
        self.is_healthy: Callable[[str], bool] = lambda owner: False
        self.finished: set[str] = set()
        self.events: dict[Place, list[Event]] = {}
        self.pruned: Counter[Place] = Counter()
        self.parked: set[str] = set()
        self._ids: dict[Place, list[str]] = {}
        self._known: dict[Place, set[str]] = {}
        self._tokens: dict[Place, int] = {}
        self._owners: dict[tuple[Place, int], tuple[str, str]] = {}
        self._answers: Counter[tuple[Place, str, bool]] = Counter()
        self.reopened: set[str] = set()
        self._originals: dict[str, str] = {}
        self._told: dict[Place, list[_Told]] = {}
        self._visible: dict[Place, set[int]] = {}  # numbers of what was told and no rewind hides
        self._asking: dict[tuple[Place, str], list[int]] = {}  # numbers of who ask the user
        self._asked: Counter[tuple[Place, str]] = Counter()
        self._questions: Counter[tuple[Place, str]] = Counter()

    def note(self, line: str) -> None:
        """Add a line to the trace."""
        self.trace.append(line)
        self.digest = zlib.crc32(line.encode(), self.digest)

    def read_stored(self, place: Place) -> Sequence[Event]:
        """Return the events of a session that the store still has."""
        return self.events.get(place, [])[self.pruned[place] :]

    def prune(self, place: Place, count: int) -> None:
        """Note that a host deletes the oldest events."""
        self.pruned[place] += count
        del self._ids[place][:count]

    def is_over(self, call_id: str) -> bool:
        """Return whether the journal has a result of a call, and no person was asked about it."""
        asked = any(known == call_id for _, known in self._asked) or call_id in self.reopened
        return call_id in self.finished and not asked

    def owner_of(self, place: Place) -> str:
        """Return the newest owner of a session."""
        return self._owners.get((place, self._tokens.get(place, 0)), ("", ""))[0]

    def report(self, what: str) -> InvariantError:
        """Note a broken rule; return the error to raise."""
        self.violations.append(what)
        return InvariantError(what)

    def check_whole(self, place: Place, events: Sequence[Event], records: Sequence[Any]) -> None:
        """Check that a commit stored all its events, and in their order."""
        known = self._known.get(place, set())
        expected = [event.id for event in events if event.id not in known]
        stored = [record.id for record in records[len(self._ids.get(place, ())) :]]
        if stored != expected:
            raise self.report(
                f"atomic: a commit of {len(expected)} events stored {len(stored)}, or in another "
                "order"
            )

    def check_log(self, place: Place, records: Sequence[Any]) -> None:
        """Check that nothing stored is lost, moved or stored twice, and no call answered twice."""
        ids = self._ids.setdefault(place, [])
        known = self._known.setdefault(place, set())
        count = len(ids)
        if len(records) < count or (count and records[count - 1].id != ids[-1]):
            raise self.report(f"lost: events that were stored in {place.session_id} are gone")
        for record in records[count:]:
            if record.id in known:
                raise self.report(f"doubled: event {record.id} is stored twice")
            ids.append(record.id)
            known.add(record.id)
            event = record.event()
            self.events.setdefault(place, []).append(event)
            self._check_answers(place, event)

    def _check_answers(self, place: Place, event: Event) -> None:
        told = self._told.setdefault(place, [])
        rewound = event.actions.rewind_before_invocation_id
        one = _Told(event.invocation_id, rewound, self.pruned[place])
        told.append(one)
        if one.rewound:
            self._take_back(place)
        else:
            self._visible.setdefault(place, set()).add(len(told) - 1)
        waiting = event.long_running_tool_ids or ()
        for call in event.get_function_calls():
            if call.name == CONFIRMATION:
                original: Any = (call.args or {}).get("originalFunctionCall") or {}
                self._asked[place, str(original.get("id"))] += 1
                self._originals[call.id or ""] = str(original.get("id"))
            if call.id in waiting:
                self._asked[place, call.id or ""] += 1
                self._asking.setdefault((place, call.id or ""), []).append(len(told) - 1)
            if call.name == REQUEST_INPUT:
                self._originals[call.id or ""] = find_asking_call(call) or call.id or ""
                self._questions[place, call.id or ""] += 1
        for response in event.get_function_responses():
            key = place, response.id or "", event.author == "user"
            if key[2] and response.name not in _ASKED_ONCE:
                continue  # a long-running function may be told more than once how it stands
            self._answers[key] += 1
            one.answers.append(key)
            if key[2] and not self._visible[place].intersection(self._asking.get(key[:2], ())):
                raise self.report(
                    f"withdrawn: call {response.id} of {response.name} was answered after a "
                    "rewind had taken it back"
                )
            # One that waits is told so first, each time that it is asked for.
            most = 1 + self._asked[place, response.id or ""]
            if key[2]:
                # A node asks its question again if the run of its answer is cancelled.
                most = max(1, self._questions[place, response.id or ""])
            if self._answers[key] > most:
                raise self.report(
                    f"answered twice: call {response.id} of {response.name} has "
                    f"{self._answers[key]} responses"
                )

    def _take_back(self, place: Place) -> None:
        """Count the answers anew after a rewind: the questions of hidden ones wait again."""
        told, before = self._told[place], self._visible.get(place, set())
        self._visible[place] = after = set(_find_visible(told))
        for at in before - after:
            self._answers.subtract(told[at].answers)
            self.reopened.update(
                self._originals.get(call, call) for _, call, by_user in told[at].answers if by_user
            )
        for at in after - before:  # the rewind hides an earlier one
            self._answers.update(told[at].answers)

    def check_grant(self, place: Place, fence: Fence, claim: Claim, before: Lease | None) -> None:
        """Check that tokens rise, and that no valid lease is taken."""
        if fence.token <= self._tokens.get(place, 0):
            raise self.report(
                f"fence: token {fence.token} was given after {self._tokens.get(place, 0)}"
            )
        if before is not None and before.owner and before.owner != claim.owner:
            self.taken_over += 1
            if before.left > 1e-3 and before.token != claim.over:
                raise self.report(f"claim: {claim.owner} took a lease that {before.owner} holds")
            if self.is_healthy(before.owner):
                raise self.report(f"lease: {before.owner} lost a lease that it could have renewed")
        self.hold(place, fence.token, claim.owner, claim.invocation_id)

    def hold(self, place: Place, token: int, owner: str, invocation_id: str) -> None:
        """Note the newest token of a session."""
        self._tokens[place] = token
        self._owners[place, token] = owner, invocation_id

    def check_writer(
        self, place: Place, fence: Fence, events: Sequence[Event], passed: str
    ) -> None:
        """Check that the newest owner alone writes, and only of the invocation it claimed."""
        owner, invocation_id = self._owners.get((place, fence.token), ("", ""))
        if fence.token != self._tokens.get(place) or fence.owner != owner:
            raise self.report(
                f"fence: token {fence.token} of {fence.owner} wrote to {place.session_id}, and "
                f"token {self._tokens.get(place)} had been given"
            )
        for event in events:
            if event.invocation_id == passed and event.get_function_responses():
                continue
            if event.invocation_id != invocation_id and not (
                event.actions.rewind_before_invocation_id
            ):
                raise self.report(
                    f"order: an event of {event.invocation_id} came within {invocation_id}"
                )


def _find_visible(told: Sequence[_Told]) -> Iterator[int]:
    """Yield the numbers of what no rewind hides, whatever a host has deleted since."""
    found: dict[str, list[int]] = {}
    for at, one in enumerate(told):
        found.setdefault(one.invocation_id, []).append(at)
    at = len(told) - 1
    while at >= 0:
        one = told[at]
        if one.rewound:
            own = found.get(one.rewound, ())
            at = min(at, next((first for first in own if first >= one.pruned), 0))
        else:
            yield at
        at -= 1


class SimulatedStore(InMemorySessionService):
    """The store as one process reaches it.

    Args:
      history: checks what is committed.
      chance: decides how long operations take.
      base: the store that it is a view of; None for the first.

    Attributes:
      is_dead: whether its process is dead; it commits nothing more.
      lost: whether the process cannot reach it.
      full: whether the process cannot write to it.
      slowness: how many times longer than usual operations take.
      failures: how often an operation failed.
    """

    shared = True

    def __init__(
        self, history: StoreHistory, chance: Random, base: SimulatedStore | None = None
    ) -> None:
        super().__init__()
        if base is not None:
            vars(self).update(vars(base))
        self.history, self._chance = history, chance
        self.is_dead = self.lost = self.full = False
        self.slowness = 1.0
        self.failures = 0
        self._posted: list[_Post] = []
        self._committing: set[asyncio.Task[None]] = set()

    async def pause(self, *, writing: bool = True) -> None:
        """Take the time of half an operation.

        Raises:
          StoreError: the store is lost, or full.
        """
        await asyncio.sleep(self._chance.random() * _DELAY * self.slowness)
        if self.is_dead:
            raise ProcessDiedError
        if self.lost:
            self.failures += 1
            raise StoreError("The store cannot be reached (simulated).")
        if self.full and writing:
            self.failures += 1
            raise StoreError("The store's disk is full (simulated).")

    def lease_of(self, place: Place) -> Lease | None:
        """Return a session's lease without any delay."""
        stored = self._sessions.get(place)
        return None if stored is None else stored.lease

    def inbox_of(self, place: Place) -> list[str]:
        """Return the ids of the messages that wait in a session, without any delay."""
        stored = self._sessions.get(place)
        return [] if stored is None else [*stored.inbox]

    def prune(self, place: Place, part: float) -> int:
        """Delete the oldest events of a session, of whole invocations, without any delay; return
        how many.

        Args:
          place: the session.
          part: of those before the first one that open work needs, from 0 to 1.
        """
        stored = self._get_stored(place)
        records, lease = stored.log.records, stored.lease
        needed = {row for row, _ in stored.journal} | set(stored.inbox)
        needed |= {one.invocation_id for one in stored.log.unanswered.values()}
        needed |= {lease.invocation_id} if lease is not None else set()
        kept = [at for at, record in enumerate(records) if record.invocation_id in needed]
        most = int(part * min([len(records), *kept]))
        last = {record.invocation_id: at for at, record in enumerate(records)}
        count = end = 0
        for at, record in enumerate(records[:most]):
            end = max(end, last[record.invocation_id])
            count = at + 1 if end == at else count
        self.history.prune(place, count) if count else None
        stored.log = EventLog(records[count:])
        return count

    def rows_of(self, place: Place) -> set[str]:
        """Return the invocations that have rows in the journal, without any delay."""
        stored = self._sessions.get(place)
        return set() if stored is None else {row for row, _ in stored.journal}

    async def append(
        self,
        session: Any,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
        changes: Any = None,
    ) -> Fence | None:
        """Commit; see the port."""
        await self.commit_posted()
        place = Place(session.app_name, session.user_id, session.id)
        stored = self._get_stored(place)
        before = stored.lease_at(_clock.now())
        first = next(iter(stored.inbox.values()), None)
        count = len(stored.log)
        try:
            given = await super().append(session, events, rows, fence, claim, changes)
        except Exception:  # boundary: raised again after the check
            self.history.refused += fence is not None
            if len(stored.log) != count:
                raise self.history.report("atomic: a refused append has written") from None
            raise
        self.history.finished.update(row.call_id for row in rows if row.status == "finished")
        self._check_commit(place, events, given, fence, claim, before, first)
        await self.pause()
        return given

    def _check_commit(
        self,
        place: Place,
        events: Sequence[Event],
        given: Fence | None,
        fence: Fence | None,
        claim: Claim | None,
        before: Lease | None,
        first: InboxMessage | None,
    ) -> None:
        history = self.history
        history.commits += 1
        if claim is not None and given is not None:
            history.check_grant(place, given, claim, before)
            in_order = first is None or claim.jump or claim.message == first.invocation_id
            if first is not None and not in_order and first.owner != claim.owner:
                raise history.report(
                    f"order: {claim.invocation_id} overtook {first.invocation_id} in the inbox"
                )
        writer = given or fence
        if writer is not None:
            passed = find_skipped_invocation(before, claim) if claim is not None else ""
            history.check_writer(place, writer, events, passed)
            history.note(
                f"{asyncio.get_running_loop().time():.6f} {place.session_id} token {writer.token}: "
                + "; ".join(_describe(event) for event in events)
            )
        records = self._get_stored(place).log.records
        history.check_whole(place, events, records)
        history.check_log(place, records)
        history.on_commit(place)

    async def put_message(
        self, place: Place, message: InboxMessage, seconds: float, answers: Any = ()
    ) -> bool:
        """Store a message; see the port."""
        await self.commit_posted()
        before = self.inbox_of(place)
        is_new = await super().put_message(place, message, seconds, answers)
        new = [message.invocation_id] if is_new else []
        if self.inbox_of(place) != [*before, *new]:
            raise self.history.report(f"order: {message.invocation_id} is not behind the others")
        await self.pause()
        return is_new

    async def release(
        self,
        place: Place,
        fence: Fence,
        *,
        keep_rows: bool = False,
        wait: bool = True,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Release a lease; see the port. Unless it waits, it is committed with what comes next, and
        a death before loses it.
        """
        post = place, fence, keep_rows
        if wait:
            await self.commit_posted(post)
            await self.pause()
        else:
            self._posted.append(post)
            soon = asyncio.ensure_future(self._commit_soon(post, on_error))
            self._committing.add(soon)
            soon.add_done_callback(self._committing.discard)

    async def _commit_soon(self, post: _Post, on_error: Callable[[Exception], None] | None) -> None:
        try:
            await self.commit_posted()
        except StoreError as error:
            if post in self._posted:
                self._posted.remove(post)
                if on_error is not None:
                    on_error(error)

    async def commit_posted(self, *more: _Post) -> None:
        """Take the time of half an operation, then commit the releases that no caller waits for."""
        await self.pause()
        posted, self._posted = [*self._posted, *more], []
        for place, fence, keep_rows in posted:
            before = self.lease_of(place)
            await super().release(place, fence, keep_rows=keep_rows)
            held = before is None or before.token == fence.token
            if not held and self.lease_of(place) != before:
                raise self.history.report(f"fence: {fence} released a lease that it does not hold")

    async def park(self, place: Place, fence: Fence, reason: str) -> None:
        """Park an invocation; see the port."""
        await self.commit_posted()
        await super().park(place, fence, reason)
        lease = self.lease_of(place)
        if lease is not None and lease.stuck:
            self.history.parked.add(lease.invocation_id)
        await self.pause()

    async def hand_over(self, place: Place, fence: Fence, *, failed: bool = False) -> None:
        """Hand a lease over; see the port."""
        await self.commit_posted()
        await super().hand_over(place, fence, failed=failed)
        lease = self.lease_of(place)
        if lease is not None and lease.token > fence.token:
            self.history.hold(place, lease.token, lease.owner, lease.invocation_id)
        await self.pause()


def _describe(event: Event) -> str:
    calls = [f"calls {one.name}({one.args!r})" for one in event.get_function_calls()]
    answers = [f"{one.name} answers {one.response!r}" for one in event.get_function_responses()]
    words = [
        part.text for part in (event.content.parts if event.content else None) or () if part.text
    ]
    return f"{event.author}: {', '.join([*words, *calls, *answers]) or 'nothing'}"


def _delay(name: str) -> Any:
    async def operate(self: SimulatedStore, *args: Any, **named: Any) -> Any:
        writing = name in _WRITES
        await (self.commit_posted() if writing else self.pause(writing=False))
        given = await getattr(InMemorySessionService, name)(self, *args, **named)
        await self.pause(writing=writing)
        return given

    return operate


for _name in (*_WRITES, *_READS):
    setattr(SimulatedStore, _name, _delay(_name))
setattr(SimulatedStore, "_defined_port", read_port(SimulatedStore))  # noqa: B010 - not patched
