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
    LeaseLostError,
    RunCancelledError,
    SessionBusyError,
    StaleSessionError,
)
from ostinato.events import Event
from ostinato.events.request_input import REQUEST_INPUT
from ostinato.sessions._resume import RERUN, open_calls
from ostinato.types import Content, FunctionCall, Part
from tests.flows.kit import answer_to
from tests.model.process import (
    LEASE_SECONDS,
    PLACE,
    Broken,
    History,
    Process,
    SharedStore,
    known_deaths,
)
from tests.model.stepping import Clock
from tests.model.trees import KINDS, TREES

EXPECTED = (RunCancelledError, LeaseLostError, SessionBusyError)
_NAMES = {"user_id": PLACE.user_id, "session_id": PLACE.session_id}
_SETTLING = 4_000  # turns within which everything has to have settled
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
        self.answered: set[str] = set()
        self._numbers = itertools.count(1)
        self._callers: list[asyncio.Task[Any]] = []
        self._gone: set[asyncio.Task[Any]] = set()
        self._stack = ExitStack()

    @initialize(
        name=st.sampled_from(TREES),
        resumable=st.booleans(),
        poison=st.sampled_from([False, False, False, True]),
        away=st.lists(st.booleans(), min_size=3, max_size=3),
        seed=st.integers(0, 2**32),
    )
    def begin(self, name: str, resumable: bool, poison: bool, away: list[bool], seed: int) -> None:
        self.chance = random.Random(seed)
        self.poison = poison
        self._app = {"name": name, "resumable": resumable}
        self._away = itertools.cycle(away)
        ids = (f"{self.chance.getrandbits(128):032x}" for _ in itertools.count())
        self._stack.enter_context(_clock.replaced(time=self.clock, ids=lambda: _uuid(next(ids))))
        self._stack.enter_context(known_deaths(self.processes))
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

    def _start(self, process: Process, message: Any, policy: str = "queue") -> asyncio.Task[Any]:
        async def run() -> list[Event]:
            config: Any = RunConfig(on_busy=policy)  # type: ignore[arg-type]
            run = process.runner.run_async(**_NAMES, new_message=message, run_config=config)
            return [event async for event in run]

        return self._called(process, run(), *EXPECTED)

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
            dead = task.get_loop() in [p.loop for p in self.processes if p.view.dead]
            if task.cancelled() and task not in self._gone and not dead:
                self.history.faults.append("somebody was cancelled whom nobody had cancelled")
            error = None if task.cancelled() else task.exception()
            if error is not None and not dead and not isinstance(error, expected):
                text = "".join(traceback.format_exception(error))
                self.history.faults.append(f"{type(error).__name__}: {error}\n{text}")

        return note

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
        self._begin(process, process.keeper.renew())

    @rule(which=which)
    def crash(self, which: int) -> None:
        """A process dies, and another one is started."""
        process = self.living.pop(which)
        process.crash()
        self._add_process()

    @rule(which=which)
    def resume(self, which: int) -> None:
        process = self.living[which]
        self._called(process, process.runner.resume_open())

    @rule(which=which)
    def close(self, which: int) -> None:
        """A process hands over what it still does for callers who are gone."""
        process = self.living[which]
        self._begin(process, process.runner.close())

    @rule(which=which, with_state=st.booleans())
    def append_from_outside(self, which: int, with_state: bool) -> None:
        """A front end appends something, with its own view of the session."""
        process, number = self.living[which], next(self._numbers)
        text = Content(role="user", parts=[Part(text=f"by the way {number}")])
        event = Event(author="front", invocation_id=f"front-{number}", content=text)
        if with_state:
            event.actions.state_delta["front"] = number

        async def append() -> None:
            session = await process.view.get_session(**PLACE._asdict())
            await process.view.append_event(session, event)

        self._begin(process, append(), StaleSessionError)

    @rule(which=which)
    def cancel(self, which: int) -> None:
        process = self.living[which]
        self._begin(process, process.runner.cancel(**_NAMES))

    @rule(which=which)
    def answer(self, which: int) -> None:
        """The user answers the first call that waits for it."""
        for record in self.log.records:
            for call_id, name in record.calls:
                if call_id in record.long_running and call_id not in self.answered:
                    if name != REQUEST_INPUT and not self.history.answers[call_id, False]:
                        continue
                    self.answered.add(call_id)
                    call = FunctionCall(id=call_id, name=name)
                    self._start(self.living[which], answer_to(call, {"result": "it is here"}))
                    return

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
        """Let everybody end, and somebody go on with what is left."""
        for count in range(_SETTLING):
            for process in self.living:
                self._turn(process)
            if count % 20 == 0:
                self.clock.now += 1.5
                for which in range(2):
                    self.renew(which)
            if count % 100 == 0:
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
            if finished and not texts[text]:
                raise Broken(f"message {text!r} was answered, but is not in the log")
        stuck = {stored.lease.invocation_id} if stored.lease and stored.lease.stuck else set()
        for invocation_id in {event.invocation_id for event in log} - stuck:
            found = open_calls(stored.log, invocation_id, below=True)
            waiting = [call for call in found if not call.long_running]
            if waiting:
                raise Broken(f"calls are not answered: {waiting}")
        rows = {row for row, _ in stored.journal} - stuck
        paused = {event.invocation_id for event in log if event.long_running_tool_ids}
        if rows - paused:
            raise Broken(f"the journal still has rows of {rows - paused}")
        self._check_effects(log)

    def _check_effects(self, log: list[Event]) -> None:
        flagged = {i for event in log for i in (event.custom_metadata or {}).get(RERUN, ())}
        stored = {call.id for event in log for call in event.get_function_calls()}
        for key, count in self.history.effects.items():
            call_id = key.rpartition("/")[2]
            if call_id not in stored:
                raise Broken(f"call {call_id} took effect and is not in the log")
            if count > 1 and call_id not in flagged and not self.poison:
                raise Broken(f"call {call_id} took effect {count} times, and no event says so")

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


def _uuid(text: str) -> str:
    return "-".join((text[:8], text[8:12], "4" + text[13:16], "8" + text[17:20], text[20:]))


def _text(event: Event) -> str:
    return "".join(p.text or "" for p in (event.content.parts if event.content else None) or ())
