"""The state machine: two processes of one session, stepped in an order that a seed decides."""

from __future__ import annotations

import asyncio
import itertools
import random
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from ostinato import _clock
from ostinato.agents.run_config import RunConfig
from ostinato.errors import (
    LeaseLostError,
    RunCancelledError,
    SessionBusyError,
    StaleSessionError,
)
from ostinato.events import Event
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

EXPECTED = (RunCancelledError, LeaseLostError, SessionBusyError)
_SETTLING = 60_000  # steps within which everything has to have settled
_WEIGHTS: dict[str, float] = {
    "step": 100,
    "send": 7,
    "tick": 6,
    "renew": 4,
    "stall": 1.2,
    "crash": 1.5,
    "resume": 2,
    "outside": 0.8,
    "cancel": 0.6,
    "answer": 1.5,
    "leave": 0.5,
}


class Machine:
    """One episode.

    Args:
      seed: decides everything.

    Attributes:
      trace: what was done, for whoever looks for a failure's cause.
      done: how often each operation was done.
    """

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self.clock = Clock()
        self.store = SharedStore()
        self.history = History()
        self.processes: list[Process] = []
        self.trace: list[str] = []
        self.done: Counter[str] = Counter()
        self.sent: dict[str, asyncio.Task[Any]] = {}
        self.answered: set[str] = set()
        self.max_attempts = self.chance.choice([2, 50, 50, 50, 50])
        self._numbers = itertools.count(1)
        self._callers: list[asyncio.Task[Any]] = []

    def run(self, steps: int) -> int:
        """Do so many steps, settle, and check; return how many steps it took."""
        ids = (f"{self.chance.getrandbits(128):032x}" for _ in itertools.count())
        with (
            _clock.replaced(time=self.clock, ids=lambda: _uuid(next(ids))),
            known_deaths(self.processes),
        ):
            self.store.create_session_sync(**PLACE._asdict())
            try:
                self.processes += [self._process(), self._process()]
                self.living = list(self.processes)
                for _ in range(steps):
                    before = len(self.history.notes)
                    self._operate()
                    self.trace += self.history.notes[before:]
                    self._check()
                return steps + self._settle()
            finally:
                for process in self.processes:
                    process.drop()

    def _process(self) -> Process:
        return Process(
            len(self.processes) + next(self._numbers),
            self.store,
            self.history,
            self.chance,
            self.clock,
            away=self.chance.random() < 0.4,
            max_attempts=self.max_attempts,
        )

    def _operate(self) -> None:
        name = self.chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        process = self.chance.choice(self.living)
        if name == "step" and not process.loop.busy:
            process = next((p for p in self.living if p.loop.busy), process)
        self.done[name] += 1
        if name != "step":
            self.trace.append(f"{name} by {process.number}")
        act: Callable[[Process], None] = getattr(self, f"_{name}")
        act(process)

    def _step(self, process: Process) -> None:
        process.loop.step()

    def _send(self, process: Process) -> None:
        if len(self.sent) > 40:
            return
        kind = self.chance.choice(["say", "act", "act", "both", "order"])
        text = f"{kind} {next(self._numbers)}"
        policy = self.chance.choice(["queue", "queue", "queue", "reject", "interrupt"])
        self.trace.append(f"  {text!r}, {policy}")
        self.sent[text] = self._start(process, text, policy)

    def _start(self, process: Process, message: Any, policy: str = "queue") -> asyncio.Task[Any]:
        async def run() -> list[Event]:
            place = {"user_id": PLACE.user_id, "session_id": PLACE.session_id}
            config: Any = RunConfig(on_busy=policy)  # type: ignore[arg-type]
            run = process.runner.run_async(**place, new_message=message, run_config=config)
            return [event async for event in run]

        task = self._begin(process, run(), *EXPECTED)
        self._callers.append(task)
        return task

    def _begin(self, process: Process, work: Any, *expected: type[Exception]) -> asyncio.Task[Any]:
        task = process.loop.begin(work)
        task.add_done_callback(self._expect(*expected))
        return task

    def _expect(self, *expected: type[Exception]) -> Callable[[asyncio.Task[Any]], None]:
        """Let nothing else end a task."""

        def note(task: asyncio.Task[Any]) -> None:
            error = None if task.cancelled() else task.exception()
            dead = task.get_loop() in [p.loop for p in self.processes if p.view.dead]
            if error is not None and not dead and not isinstance(error, expected):
                text = "".join(traceback.format_exception(error))
                self.history.faults.append(f"{type(error).__name__}: {error}\n{text}")

        return note

    def _tick(self, process: Process) -> None:
        self.clock.now += self.chance.uniform(0.01, 1.0)

    def _stall(self, process: Process) -> None:
        """Everybody's clock goes on, and nobody has renewed anything."""
        self.clock.now += LEASE_SECONDS * self.chance.uniform(0.5, 1.5)

    def _renew(self, process: Process) -> None:
        self._begin(process, process.keeper.renew())

    def _crash(self, process: Process) -> None:
        process.crash()
        self.living.remove(process)
        other = self._process()
        self.processes.append(other)
        self.living.append(other)

    def _resume(self, process: Process) -> None:
        self._begin(process, process.runner.resume_open())

    def _outside(self, process: Process) -> None:
        """A front end appends something, with its own view of the session."""
        number = next(self._numbers)
        text = Content(role="user", parts=[Part(text=f"by the way {number}")])
        event = Event(author="front", invocation_id=f"front-{number}", content=text)
        if self.chance.random() < 0.5:
            event.actions.state_delta["front"] = number

        async def append() -> None:
            session = await process.view.get_session(**PLACE._asdict())
            await process.view.append_event(session, event)

        self._begin(process, append(), StaleSessionError)

    def _cancel(self, process: Process) -> None:
        place = {"user_id": PLACE.user_id, "session_id": PLACE.session_id}
        self._begin(process, process.runner.cancel(**place))

    def _answer(self, process: Process) -> None:
        for record in self._records():
            for call_id, name in record.calls:
                if call_id in record.long_running and call_id not in self.answered:
                    if not self.history.answers[call_id, False]:
                        continue
                    self.answered.add(call_id)
                    call = FunctionCall(id=call_id, name=name)
                    self.trace.append(f"  {call_id}")
                    self._start(process, answer_to(call, {"result": "it is here"}))
                    return

    def _leave(self, process: Process) -> None:
        """A caller goes away."""
        callers = [task for task in self._callers if not task.done()]
        callers = [task for task in callers if task.get_loop() is process.loop]
        if callers:
            self.chance.choice(callers).cancel()

    def _records(self) -> Any:
        return self.store._sessions[PLACE].log.records

    def _check(self) -> None:
        self.history.check_log(self._records())
        lease = self.store._sessions[PLACE].lease
        if lease is not None and lease.token != self.history.token:
            raise Broken(f"the lease has token {lease.token}, the last was {self.history.token}")
        if self.history.faults:
            raise Broken(self.history.faults[0])

    def _settle(self) -> int:
        """Let everybody end, or die, and somebody go on with what is left; then check."""
        if self.chance.random() < 0.5:
            for process in list(self.living):
                self._crash(process)
        last = self.living[-1]
        for count in range(_SETTLING):
            for process in self.living:
                process.loop.step()
            self._check()
            if count % 20 == 0:
                self.clock.now += 1.5
                for process in self.living:
                    self._renew(process)
            if count % 100 == 0:
                self._resume(last)
            busy = any(process.loop.busy for process in self.living)
            if not busy and not self._open():
                self._check_settled()
                return count
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
        if self.max_attempts > 2:
            for invocation_id in {event.invocation_id for event in log} - stuck:
                found = open_calls(stored.log, invocation_id, below=True)
                waiting = [call for call in found if not call.long_running]
                if waiting:
                    raise Broken(f"calls are not answered: {waiting}")
        self._check_effects(log)

    def _check_effects(self, log: list[Event]) -> None:
        flagged = {i for event in log for i in (event.custom_metadata or {}).get(RERUN, ())}
        stored = {call.id for event in log for call in event.get_function_calls()}
        for key, count in self.history.effects.items():
            call_id = key.rpartition("/")[2]
            if call_id not in stored:
                raise Broken(f"call {call_id} took effect and is not in the log")
            if count > 1 and call_id not in flagged and self.max_attempts > 2:
                raise Broken(f"call {call_id} took effect {count} times, and no event says so")


def _uuid(text: str) -> str:
    return "-".join((text[:8], text[8:12], "4" + text[13:16], "8" + text[17:20], text[20:]))


def _text(event: Event) -> str:
    return "".join(p.text or "" for p in (event.content.parts if event.content else None) or ())
