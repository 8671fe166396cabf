"""One run of a simulation: it carries out a plan, lets all settle, and checks what is left."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ... import types
from ...agents.run_config import RunConfig, StreamingMode
from ...apps.app import App
from ...errors import (
    InputValidationError,
    LeaseLostError,
    OstinatoError,
    RunCancelledError,
    SessionBusyError,
    StoreError,
)
from ...events.pending import CONFIRMATION, Pending, pending_calls
from ...events.request_input import REQUEST_INPUT
from ...sessions.store.durable_store import Place
from ...workflow.tool_node import find_asking_call
from .event_loop import StuckError
from .moment import Host, Moment
from .plan import SAYING, Entry, PlanOptions, Seed, draw_index, draw_plan, stream_of
from .process import SimulatedProcess, SimulatedToolError, World, instrument
from .settled import SettledSession
from .shared_store import InvariantError

_USER = "user"
_UNASKED = "never-asked"  # id of a call that no model made
_EXPECTED = (OstinatoError, SimulatedToolError, TimeoutError, InvariantError)
_BY_OTHERS = (RunCancelledError, LeaseLostError, SessionBusyError, StoreError)
_UNREAD = 20.0  # virtual seconds for which a caller stops reading, at most
_SETTLE_SECONDS = 300.0  # virtual seconds, but those of tools, within which everything has to end
SETTLE_SECONDS = 3600.0
"""Virtual seconds in all that tools may wait at the end, if `simulate` is given no others."""
_STEPS_OF_ACTION, _STEPS = 30_000, 300_000  # a run that takes more does not end
_STEPS_OF_SECOND = 50  # while a tool waits: leases are renewed, and inboxes looked at
_TRACE = 40  # lines of the trace that a failure keeps


Invariant = Callable[[Moment], Any]
HostAction = Callable[[Host], Awaitable[Any]]
"""Something that the host of an agent does; see `simulate`."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What runs, besides the plan; see `simulate`."""

    plan: PlanOptions
    make_app: Callable[[], App]
    model: Any
    run_config: RunConfig
    always: Sequence[Invariant] = ()
    eventually: Sequence[Invariant] = ()
    strict_effects: bool = True
    host_actions: Mapping[str, HostAction] = field(default_factory=dict[str, HostAction])
    settle_seconds: float = SETTLE_SECONDS

    def __post_init__(self) -> None:
        if not self.settle_seconds > 0:
            raise InputValidationError(
                f"simulate: settle_seconds is {self.settle_seconds!r}; give more than 0."
            )


@dataclass(slots=True)
class RunOutcome:
    """What came of one run.

    Attributes:
      violation: the first broken invariant; '' if none.
      entries: the plan.
      figures: what happened how often.
      digest: a number made of all that happened; equal for equal runs.
      trace: the last lines of what happened.
      notes: what it does not cover of what tools did.
    """

    violation: str
    entries: list[tuple[int, Entry]]
    figures: Counter[str]
    digest: int
    trace: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


def run_once(seed: Seed, options: RunOptions) -> RunOutcome:
    """Run a plan; return what came of it."""
    entries = draw_plan(seed, options.plan)
    limit = _STEPS + _STEPS_OF_ACTION * len(entries)
    limit += int(_STEPS_OF_SECOND * options.settle_seconds)
    world = World(seed.number, limit, options.model)
    level, collects = logging.root.manager.disable, gc.isenabled()
    logging.disable(logging.CRITICAL)  # every fault would be logged
    gc.disable()  # a collection would close generators at a time that no seed decides
    try:
        with instrument(world):
            run = SimulationRun(world, options, entries)
            try:
                world.loop.run(run.direct())
            except (InvariantError, StuckError) as error:
                kind = "" if isinstance(error, InvariantError) else "settle: "
                world.history.violations.append(f"{kind}{error}")  # after what was found before
            finally:
                for process in world.processes.values():
                    process.view.is_dead = True
                figures = run.count_figures()
                outcome = RunOutcome(
                    next(iter(world.history.violations), ""),
                    entries,
                    figures,
                    world.history.digest,
                    world.history.trace[-_TRACE:],
                    [*world.notes],
                )
                world.loop.end()
    finally:
        logging.disable(level)
        if collects:
            gc.enable()
    return outcome


class SimulationRun:
    """Carries out a plan.

    Args:
      world: the world.
      options: what runs.
      entries: the plan.
    """

    def __init__(
        self, world: World, options: RunOptions, entries: Sequence[tuple[int, Entry]]
    ) -> None:
        self._world, self._options, self._entries = world, options, entries
        self._alive: dict[int, SimulatedProcess] = {}
        self._calls: list[asyncio.Task[Any]] = []  # of loops that have work left
        self._callers: dict[asyncio.Task[Any], SimulatedProcess] = {}
        self._left: set[asyncio.Task[Any]] = set()
        self._sent: dict[str, tuple[Place, asyncio.Task[Any]]] = {}
        self._answered: list[tuple[Place, Pending]] = []
        self._figures: Counter[str] = Counter()
        self._chance = stream_of(world.seed, "users")
        self._app_name = options.make_app().name
        world.history.on_commit = self._check_always

    @property
    def _places(self) -> list[Place]:
        count = self._options.plan.sessions
        return [Place(self._app_name, _USER, f"session-{number}") for number in range(count)]

    async def direct(self) -> None:
        """Carry out the plan, let everything settle, and check it."""
        world = self._world
        for place in self._places:
            world.store.create_session_sync(**place._asdict())
        for number in range(self._options.plan.processes):
            self._start_process(number)
        for index, entry in self._entries:
            await asyncio.sleep(max(0.0, entry.time - world.loop.now))
            self._figures["actions"] += 1
            self._figures[entry.kind] += 1
            world.history.note(f"{world.loop.now:.6f} {entry.kind}")
            self._perform(index, entry)
            self._raise_violation()
        await self._settle()
        for number, place in enumerate(self._places):
            process = self._alive[number % len(self._alive)]
            last = self._say(process, place, f"Is anybody there? ({number})", "queue")
            await self._settle()
            error = None if last.cancelled() else last.exception()
            if last.cancelled() or isinstance(error, _BY_OTHERS):
                raise self._broken(
                    f"liveness: the last message of {place.session_id} was not answered: {error!r}"
                )
        self._check_end()
        self._raise_violation()

    def _broken(self, what: str) -> InvariantError:
        return self._world.history.report(what)

    def _raise_violation(self) -> None:
        if self._world.history.violations:
            raise InvariantError(self._world.history.violations[0])
        for error in self._world.loop.errors:
            raise InvariantError(f"background: {error.get('message')}: {error.get('exception')!r}")

    def _start_process(self, number: int) -> SimulatedProcess:
        options = self._options
        process = self._alive[number] = SimulatedProcess(
            self._world,
            number,
            options.make_app,
            options.plan.lease_seconds,
            options.run_config,
            options.plan.max_attempts,
            bool(options.plan.faults.get("loop_close")),
        )
        return process

    def _perform(self, index: int, entry: Entry) -> None:
        process = self._alive[entry.process]
        place = self._places[entry.session]
        if entry.kind in SAYING:
            policy = "interrupt" if entry.kind == "interrupt" else "queue"
            waits = _UNREAD * entry.amount**2 if entry.kind == "stop_reading" else 0.0
            self._say(process, place, f"{entry.text} ({index})", policy, waits)
        elif entry.kind in self._options.host_actions:
            host = Host(self._world, place, process, entry.amount)
            self._call(process, self._act(entry, host), f"action {entry.kind}")
        elif entry.kind.startswith(("model_", "tool_")):
            process.faults.append(entry.kind)
        elif entry.kind.startswith("answer"):
            self._answer(process, place, entry)
        else:
            getattr(self, f"_do_{entry.kind}")(process, place, entry)

    def _say(
        self, process: SimulatedProcess, place: Place, text: str, policy: str, waits: float = 0.0
    ) -> asyncio.Task[Any]:
        task = self._send(process, place, types.Part(text=text), policy, waits)
        self._sent[text] = place, task
        return task

    def _send(
        self,
        process: SimulatedProcess,
        place: Place,
        part: types.Part,
        policy: str = "queue",
        waits: float = 0.0,
    ) -> asyncio.Task[Any]:
        """Run a message; its caller waits for so many seconds with one of the first events."""
        at = 1 + draw_index(self._chance, 3) if waits else 0
        closes = self._chance.random() < 0.5
        streams = self._chance.random() < 0.4
        config = self._options.run_config.model_copy(
            update={
                "on_busy": policy,
                "streaming_mode": StreamingMode.SSE if streams else StreamingMode.NONE,
            }
        )

        async def run() -> None:
            events = process.runner.run_async(
                user_id=place.user_id,
                session_id=place.session_id,
                new_message=types.Content(role="user", parts=[part]),
                run_config=config,
            )
            count = 0
            try:
                async for _ in events:
                    count += 1
                    if count == at:
                        await asyncio.sleep(waits)
            finally:
                if closes:
                    await events.aclose()
                del events  # else the error of a task keeps it, and the loop never closes it

        answered = part.function_response
        said = f"message {part.text!r}" if answered is None else f"answer to {answered.name}"
        return self._call(process, run(), f"{said} in {place.session_id}")

    def _call(self, process: SimulatedProcess, work: Any, what: str) -> asyncio.Task[Any]:
        """Start work that a caller waits for in a process; failures name it."""
        task = process.start(work)
        task.set_name(what)
        task.add_done_callback(self._note_end)
        self._calls.append(task)
        self._callers[task] = process
        return task

    async def _act(self, entry: Entry, host: Host) -> None:
        try:
            await self._options.host_actions[entry.kind](host)
        except _EXPECTED:
            raise
        except Exception as error:  # boundary: the user's code
            raise self._broken(f"action: {entry.kind} raised {error!r}") from error

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        """Check how a caller's run ended: in a way that a caller can expect."""
        if self._callers[task].view.is_dead:
            return
        if task.cancelled():
            if task not in self._left:
                self._broken("cancel: a run was cancelled whose caller had not cancelled it")
            return
        error = task.exception()
        self._figures["runs that ended" if error is None else "runs that failed"] += 1
        if error is not None and not isinstance(error, _EXPECTED) and not _is_of_user(error):
            text = "".join(traceback.format_exception(error)[-3:])
            self._broken(f"error: a caller got {type(error).__name__}: {error}\n{text}")

    def _answer(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        if entry.kind == "answer_again":
            if self._answered:
                again, known = self._answered[draw_index(self._chance, len(self._answered))]
                self._send(process, again, _answer_to(known, entry.amount))
            return
        if entry.kind == "answer_unasked":
            name = CONFIRMATION if entry.amount < 0.5 else REQUEST_INPUT
            answer = types.FunctionResponse(id=_UNASKED, name=name, response={"confirmed": True})
            self._send(process, place, types.Part(function_response=answer))
            return
        waiting = pending_calls(self._world.history.read_stored(place))
        if not waiting:
            return
        one = waiting[int(entry.amount * len(waiting))]
        self._answered.append((place, one))
        self._send(process, place, _answer_to(one, entry.amount))
        if entry.kind == "answer_twice":
            other = self._alive[(entry.process + 1) % len(self._alive)]
            self._send(other, place, _answer_to(one, 1 - entry.amount))

    def _do_leave(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        waiting = [task for task in self._calls if not task.done()]
        if waiting:
            task = waiting[int(entry.amount * len(waiting))]
            self._left.add(task)
            task.cancel()

    def _do_cancel(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        cancel = process.runner.cancel(user_id=place.user_id, session_id=place.session_id)
        self._call(process, cancel, f"cancel of {place.session_id}")

    def _do_store_slow(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.view.slowness = 1.0 + 200.0 * entry.amount
        self._disturb(process, 5.0, lambda: setattr(process.view, "slowness", 1.0))

    def _do_store_lost(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.view.lost = True
        end = partial(setattr, process.view, "lost", False)
        self._disturb(process, self._outage(entry), end)

    def _do_store_full(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.view.full = True
        end = partial(setattr, process.view, "full", False)
        self._disturb(process, self._outage(entry), end)

    def _outage(self, entry: Entry) -> float:
        return 0.05 + 2 * self._options.plan.lease_seconds * entry.amount**2

    def _do_death(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.die()
        self._forget_calls(process)
        self._start_process(entry.process)

    def _do_loop_close(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.close_loop()
        self._forget_calls(process)

    def _forget_calls(self, process: SimulatedProcess) -> None:
        """Expect no end of what a process does now: its callers have gone with it."""
        self._calls = [task for task in self._calls if self._callers[task] is not process]

    def _do_lease_loss(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        """Freeze a process until after its leases have expired; then it continues, unaware."""
        self._world.loop.freeze(process.name)
        seconds = self._options.plan.lease_seconds * (0.8 + entry.amount)
        self._disturb(process, seconds, lambda: self._world.loop.thaw(process.name))

    def _do_clock_jump(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        self._world.skew += self._options.plan.lease_seconds * 2 * entry.amount
        for one in self._alive.values():
            one.disturbed = max(one.disturbed, self._world.loop.now)

    def _disturb(self, process: SimulatedProcess, seconds: float, end: Callable[[], None]) -> None:
        """Disturb a process for so long; an earlier fault of the same kind ends both."""
        process.disturbed = max(process.disturbed, self._world.loop.now + seconds)
        self._world.loop.call_later(seconds, end)

    async def _settle(self) -> None:
        """Take all faults away, and wait until every run has ended and no work is left."""
        world = self._world
        for process in self._alive.values():
            process.faults.clear()
            process.view.lost = process.view.full = False
            process.view.slowness = 1.0
            world.loop.thaw(process.name)
        limits = {False: _SETTLE_SECONDS, True: self._options.settle_seconds}
        spent = {False: 0.0, True: 0.0}  # whether a tool waited
        while True:
            before = world.loop.now
            await asyncio.sleep(1.0)
            self._raise_violation()
            left = self._find_unsettled()
            if not left:
                return
            waited = world.loop.waits_for_user()
            spent[waited] += world.loop.now - before
            if spent[waited] >= limits[waited]:
                raise self._broken(f"settle: after {limits[waited]:g} s there is still {left[0]}")

    def _find_unsettled(self) -> list[str]:
        found = [f"a run of a caller: {t.get_name()}" for t in self._calls if not t.done()]
        self._calls = [task for task in self._calls if not task.done()]
        for place in self._places:
            found += [f"message {one} in the inbox" for one in self._world.store.inbox_of(place)]
            lease = self._world.store.lease_of(place)
            if lease is not None and lease.invocation_id and not lease.stuck:
                found.append(f"an open invocation, {lease.invocation_id} of {lease.owner!r}")
        return found

    def _check_always(self, place: Place) -> None:
        for invariant in self._options.always:
            self._check(invariant, "always", place)

    def _check(self, invariant: Invariant, kind: str, place: Place) -> None:
        name = getattr(invariant, "__name__", "invariant")
        where = f"{kind}: {name} in {place.session_id}"
        try:
            held = _is_held(invariant(Moment(self._world, place)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # boundary: the user's code; SystemExit is a failure, too
            raise self._broken(f"{where}: {error!r}") from error
        if not held:
            raise self._broken(f"{kind}: {name} does not hold in {place.session_id}")

    def _check_end(self) -> None:
        for place in self._places:
            SettledSession(self._world, place, self._options.strict_effects).check(self._sent)
            for invariant in self._options.eventually:
                self._check(invariant, "eventually", place)
        used = {Place(one.app_name, one.user_id, one.session_id) for one in self._world.effects}
        for place in sorted(used.difference(self._places)):  # of agents that are tools
            SettledSession(self._world, place, self._options.strict_effects).check_effects_alone()

    def count_figures(self) -> Counter[str]:
        """Return how often what happened."""
        history = self._world.history
        self._figures.update(
            {
                "steps": self._world.loop.steps,
                "commits": history.commits,
                "events": sum(len(events) for events in history.events.values()),
                "effects": len(self._world.effects),
                "late effects": sum(one.is_late for one in self._world.effects),
                "take-overs": history.taken_over,
                "refused": history.refused,
            }
        )
        return self._figures


def _is_held(result: Any) -> bool:
    """Return whether what an invariant returned says that it holds: None, or a true value."""
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("an invariant returns whether it holds; this function yields")
    if inspect.isawaitable(result):
        result = _run_in_place(result)
    return result is None or bool(result)


def _run_in_place(work: Awaitable[Any]) -> Any:
    """Run an awaitable to its end at once: nothing else may run between a commit and its check."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    steps.close()
    raise TypeError("an async invariant may not wait, such as with asyncio.sleep; check at once")


def _answer_to(one: Pending, amount: float) -> types.Part:
    if one.kind == "approval":
        return one.answer({"confirmed": amount < 0.8})
    if find_asking_call(one.call):
        return one.answer({"result": amount < 0.8})
    return one.answer({"result": "yes" if amount < 0.8 else "no"})


def _is_of_user(error: BaseException) -> bool:
    """Return whether an error was raised by code that is not the runtime's own."""
    frames = traceback.extract_tb(error.__traceback__)
    root = __file__.partition("testing")[0]
    return bool(frames) and not frames[-1].filename.startswith(root)
