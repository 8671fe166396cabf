"""Processes of the model: each has a view of the one store, a runner and a loop of its own."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ostinato.apps import App, ResumabilityConfig
from ostinato.durable import lease as lease_module
from ostinato.durable.lease import LeaseKeeper, keeper_of
from ostinato.errors import StoreError
from ostinato.execution.recovery import blockers as ahead_module
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.base_session_service import read_port
from ostinato.sessions.store.durable_store import Claim, Fence, Place
from ostinato.sessions.store.lease_rules import passed_by
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from ostinato.types import Content
from tests.model.provider import Provider
from tests.model.stepping import Clock, SteppedLoop
from tests.model.trees import tree
from tests.support.optionals import present

PLACE = Place("talk", "ann", "one")
LEASE_SECONDS = 10.0
_WRITES = (
    "park put_message leave_message renew renew_messages request_cancel claim_answers "
    "release_answers"
).split()
_READS = "open_session get_session journal lease open_leases messages waiting_places".split()


class Broken(AssertionError):
    """Something that must always be true was not."""


class Dead(BaseException):
    """A process that is dead tried to go on."""


class History:
    """What happened in the one session, as its store saw it.

    Attributes:
      ids: ids of the stored events, in order.
      token: the highest token that was given.
      owners: owner and invocation, by token.
      effects: how often each call took effect, by its idempotency key.
      late: effects of processes that had been taken over by then.
      refused: appends of such processes that were refused.
      notes: what was claimed and appended.
      taken_over: how often a token was given while another process's invocation was open.
      paid: how often a call that needs approval took effect, by the id of the call.
      writes: how often tools wrote to the state, in all.
      failures: how often the store refused to work because it was away or full.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.token = 0
        self.owners: dict[int, tuple[str, str]] = {}
        self.effects: Counter[str] = Counter()
        self.late = 0
        self.refused = 0
        self.taken_over = 0
        self.answers: Counter[tuple[str, bool]] = Counter()
        self.faults: list[str] = []
        self.notes: list[str] = []
        self.paid: Counter[str] = Counter()
        self.writes = 0
        self.failures = 0

    def broken(self, what: str) -> Broken:
        """Note a fault, for the code under test may catch the error."""
        self.faults.append(what)
        return Broken(what)

    def check_log(self, records: Sequence[Any]) -> None:
        """Nothing that was stored is lost, changed in order, or stored twice."""
        known = len(self.ids)
        if len(records) < known or (known and records[known - 1].id != self.ids[-1]):
            raise self.broken("events that were stored are gone")
        for record in records[known:]:
            if record.id in self.ids:
                raise self.broken(f"event {record.id} is stored twice")
            self.ids.append(record.id)
            for call_id, name in record.responses:
                by_user = record.author == "user"
                self.answers[call_id, by_user] += 1
                if by_user and name == "order":
                    continue  # a long-running function may be told more than once how it stands
                # One that needs approval is answered first by what it waits for.
                if self.answers[call_id, by_user] > (2 if name == "pay" and not by_user else 1):
                    raise self.broken(f"call {call_id} was answered twice")

    def pruned(self, count: int) -> None:
        """Forget the oldest events, which somebody deleted from the store."""
        del self.ids[:count]

    def granted(self, fence: Fence, claim: Claim, before: Any) -> None:
        """Tokens rise; an invocation is claimed by one at a time."""
        if fence.token <= self.token:
            raise self.broken(f"token {fence.token} was given after {self.token}")
        if before is not None and before.owner and before.owner != claim.owner:
            self.taken_over += 1
            # The store's clock rises at each look, by less than that; the model's stands still.
            if before.left > 1e-3 and before.token != claim.over:
                raise self.broken(f"{claim.owner} took a lease that {before.owner} holds")
        self.notes.append(f"    {claim.owner} claims {fence.token} for {claim.invocation_id}")
        self.token = fence.token
        self.owners[fence.token] = (claim.owner, claim.invocation_id)

    def handed_over(self, lease: Any) -> None:
        """A lease that is handed over has a token that nobody holds."""
        if lease is not None and lease.token > self.token:
            self.token = lease.token
            self.owners[lease.token] = (lease.owner, lease.invocation_id)

    def appended(self, fence: Fence, events: Sequence[Any], passed: str) -> None:
        """Only the newest owner writes, and only of the invocation it claimed, but for answers to
        calls of the parked one that its message passes by.
        """
        owner, invocation_id = self.owners[fence.token]
        if fence.token != self.token or fence.owner != owner:
            raise self.broken(f"{fence} wrote, but token {self.token} had been given")
        for event in events:
            self.notes.append(f"    {fence.token} appends {event.author} {event.invocation_id}")
            if event.invocation_id == passed and event.get_function_responses():
                continue
            if event.actions.rewind_before_invocation_id:
                continue
            if event.invocation_id != invocation_id:
                raise self.broken(f"an event of {event.invocation_id} came within {invocation_id}")


class SharedStore(InMemorySessionService):
    """A store in memory that processes share."""

    shared = True


class View(SharedStore):
    """The store as one process sees it; each call takes some turns of its loop.

    Args:
      store: the store.
      history: what happened.
      chance: how many turns.
      clock: the time.

    Attributes:
      failing: `away` while the process cannot reach the store, `full` while it cannot write; else
        ''. An operation that was committed just before fails, too: its caller hears nothing of it.
    """

    def __init__(
        self, store: SharedStore, history: History, chance: random.Random, clock: Clock
    ) -> None:
        super().__init__()
        vars(self).update(vars(store))
        self.history = history
        self.chance = chance
        self.clock = clock
        self.dead = False
        self.failing = ""
        self._posted: list[tuple[Place, Fence, bool]] = []

    async def pause(self, *, writing: bool = False) -> None:
        for _ in range(self.chance.randint(0, 2)):
            await asyncio.sleep(0)
        if self.dead:
            raise Dead
        if self.failing == "away" or (writing and self.failing):
            self.history.failures += 1
            raise StoreError(f"The store is {self.failing}.")

    @property
    def stored(self) -> Any:
        return self._sessions[PLACE]

    async def append(
        self,
        session: Any,
        events: Any,
        rows: Any = (),
        fence: Any = None,
        claim: Any = None,
        changes: Any = None,
    ) -> Fence | None:
        await self.pause(writing=True)
        await self._commit_posted()
        before = self.stored.lease_at(self.clock.now)
        first = next(iter(self.stored.inbox.values()), None)
        count = len(self.stored.log)
        try:
            given = await super().append(session, events, rows, fence, claim, changes)
        except Exception:
            if fence is not None and fence.token < self.history.token:
                self.history.refused += 1
            if len(self.stored.log) != count:
                raise self.history.broken("an append that was refused has written") from None
            raise
        if claim is not None and given is not None:
            self.history.granted(given, claim, before)
            self._check_turn(claim, first)
        if (given or fence) is not None:
            passed = passed_by(before, claim) if claim is not None else ""
            self.history.appended(given or fence, events, passed)
        self.history.check_log(self.stored.log.records)
        await self.pause(writing=True)
        return given

    async def release(
        self,
        place: Place,
        fence: Fence,
        *,
        keep_rows: bool = False,
        wait: bool = True,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Where nobody waits for it, it is committed later, before what this process writes next;
        it is lost where the process dies before.
        """
        self._posted.append((place, fence, keep_rows))
        if wait:
            await self._commit_posted()
        else:
            soon = asyncio.ensure_future(self._commit_posted())
            soon.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _commit_posted(self) -> None:
        await self.pause(writing=True)
        posted, self._posted = self._posted, []
        for place, fence, keep_rows in posted:
            await super().release(place, fence, keep_rows=keep_rows)

    async def hand_over(self, place: Place, fence: Fence, *, failed: bool = False) -> None:
        await self._commit_posted()
        await super().hand_over(place, fence, failed=failed)
        self.history.handed_over(self.stored.lease)
        await self.pause()

    def _check_turn(self, claim: Claim, first: Any) -> None:
        """Messages are begun in the order in which the inbox took them."""
        if first is None or claim.jump or claim.message == first.invocation_id:
            return
        if first.owner != claim.owner:
            raise self.history.broken(
                f"{claim.invocation_id} overtook {first.invocation_id} in the inbox"
            )


def _slow(name: str) -> Any:
    async def act(self: View, *args: Any, **named: Any) -> Any:
        writing = name in _WRITES
        await (self._commit_posted() if writing else self.pause())
        given = await getattr(SharedStore, name)(self, *args, **named)
        await self.pause(writing=writing)
        return given

    return act


for _name in (*_WRITES, *_READS):
    setattr(View, _name, _slow(_name))
View._defined_port = read_port(View)  # they are its own, not patched


class Process:
    """A process: a runner over a view of the store, in a loop that is stepped.

    Args:
      number: names it.
      store: the store.
      history: what happened.
      chance: decides how long things take.
      clock: the time.
      name: which agents it runs.
      resumable: whether its app is.
      provider: keeps what its models say, which then send what is new alone; None if nothing does.
      away: whether others cannot see that it has died.
      max_attempts: as for Runner.
    """

    def __init__(
        self,
        number: int,
        store: SharedStore,
        history: History,
        chance: random.Random,
        clock: Clock,
        *,
        name: str,
        resumable: bool,
        provider: Provider | None,
        away: bool,
        max_attempts: int,
    ) -> None:
        self.identity = f"host|boot|ns|{number}|{number}"
        self.number = number
        self.away = away
        self.history = history
        self.provider = provider
        self.view = View(store, history, chance, clock)
        self.loop = SteppedLoop(clock)
        self.closed: list[SteppedLoop] = []
        with mock.patch.object(lease_module, "process_identity", lambda: self.identity):
            self.keeper: LeaseKeeper = keeper_of(self.view, LEASE_SECONDS)
        pay = FunctionTool(self.pay, require_confirmation=True)
        tools = [self.act, LongRunningFunctionTool(self.order), pay]
        resumability = ResumabilityConfig(is_resumable=True) if resumable else None
        root = tree(name, tools, self._asked, provider)
        self.runner = Runner(
            app=App(name=PLACE.app_name, root_agent=root, resumability_config=resumability),
            session_service=self.view,
            lease_seconds=LEASE_SECONDS,
            max_attempts=max_attempts,
        )

    async def _asked(self, request: LlmRequest) -> None:
        await self.view.pause()
        self._check_paired(request.contents)
        if self.provider is not None:
            fault = self.provider.find_fault(request)
            if fault:
                self.history.faults.append(fault)

    def _check_paired(self, contents: Sequence[Content]) -> None:
        """Calls are answered by what follows; but not a long-running one that was cancelled, nor
        those of an invocation that is stuck.
        """
        for index, content in enumerate(contents[:-1]):
            calls = Counter(p.function_call.name for p in content.parts or () if p.function_call)
            following = contents[index + 1].parts or ()
            given = Counter(p.function_response.name for p in following if p.function_response)
            missing = set(calls - given) - {"order", "pay"}
            if given - calls or (missing and self.runner.max_attempts > 2):
                self.history.faults.append(f"calls {calls} are answered by {given}")

    async def act(self, what: str, tool_context: ToolContext) -> str:
        """Do something."""
        return await self._take_effect(tool_context)

    async def order(self, what: str, tool_context: ToolContext) -> str:
        """Order something."""
        return await self._take_effect(tool_context)

    async def pay(self, what: str, tool_context: ToolContext) -> str:
        """Pay, once somebody has approved it."""
        self.history.paid[present(tool_context.function_call_id)] += 1
        return await self._take_effect(tool_context)

    async def _take_effect(self, tool_context: ToolContext) -> str:
        await self._pause()
        await self._write(tool_context)
        owner, _ = self.history.owners[self.history.token]
        self.history.effects[tool_context.idempotency_key] += 1
        self.history.late += owner != self.keeper.owner
        await self._write(tool_context)
        return "ok"

    async def _write(self, tool_context: ToolContext) -> None:
        """Write a key that others write, too, and one that tells when this call wrote it."""
        await self._pause()
        self.history.writes += 1
        tool_context.state["last"] = self.history.writes
        tool_context.state[f"wrote {tool_context.function_call_id}"] = self.history.writes
        await self._pause()

    async def _pause(self) -> None:
        """Wait, as for another system: the store is not asked."""
        for _ in range(self.view.chance.randint(0, 2)):
            await asyncio.sleep(0)
        if self.view.dead:
            raise Dead

    def crash(self) -> None:
        """Die: nothing of it goes on."""
        self.view.dead = True

    def close_loop(self) -> None:
        """Close the loop in the middle of everything and go on in another one, as a program does
        that calls `asyncio.run` again.
        """
        self.loop.shut = True
        self.closed.append(self.loop)
        self.loop = SteppedLoop(self.loop.clock)

    def drop(self) -> None:
        """Take down what is left of it in this process; at the end, for it may not be dead yet."""
        self.view.dead = True
        for loop in (*self.closed, self.loop):
            loop.drop()


@contextmanager
def known_deaths(processes: Sequence[Process], clock: Clock) -> Iterator[None]:
    """Let the runners know of the deaths that one can see, and start no threads."""

    def is_dead(identity: str) -> bool:
        found = next((p for p in processes if p.identity == identity), None)
        return found is not None and found.view.dead and not found.away

    with (
        mock.patch.object(ahead_module, "is_dead", is_dead),
        mock.patch.object(LeaseKeeper, "_start_thread", lambda self: None),
        mock.patch.object(lease_module, "_numbers", itertools.count(1)),
        mock.patch.object(lease_module, "_now", clock),
    ):
        yield
