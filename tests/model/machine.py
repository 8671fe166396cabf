"""The state machine: two processes of one session, stepped in an order that Hypothesis decides.

Whatever is not drawn, how many turns of its loop a call of the store takes and which ids are made,
follows from one number that is.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ostinato import _clock
from ostinato.agents.run_config import RunConfig
from ostinato.errors import (
    CallAlreadyAnsweredError,
    CallNotOpenError,
    LeaseLostError,
    NotFoundError,
    RequestWithdrawnError,
    RunCancelledError,
    SessionBusyError,
    StaleSessionError,
    StoreError,
)
from ostinato.events import Event
from ostinato.events.pending import CONFIRMATION
from ostinato.events.request_input import REQUEST_INPUT
from ostinato.sessions.log.event_log import EventLog, visible_records
from ostinato.sessions.log.history import mark_imported
from ostinato.sessions.log.resume import RERUN, open_calls
from ostinato.types import Content, FunctionCall, Part
from tests.model.process import (
    LEASE_SECONDS,
    PLACE,
    Broken,
    History,
    Process,
    SharedStore,
    known_deaths,
)
from tests.model.provider import Provider
from tests.model.stepping import Clock
from tests.model.trees import KINDS, TREES
from tests.support.optionals import present
from tests.unit.flows.kit import answer_to

EXPECTED = (RunCancelledError, LeaseLostError, SessionBusyError, StoreError)
REFUSED = (CallAlreadyAnsweredError, CallNotOpenError, RequestWithdrawnError)
_NAMES: dict[str, Any] = {"user_id": PLACE.user_id, "session_id": PLACE.session_id}
_SETTLING = 4_000  # turns within which everything has to have settled,
_SETTLING_OF_ONE = 400  # and more for each request that is under way
_ANSWERABLE = {
    "order": {"result": "it is here"},
    CONFIRMATION: {"confirmed": True},
    REQUEST_INPUT: {"result": "it is here"},
}
_POISON = 2  # attempts after which an invocation is parked, where that is to happen at all

which = st.integers(0, 1)  # of the two processes that live
few = st.integers(1, 8)
many = st.integers(10, 60)


class Machine(RuleBasedStateMachine):
    """Two processes of one session, over a store in memory and a clock that is moved by hand."""

    figures: Counter[str] = Counter()
    """What all machines together have done."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.store = SharedStore()
        self.history = History()
        self.processes: list[Process] = []
        self.living: list[Process] = []
        self.sent: dict[str, asyncio.Task[Any]] = {}
        self.answered: dict[str, str] = {}
        self._readers: list[asyncio.Future[None]] = []
        self._pruned: set[str] = set()
        self._numbers = itertools.count(1)
        self._callers: list[asyncio.Task[Any]] = []
        self._gone: set[asyncio.Task[Any]] = set()
        self._stack = ExitStack()
        self._app: dict[str, Any] = {"provider": None}  # Hypothesis may give up before `begin`

    @initialize(
        name=st.sampled_from(TREES),
        resumable=st.booleans(),
        poison=st.sampled_from([False, False, False, True]),
        chained=st.booleans(),
        away=st.lists(st.booleans(), min_size=3, max_size=3),
        seed=st.integers(0, 2**32),
    )
    def begin(
        self,
        name: str,
        resumable: bool,
        poison: bool,
        away: list[bool],
        seed: int,
        chained: bool = False,
    ) -> None:
        self.chance = random.Random(seed)
        self.poison = poison
        provider = Provider() if chained else None
        self._app = {"name": name, "resumable": resumable, "provider": provider}
        self._away = itertools.cycle(away)
        ids = (f"{self.chance.getrandbits(128):032x}" for _ in itertools.count())
        self._stack.enter_context(
            _clock.replace_sources(time=self.clock, ids=lambda: _uuid(next(ids)))
        )
        self._stack.enter_context(known_deaths(self.processes, self.clock))
        self.store.create_session_sync(**PLACE._asdict())
        for _ in range(2):
            self._add_process()

    def _add_process(self) -> None:
        process = Process(
            len(self.processes) + 1,
            self.store,
            self.history,
            self.chance,
            self.clock,
            **self._app,
            away=next(self._away),
            max_attempts=_POISON if self.poison else 50,
        )
        self.processes.append(process)
        self.living.append(process)

    @rule(which=which, turns=few)
    def step(self, which: int, turns: int) -> None:
        for _ in range(turns):
            self._turn(self.living[which])

    @rule(which=which, turns=many)
    def go_on(self, which: int, turns: int) -> None:
        self.step(which, turns)

    @rule(turns=many)
    def go_on_together(self, turns: int) -> None:
        for _ in range(turns):
            for process in self.living:
                self._turn(process)

    @rule(turns=many, seconds=st.floats(0.01, 1.0))
    def take_turns(self, turns: int, seconds: float) -> None:
        """Both go on, now this one and now that one, and time passes as it does."""
        for _ in range(turns):
            self._turn(self.chance.choice(self.living))
        self.clock.now += seconds

    def _turn(self, process: Process) -> None:
        process.loop.step()
        self.figures["turns"] += 1
        self._check()

    @rule(
        which=which,
        kind=st.sampled_from(KINDS),
        policy=st.sampled_from(["queue", "queue", "queue", "reject", "interrupt"]),
        turns=few,
    )
    def send(self, which: int, kind: str, policy: str, turns: int) -> None:
        text = f"{kind} {next(self._numbers)}"
        self.sent[text] = self._start(self.living[which], text, policy)
        self.step(which, turns)

    def _start(
        self,
        process: Process,
        message: Any,
        policy: str = "queue",
        expected: tuple[type[Exception], ...] = EXPECTED,
    ) -> asyncio.Task[Any]:
        async def run() -> list[Event]:
            config: Any = RunConfig(on_busy=policy)  # type: ignore[arg-type]
            run = process.runner.run_async(**_NAMES, new_message=message, run_config=config)
            return [event async for event in run]

        return self._called(process, run(), *expected)

    def _called(self, process: Process, work: Any, *expected: type[Exception]) -> asyncio.Task[Any]:
        """Begin something whose caller may go away."""
        task = self._begin(process, work, *expected)
        self._callers.append(task)
        return task

    def _begin(self, process: Process, work: Any, *expected: type[Exception]) -> asyncio.Task[Any]:
        task = process.loop.begin(work)
        task.add_done_callback(self._expect(*expected))
        return task

    def _expect(self, *expected: type[Exception]) -> Callable[[asyncio.Task[Any]], None]:
        """Let nothing else end a task."""

        def note(task: asyncio.Task[Any]) -> None:
            dead = task.get_loop() in self._dead_loops()
            if task.cancelled() and task not in self._gone and not dead:
                self.history.faults.append("somebody was cancelled whom nobody had cancelled")
            error = None if task.cancelled() else task.exception()
            if error is not None and not dead and not isinstance(error, expected):
                text = "".join(traceback.format_exception(error))
                self.history.faults.append(f"{type(error).__name__}: {error}\n{text}")

        return note

    def _dead_loops(self) -> list[Any]:
        """Return the loops in which nothing goes on any more."""
        closed = [loop for process in self.processes for loop in process.closed]
        return closed + [process.loop for process in self.processes if process.view.dead]

    @rule(which=which, kind=st.sampled_from(KINDS), events=st.integers(1, 3), turns=many)
    def stop_reading(self, which: int, kind: str, events: int, turns: int) -> None:
        """A caller reads some events of a run, and keeps the rest waiting."""
        process, text = self.living[which], f"{kind} {next(self._numbers)}"
        held = process.loop.create_future()
        self._readers.append(held)

        async def read() -> list[Event]:
            content = Content(role="user", parts=[Part(text=text)])
            found: list[Event] = []
            run = process.runner.run_async(**_NAMES, new_message=content)
            try:
                async for event in run:
                    found.append(event)
                    if len(found) == events:
                        await held
            finally:
                await run.aclose()
            return found

        self.sent[text] = self._called(process, read(), *EXPECTED)
        self.step(which, turns)

    @rule(number=st.integers(0, 5))
    def read_on(self, number: int) -> None:
        """A caller that stopped reading reads the rest."""
        if self._readers:
            self._release(self._readers.pop(number % len(self._readers)))

    def _release(self, held: asyncio.Future[None]) -> None:
        if not held.done() and held.get_loop() not in self._dead_loops():
            held.set_result(None)

    @rule(which=which, how=st.sampled_from(["away", "full"]))
    def fail(self, which: int, how: str) -> None:
        """A process cannot reach the store, or cannot write to it."""
        self.living[which].view.failing = how

    @rule(how=st.sampled_from(["away", "full"]))
    def fail_for_all(self, how: str) -> None:
        for process in self.living:
            process.view.failing = how

    @rule(turns=many)
    def come_back(self, turns: int) -> None:
        """The store works again, for everybody."""
        for process in self.living:
            process.view.failing = ""
        self.go_on_together(turns)

    @rule(which=which)
    def close_loop(self, which: int) -> None:
        """A program closes its loop in the middle of its runs, and begins another one."""
        self.living[which].close_loop()

    @rule(which=which, number=st.integers(0, 20))
    def rewind(self, which: int, number: int) -> None:
        """Somebody takes the session back to before one of its invocations."""
        records = visible_records(self.log)
        found = list(dict.fromkeys(r.invocation_id for r in records if r.author == "user"))
        if found:
            process, chosen = self.living[which], found[number % len(found)]
            rewind = process.runner.rewind_async(**_NAMES, rewind_before_invocation_id=chosen)
            self._begin(process, rewind, *EXPECTED, NotFoundError)

    @rule(part=st.floats(0.1, 1.0))
    def prune(self, part: float) -> None:
        """Somebody deletes old events from the store: none of what is open or waits."""
        stored = self.store._sessions[PLACE]
        records = stored.log.records
        open_ids = {row for row, _ in stored.journal} | set(stored.inbox)
        if stored.lease is not None:
            open_ids.add(stored.lease.invocation_id)
        open_ids |= {record.invocation_id for record in stored.log.unanswered.values()}
        kept = [i for i, record in enumerate(records) if record.invocation_id in open_ids]
        count = int(part * min([len(records), *kept]))
        if count:
            self.history.pruned(count)
            self._pruned.update(
                call or "" for record in records[:count] for call, _ in record.calls
            )
            self._pruned.update(_text(record.event()) for record in records[:count])
            stored.log = EventLog(records[count:])
            self.figures["pruned"] += count

    @rule(part=st.floats(0.5, 1.5))
    def stall(self, part: float) -> None:
        """Everybody's clock goes on, and nobody has renewed anything."""
        self.clock.now += LEASE_SECONDS * part

    @rule(which=which, turns=many)
    def oversleep(self, which: int, turns: int) -> None:
        """A process sleeps past the end of its lease; the other one goes on with what is open."""
        self.stall(1.1)
        self.resume(1 - which)
        self.step(1 - which, turns)

    @rule(which=which)
    def renew(self, which: int) -> None:
        process = self.living[which]
        self._begin(process, process.keeper.serve(), StoreError)

    @rule(which=which)
    def crash(self, which: int) -> None:
        """A process dies, and another one is started."""
        process = self.living.pop(which)
        process.crash()
        self._add_process()

    @rule(which=which)
    def resume(self, which: int) -> None:
        process = self.living[which]
        self._called(process, process.runner.resume_open(), StoreError)

    @rule(which=which)
    def close(self, which: int) -> None:
        """A process hands over what it still does for callers who are gone."""
        process = self.living[which]
        self._begin(process, process.runner.close(), StoreError)

    @rule(which=which, with_state=st.booleans())
    def append_from_outside(self, which: int, with_state: bool) -> None:
        """A front end appends something, with its own view of the session."""
        process, number = self.living[which], next(self._numbers)
        text = Content(role="user", parts=[Part(text=f"by the way {number}")])
        event = Event(author="front", invocation_id=f"front-{number}", content=text)
        if with_state:
            event.actions.state_delta["front"] = number

        async def append() -> None:
            session = present(await process.view.get_session(**PLACE._asdict()))
            await process.view.append_event(session, event)

        self._begin(process, append(), StaleSessionError, StoreError)

    @rule(which=which)
    def bring_history(self, which: int) -> None:
        """Somebody imports events in which a payment waits for an approval; it is never run."""
        process, number = self.living[which], next(self._numbers)
        pay = FunctionCall(id=f"past-{number}", name="pay", args={"what": str(number)})
        original = {"id": pay.id, "name": pay.name, "args": pay.args}
        ask = FunctionCall(
            id=f"ask-{number}",
            name=CONFIRMATION,
            args={"originalFunctionCall": original, "toolConfirmation": {"hint": "pay?"}},
        )
        events = [
            Event(
                author="root",
                invocation_id=f"past-{number}",
                content=Content(role="model", parts=[Part(function_call=call)]),
                long_running_tool_ids={present(ask.id)} if call is ask else None,
            )
            for call in (pay, ask)
        ]

        async def bring() -> None:
            session = await process.view.get_session(**PLACE._asdict())
            await process.view.append(session, mark_imported(events))

        self._begin(process, bring(), StaleSessionError, StoreError)

    @rule(which=which)
    def cancel(self, which: int) -> None:
        process = self.living[which]
        self._begin(process, process.runner.cancel(**_NAMES), StoreError)

    @rule(which=which)
    def answer(self, which: int) -> None:
        """The user answers the first call that waits for it."""
        for call_id, name in self._waiting():
            self._answer(self.living[which], call_id, name)
            return

    @rule(turns=few)
    def answer_at_once(self, turns: int) -> None:
        """Two people answer the first call that waits, each by a process of their own."""
        for call_id, name in self._waiting():
            for process in self.living:
                self._answer(process, call_id, name)
            self.go_on_together(turns)
            return

    @rule(which=which, number=st.integers(0, 5))
    def answer_again(self, which: int, number: int) -> None:
        """Somebody answers a call that has been answered."""
        known = [*self.answered.items()]
        if known:
            self._answer(self.living[which], *known[number % len(known)])

    @rule(which=which, name=st.sampled_from([CONFIRMATION, REQUEST_INPUT]))
    def answer_what_was_never_asked(self, which: int, name: str) -> None:
        self._answer(self.living[which], f"never {next(self._numbers)}", name)

    def _waiting(self) -> list[tuple[str, str]]:
        """Return id and name of the calls that wait for an answer nobody has given."""
        return [
            (call_id, name)
            for record in visible_records(self.log)
            for call_id, name in record.calls
            if call_id in record.long_running
            and call_id not in self.answered
            and (name != "order" or self.history.answers[call_id, False])
        ]

    def _answer(self, process: Process, call_id: str, name: str) -> None:
        if not call_id.startswith("never"):
            self.answered[call_id] = name
        call = FunctionCall(id=call_id, name=name)
        message = answer_to(call, _ANSWERABLE[name])
        self._start(process, message, expected=(*EXPECTED, *REFUSED))

    @rule(which=which, number=st.integers(0, 5))
    def leave(self, which: int, number: int) -> None:
        """A caller goes away."""
        loop = self.living[which].loop
        callers = [t for t in self._callers if not t.done() and t.get_loop() is loop]
        if callers:
            gone = callers[number % len(callers)]
            self._gone.add(gone)
            gone.cancel()

    @property
    def log(self) -> Any:
        return self.store._sessions[PLACE].log

    @invariant()
    def nothing_is_broken(self) -> None:
        self.figures["steps"] += 1
        self._check()

    def _check(self) -> None:
        if self.history.faults:
            raise Broken(self.history.faults[0])
        self.history.check_log(self.log.records)
        lease = self.store._sessions[PLACE].lease
        if lease is not None and lease.token != self.history.token:
            raise Broken(f"the lease has token {lease.token}, the last was {self.history.token}")

    def teardown(self) -> None:
        try:
            if self.living:
                self._settle()
                self._check_settled()
        finally:
            for process in self.processes:
                process.crash()
            for process in self.processes:
                process.drop()
            self._stack.close()
            self._note()

    def _settle(self) -> None:
        """Let everybody end, and somebody go on with what is left; then ask for one thing more."""
        for process in self.living:
            process.view.failing = ""
        for held in self._readers:
            self._release(held)
        self._wait_until_settled()
        for process in self.living:
            text = f"say {next(self._numbers)}"
            last = self._start(process, text)
            self.sent[text] = last
            self._wait_until_settled()
            if last.exception() is not None:
                raise Broken(f"the last message was not answered: {last.exception()!r}")

    def _wait_until_settled(self) -> None:
        waiting = sum(len(process.loop.tasks) for process in self.living)
        for count in range(_SETTLING + _SETTLING_OF_ONE * waiting):
            for process in self.living:
                self._turn(process)
            if count % 20 == 0:
                self.clock.now += 1.5
                for which in range(2):
                    self.renew(which)
            if count % 100 == 99:
                self.resume(count // 100 % 2)
            if not any(process.loop.busy for process in self.living) and not self._open():
                return
        raise Broken(f"it does not settle: {self._open()}")

    def _open(self) -> list[str]:
        stored = self.store._sessions[PLACE]
        found = [f"message {name}" for name in stored.inbox]
        if stored.lease is not None and stored.lease.invocation_id and not stored.lease.stuck:
            found.append(f"lease {stored.lease}")
        return found

    def _check_settled(self) -> None:
        stored = self.store._sessions[PLACE]
        log = [record.event() for record in stored.log.records]
        texts = Counter(_text(event) for event in log if event.author == "user")
        for text, task in self.sent.items():
            if texts[text] > 1:
                raise Broken(f"message {text!r} is in the log {texts[text]} times")
            finished = task.done() and not task.cancelled() and task.exception() is None
            if finished and not texts[text] and text not in self._pruned:
                raise Broken(f"message {text!r} was answered, but is not in the log")
        stuck = {stored.lease.invocation_id} if stored.lease and stored.lease.stuck else set()
        visible = {record.id for record in visible_records(stored.log)}
        for invocation_id in {event.invocation_id for event in log} - stuck:
            found = open_calls(stored.log, invocation_id, below=True)
            # A rewind may hide a parked invocation with its open calls: no model is sent those.
            shown = [call for call in found if call.record.id in visible]
            waiting = [call for call in shown if not call.long_running]
            if waiting:
                raise Broken(f"calls are not answered: {waiting}")
        rows = {row for row, _ in stored.journal} - stuck
        paused = {event.invocation_id for event in log if event.long_running_tool_ids}
        if rows - paused:
            raise Broken(f"the journal still has rows of {rows - paused}")
        self._check_effects(log)
        self._check_state(log)

    def _check_state(self, log: list[Event]) -> None:
        """Of each key, the value that was written last is stored.

        An event of a parallel branch leaves out what another branch has overwritten and stored.
        """
        stored: dict[str, int] = {}
        newest: dict[str, int] = {}
        for event in log:
            if event.actions.rewind_before_invocation_id:
                continue
            run, delta = event.invocation_id, event.actions.state_delta
            written = [value for key, value in delta.items() if key.startswith("wrote ")]
            if not written:
                continue
            stored[run] = delta.get("last", stored.get(run, 0))
            newest[run] = max(newest.get(run, 0), *written)
            if stored[run] != newest[run]:
                raise Broken(f"{stored[run]} was stored, and {newest[run]} was written last")

    def _check_effects(self, log: list[Event]) -> None:
        flagged = {i for event in log for i in (event.custom_metadata or {}).get(RERUN, ())}
        stored = {call.id for event in log for call in event.get_function_calls()}
        for key, count in self.history.effects.items():
            call_id = key.rpartition("/")[2]
            if call_id not in stored and call_id not in self._pruned:
                raise Broken(f"call {call_id} took effect and is not in the log")
            if count > 1 and call_id not in flagged | self._pruned and not self.poison:
                raise Broken(f"call {call_id} took effect {count} times, and no event says so")

        approved = {
            call_id
            for event in log
            for part in event.get_function_responses()
            if event.author == "user" and part.name == CONFIRMATION
            for call_id in [part.id]
        }
        asked = {
            call.id: (call.args or {}).get("originalFunctionCall", {}).get("id")
            for event in log
            for call in event.get_function_calls()
            if call.name == CONFIRMATION
        }
        paid = self.history.paid.keys() - self._pruned
        for call_id in paid - {asked.get(one) for one in approved}:
            raise Broken(f"call {call_id} was run, and nobody has approved it")

    def _note(self) -> None:
        history, figures = self.history, self.figures
        figures["machines"] += 1
        figures["events"] += len(history.ids)
        figures["effects"] += sum(history.effects.values())
        figures["repeats"] += sum(history.effects.values()) - len(history.effects)
        figures["tokens"] += history.token
        figures["take-overs"] += history.taken_over
        figures["refused"] += history.refused
        figures["late"] += history.late
        figures["failures"] += history.failures
        figures["paid"] += history.paid.total()
        provider: Provider | None = self._app["provider"]
        figures["continued"] += 0 if provider is None else provider.continued


def _uuid(text: str) -> str:
    return "-".join((text[:8], text[8:12], "4" + text[13:16], "8" + text[17:20], text[20:]))


def _text(event: Event) -> str:
    return "".join(p.text or "" for p in (event.content.parts if event.content else None) or ())
