"""One run of a simulation: it carries out a plan, lets all settle, and checks what is left."""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import types
from ...agents.run_config import RunConfig, StreamingMode
from ...apps.app import App
from ...errors import OstinatoError
from ...events.event import Event
from ...events.pending import CONFIRMATION, Pending, pending_calls
from ...sessions.log.resume import RERUN
from ...sessions.session import Session
from ...sessions.store.durable_store import Place
from ...workflow.tool_node import find_asking_call
from .event_loop import StuckError
from .plan import Entry, PlanOptions, Seed, draw_index, draw_plan, stream_of
from .process import Effect, SimulatedProcess, SimulatedToolError, World, instrument
from .shared_store import InvariantError

_USER = "user"
_IN_DOUBT = "was interrupted and may have taken effect already"  # in the question to a person
_SETTLE_SECONDS = 300.0  # virtual seconds within which everything has to have ended
_RESTART = 8.0  # seconds until another process replaces a dead one, at most
_STEPS_OF_ACTION, _STEPS = 30_000, 300_000  # a run that takes more does not end
_TRACE = 40  # lines of the trace that a failure keeps


class Moment:
    """What an invariant of the user sees.

    Attributes:
      time: virtual seconds since the start.
      session_id: the session that has changed, or that is looked at in the end.
      events: its stored events.
      effects: the tool bodies that have begun in it, in order.
    """

    def __init__(self, world: World, place: Place) -> None:
        self._world, self._place = world, place
        self.time, self.session_id = world.loop.now, place.session_id

    @property
    def events(self) -> Sequence[Event]:
        """The events of the session, in order."""
        return self._world.history.events.get(self._place, ())

    @property
    def state(self) -> dict[str, Any]:
        """The session's stored state."""
        return dict(self.session.state)

    @property
    def session(self) -> Session:
        """The session as the store has it."""
        found = self._world.store.get_session_sync(**self._place._asdict())
        assert found is not None
        return found

    @property
    def effects(self) -> list[Effect]:
        """The tool bodies that have begun."""
        return [one for one in self._world.effects if one.session_id == self.session_id]


Invariant = Callable[[Moment], Any]


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


@dataclass(slots=True)
class RunOutcome:
    """What came of one run.

    Attributes:
      violation: the first broken invariant; '' if none.
      entries: the plan.
      figures: what happened how often.
      digest: a number made of all that happened; equal for equal runs.
      trace: the last lines of what happened.
    """

    violation: str
    entries: list[tuple[int, Entry]]
    figures: Counter[str]
    digest: int
    trace: list[str] = field(default_factory=list[str])


def run_once(seed: Seed, options: RunOptions) -> RunOutcome:
    """Run a plan; return what came of it."""
    entries = draw_plan(seed, options.plan)
    limit = _STEPS + _STEPS_OF_ACTION * len(entries)
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
        self._calls: list[asyncio.Task[Any]] = []  # of processes that live
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
            if last.cancelled():
                raise self._broken(
                    f"liveness: the last message of {place.session_id} was cancelled"
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
            self._world, number, options.make_app, options.plan.lease_seconds, options.run_config
        )
        return process

    def _perform(self, index: int, entry: Entry) -> None:
        process = self._alive[entry.process]
        place = self._places[entry.session]
        if entry.kind in ("say", "interrupt"):
            policy = "interrupt" if entry.kind == "interrupt" else "queue"
            self._say(process, place, f"{entry.text} ({index})", policy)
        elif entry.kind.startswith(("model_", "tool_")):
            process.faults.append(entry.kind)
        elif entry.kind.startswith("answer"):
            self._answer(process, place, entry)
        else:
            getattr(self, f"_do_{entry.kind}")(process, place, entry)

    def _say(self, process: SimulatedProcess, place: Place, text: str, policy: str) -> Any:
        task = self._send(process, place, [types.Part(text=text)], policy)
        self._sent[text] = place, task
        return task

    def _send(
        self, process: SimulatedProcess, place: Place, parts: list[types.Part], policy: str
    ) -> asyncio.Task[Any]:
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
                new_message=types.Content(role="user", parts=parts),
                run_config=config,
            )
            async for _ in events:
                pass

        task = self._world.loop.start(process.name, run())
        task.add_done_callback(self._note_end)
        self._calls.append(task)
        self._callers[task] = process
        return task

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
        expected = (OstinatoError, SimulatedToolError, TimeoutError, InvariantError)
        if error is not None and not isinstance(error, expected) and not _is_of_user(error):
            text = "".join(traceback.format_exception(error)[-3:])
            self._broken(f"error: a caller got {type(error).__name__}: {error}\n{text}")

    def _answer(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        if entry.kind == "answer_again":
            if self._answered:
                again, known = self._answered[draw_index(self._chance, len(self._answered))]
                self._send(process, again, [_answer_to(known, entry.amount)], "queue")
            return
        waiting = pending_calls(self._world.history.events.get(place, ()))
        if not waiting:
            return
        one = waiting[int(entry.amount * len(waiting))]
        self._answered.append((place, one))
        self._send(process, place, [_answer_to(one, entry.amount)], "queue")
        if entry.kind == "answer_twice":
            other = self._alive[(entry.process + 1) % len(self._alive)]
            self._send(other, place, [_answer_to(one, 1 - entry.amount)], "queue")

    def _do_leave(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        waiting = [task for task in self._calls if not task.done()]
        if waiting:
            task = waiting[int(entry.amount * len(waiting))]
            self._left.add(task)
            task.cancel()

    def _do_cancel(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        async def cancel() -> None:
            try:
                await process.runner.cancel(user_id=place.user_id, session_id=place.session_id)
            except OstinatoError:
                pass

        self._world.loop.start(process.name, cancel())

    def _do_store_slow(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.view.slowness = 1.0 + 200.0 * entry.amount
        self._disturb(process, 5.0, lambda: setattr(process.view, "slowness", 1.0))

    def _do_store_lost(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.view.lost = True
        lease = self._options.plan.lease_seconds
        seconds = 0.05 + 2 * lease * entry.amount**2
        self._disturb(process, seconds, lambda: setattr(process.view, "lost", False))

    def _do_death(self, process: SimulatedProcess, place: Place, entry: Entry) -> None:
        process.die()
        self._calls = [task for task in self._calls if self._callers[task] is not process]
        self._start_process(entry.process)

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
            process.view.lost, process.view.slowness = False, 1.0
            world.loop.thaw(process.name)
        end = world.loop.now + _SETTLE_SECONDS
        left = ["the start"]
        while left and world.loop.now < end:
            await asyncio.sleep(1.0)
            self._raise_violation()
            left = self._find_unsettled()
        if left:
            raise self._broken(f"settle: after {_SETTLE_SECONDS:g} s there is still {left[0]}")

    def _find_unsettled(self) -> list[str]:
        found = [f"a run of a caller: {t.get_name()}" for t in self._calls if not t.done()]
        self._calls = [task for task in self._calls if not task.done()]
        for place in self._places:
            found += [f"message {one} in the inbox" for one in self._world.store.inbox_of(place)]
            lease = self._world.store.lease_of(place)
            if lease is not None and lease.invocation_id:
                found.append(f"an open invocation, {lease.invocation_id} of {lease.owner!r}")
        return found

    def _check_always(self, place: Place) -> None:
        for invariant in self._options.always:
            self._check(invariant, "always", place)

    def _check(self, invariant: Invariant, kind: str, place: Place) -> None:
        name = getattr(invariant, "__name__", "invariant")
        try:
            holds = invariant(Moment(self._world, place))
        except Exception as error:  # boundary: the user's code
            raise self._broken(f"{kind}: {name} in {place.session_id}: {error!r}") from error
        if holds is False:
            raise self._broken(f"{kind}: {name} does not hold in {place.session_id}")

    def _check_end(self) -> None:
        for place in self._places:
            events = self._world.history.events.get(place, [])
            self._check_messages(place, events)
            self._check_calls(place, events)
            self._check_effects(place, events)
            self._check_state(place, events)
            for invariant in self._options.eventually:
                self._check(invariant, "eventually", place)

    def _check_messages(self, place: Place, events: Sequence[Event]) -> None:
        texts = Counter(_text_of(event) for event in events if event.author == "user")
        for text, (of, task) in self._sent.items():
            if of != place:
                continue
            if texts[text] > 1:
                raise self._broken(f"doubled: message {text!r} is stored {texts[text]} times")
            ended = task.done() and not task.cancelled() and task.exception() is None
            if ended and not texts[text]:
                raise self._broken(f"lost: message {text!r} was accepted and is not stored")

    def _check_calls(self, place: Place, events: Sequence[Event]) -> None:
        answered = {one.id for event in events for one in event.get_function_responses()}
        for event in events:
            waits = event.long_running_tool_ids or ()
            for call in event.get_function_calls():
                if call.id not in answered and call.id not in waits:
                    raise self._broken(f"unanswered: call {call.id} of {call.name}")
        paused = {event.invocation_id for event in events if event.long_running_tool_ids}
        rows = self._world.store.rows_of(place) - paused
        if rows:
            raise self._broken(f"journal: rows of {sorted(rows)[0]} are left")

    def _check_effects(self, place: Place, events: Sequence[Event]) -> None:
        flagged = {i for event in events for i in (event.custom_metadata or {}).get(RERUN, ())}
        told = _doubtful_calls(events)
        calls = {call.id for event in events for call in event.get_function_calls()}
        invocations = {event.invocation_id for event in events}
        # A node whose tool raised runs again when it is resumed.
        errors = _count_node_errors(events)
        approved = _approved_calls(events)
        effects: dict[str, list[Effect]] = {}
        for effect in self._world.effects:
            if effect.session_id == place.session_id:
                effects.setdefault(effect.call_id, []).append(effect)
        for call_id, runs in effects.items():
            first = runs[0]
            known = invocations if first.node_of else calls
            if (first.node_of or call_id) not in known:
                raise self._broken(f"effect: {first.tool} ran for call {call_id}, not in the log")
            if first.needs_approval and call_id not in approved:
                raise self._broken(f"policy: {first.tool} ran without approval of {call_id}")
            repeats = len(runs) - 1 - errors[call_id]
            if repeats > 0 and call_id not in flagged | told and not first.repeatable:
                raise self._broken(
                    f"repeated: {first.tool} ran {len(runs)} times for call {call_id}, and no "
                    "event says so"
                )
            keyed = any(one.read_key for one in runs) or first.repeatable or call_id in told
            if repeats > 0 and not keyed and self._options.strict_effects:
                raise self._broken(
                    f"unkeyed: {first.tool} ran {len(runs)} times for one call and reads no key; "
                    "pass on tool_context.idempotency_key, or give the tool check= or in_doubt="
                )

    def _check_state(self, place: Place, events: Sequence[Event]) -> None:
        """Check that the stored state is what the events say, and that the session is readable."""
        expected: dict[str, Any] = {}
        for event in events:
            for key, value in event.actions.state_delta.items():
                if key.startswith("temp:"):
                    continue
                if value is None:
                    expected.pop(key, None)
                else:
                    expected[key] = value
        session = self._world.store.get_session_sync(**place._asdict())
        if session is None or [e.id for e in session.events] != [e.id for e in events]:
            raise self._broken(f"readable: {place.session_id} does not load as it was stored")
        own = {key for key in expected if ":" not in key}
        for key in sorted(own):
            if session.state.get(key) != expected[key]:
                raise self._broken(
                    f"state: {key} is {session.state.get(key)!r} in the store, and the events say "
                    f"{expected[key]!r}"
                )

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


def _answer_to(one: Pending, amount: float) -> types.Part:
    if one.kind == "approval":
        return one.answer({"confirmed": amount < 0.8})
    if find_asking_call(one.call):
        return one.answer({"result": amount < 0.8})
    return one.answer({"result": "yes" if amount < 0.8 else "no"})


def _approved_calls(events: Sequence[Event]) -> set[str]:
    asked: dict[str, str] = {}
    found: set[str] = set()
    for event in events:
        for call in event.get_function_calls():
            if call.name == CONFIRMATION:
                original: Any = (call.args or {}).get("originalFunctionCall") or {}
                asked[call.id or ""] = str(original.get("id"))
            elif find_asking_call(call):
                asked[call.id or ""] = find_asking_call(call)
        for response in event.get_function_responses():
            answer = response.response or {}
            yes = bool(answer.get("confirmed" if response.name == CONFIRMATION else "result"))
            if event.author == "user" and response.id in asked and yes:
                found.add(asked.get(response.id or "", ""))
    return found


def _count_node_errors(events: Sequence[Event]) -> Counter[str]:
    """Return how often each call of a workflow's tool nodes ended with an error in the log."""
    return Counter(
        f"{event.invocation_id}:{event.node_info.path}"
        for event in events
        if event.error_code and event.content is None and event.node_info.path
    )


def _doubtful_calls(events: Sequence[Event]) -> set[str]:
    """Return the calls about which a person was told that they may have taken effect already."""
    found: set[str] = set()
    for event in events:
        for call in event.get_function_calls():
            if call.name == CONFIRMATION and _IN_DOUBT in str(call.args):
                original: Any = (call.args or {}).get("originalFunctionCall") or {}
                found.add(str(original.get("id")))
            elif _IN_DOUBT in str(call.args):
                found.add(find_asking_call(call))
    return found


def _text_of(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or ()
    return "".join(part.text or "" for part in parts)


def _is_of_user(error: BaseException) -> bool:
    """Return whether an error was raised by code that is not the runtime's own."""
    frames = traceback.extract_tb(error.__traceback__)
    root = __file__.partition("testing")[0]
    return bool(frames) and not frames[-1].filename.startswith(root)
