"""A simulated process: a runner over the shared store, which renews leases and resumes runs.

`instrument` lets the runtime of all processes pass through the simulation: models are exchanged,
tools are watched and fail as the plan says, and time and chance are the simulation's.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import random
import weakref
from collections.abc import Callable, Coroutine, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from ... import _clock, runners, types
from ...agents.llm_agent import LlmAgent
from ...agents.run_config import RunConfig
from ...apps.app import App
from ...context.invocation import InvocationContext
from ...durable import lease
from ...durable.lease import LeaseKeeper, keeper_of
from ...durable.session_locks import SessionLocks
from ...errors import StoreError
from ...execution import invocation_runner, step, turns
from ...execution.recovery import blockers, detached_tasks, recovery
from ...execution.turns import Turns
from ...flows.llm_flows import functions
from ...models.llm_request import LlmRequest
from ...runners import Runner
from ...sessions.store.durable_store import Place
from ...tools.function.worker_pool import WorkerPool
from ...tools.function_tool import FunctionTool
from ...workflow import tool_node
from ..key_reading import watch_key_readings
from ..started_work import StartedWork
from .event_loop import PROCESS, SimulatedLoop
from .models import SimulatedModel, make_model
from .plan import stream_of
from .shared_store import ProcessDiedError, SimulatedStore, StoreHistory

_START = 1_767_225_600.0  # the wall clock at the start of a simulation: 2026-01-01 00:00 UTC
_RECOVERY = 30.0  # seconds after a fault in which a process may still lose a lease by it
_POLL = 3.0  # seconds between two looks for abandoned work
_TOOL_DELAY, _TOOL_HANGS = 0.5, 40.0  # seconds that a tool takes at most; when it seems to hang
# Where agents and graphs call a tool; private there.
_RUN_BODY, _RUN_CALL, _CALL = "_run_body", "_run_call", "_call"
# Modules that know what is locked and what runs in this process.
_LOCKING = (invocation_runner, turns, recovery, detached_tasks)
_TAKING_TURNS = (runners, invocation_runner, turns, recovery)


class SimulatedToolError(RuntimeError):
    """A tool failed because the plan says so."""


@dataclass(slots=True)
class Effect:
    """One run of a tool's body.

    Attributes:
      tool: name of the tool.
      call_id: id of the call.
      session_id: the session.
      process: name of the process.
      time: when it began, in virtual seconds.
      app_name, user_id: the rest of the session's name.
      is_late: whether its process had lost the session by then, without knowing.
      entered: whether the tool's body began; a simulated error comes before it.
      read_key: whether the tool's body read its idempotency key.
      finished: whether the body ended without an error.
      needs_approval: whether the tool always asks for an approval.
      repeatable: whether to repeat it is harmless.
      in_doubt: what the tool wants done with a call whose outcome is unknown.
      node_of: the invocation whose workflow node called the tool; '' for the call of an agent.
    """

    tool: str
    call_id: str
    session_id: str
    process: str
    time: float
    app_name: str = ""
    user_id: str = ""
    is_late: bool = False
    entered: bool = False
    read_key: bool = False
    finished: bool = False
    needs_approval: bool = False
    node_of: str = ""
    repeatable: bool = False
    in_doubt: str = ""


class World:
    """What all processes of one run share.

    Args:
      seed: the seed.
      limit: how many steps the run may take.
      model: as for `simulate`.

    Attributes:
      loop: the event loop.
      history: what was committed.
      store: the store itself.
      processes: by name, also dead ones.
      effects: each run of a tool's body, in order.
      delegates: modes of called agents, by the names of the caller and the agent.
      notes: what the simulation does not cover of what tools did.
      skew: seconds by which the wall clocks have jumped.
    """

    def __init__(self, seed: int, limit: int, model: Any) -> None:
        self.loop = SimulatedLoop(stream_of(seed, "schedule"), limit)
        self.history = StoreHistory()
        self.store = SimulatedStore(self.history, stream_of(seed, "store"))
        self.processes: dict[str, SimulatedProcess] = {}
        self.effects: list[Effect] = []
        self.delegates: dict[tuple[str, str], str | None] = {}
        self.notes: dict[str, None] = {}
        self.skew = 0.0
        self.history.is_healthy = self._is_healthy
        self.seed, self._model = seed, model
        self._models = stream_of(seed, "models")
        self._tools = stream_of(seed, "tools")

    def _is_healthy(self, owner: str) -> bool:
        """Return whether an owner's process lives, and no fault has touched it lately."""
        process = self.processes.get(owner.split("|")[1]) if "|" in owner else None
        if process is None or process.view.is_dead or process.view.lost:
            return False
        return self.loop.now - process.disturbed >= _RECOVERY

    def wall_time(self) -> float:
        """Return the seconds since 1970."""
        return _START + self.loop.now + self.skew

    @property
    def process(self) -> SimulatedProcess | None:
        """The process of the current task."""
        return self.processes.get(PROCESS.get())

    def take_fault(self, kind: str) -> str:
        """Take the next fault that waits for a model or a tool of the current process."""
        process = self.process
        waiting = [] if process is None else process.faults
        for fault in waiting:
            if fault.startswith(kind):
                waiting.remove(fault)
                return fault
        return ""

    def model_of(self, agent: LlmAgent, own: Callable[[], Any]) -> SimulatedModel:
        """Return the model that an agent has in the simulation."""
        for name, other in (agent.delegates or {}).items():
            self.delegates[agent.name, name] = other.mode
        inner = make_model(self._model, agent.name, own, self._models)
        return SimulatedModel(
            inner,
            lambda: self.take_fault("model"),
            self._models,
            self._check_request,
            self.history.report,
        )

    def note_start(self, effect: Effect, what: str) -> None:
        """Note that a tool starts a thread or a process."""
        self.notes[f"{effect.tool} starts {what}: a simulation covers nothing that it does"] = None

    def _check_request(self, request: LlmRequest) -> None:
        """Check that what a model reads is well-formed: each call has one response after it."""
        called: list[str] = []
        for content in (*request.contents, types.Content()):
            parts = content.parts or ()
            given = [p.function_response.name or "" for p in parts if p.function_response]
            if sorted(given) != sorted(called):
                self.history.report(f"request: the calls {called} have the responses {given}")
            called = [p.function_call.name or "" for p in parts if p.function_call]

    async def run_tool(self, effect: Effect) -> None:
        """Take the time of a tool before its effect, and fail as the plan says."""
        fault = self.take_fault("tool")
        await asyncio.sleep(self._tools.random() * _TOOL_DELAY)
        process = self.process
        if process is not None and process.view.is_dead:
            raise ProcessDiedError
        if fault == "tool_timeout":
            await asyncio.sleep(_TOOL_HANGS)
            raise TimeoutError("The tool's system did not answer (simulated).")
        # A former owner may run it late: it cannot know, and the tool's key is for that.
        place = Place(effect.app_name, effect.user_id, effect.session_id)
        effect.is_late = f"|{effect.process}|" not in self.history.owner_of(place)
        over = self.history.is_over(effect.call_id) and not effect.repeatable
        if over and not effect.is_late:
            raise self.history.report(f"repeated: {effect.tool} ran although its result is stored")
        self.effects.append(effect)
        self.history.note(f"{self.loop.now:.6f} {effect.process} begins {effect.tool}")
        if fault == "tool_error":
            raise SimulatedToolError(f"Tool {effect.tool!r} failed (simulated).")
        effect.entered = True

    async def end_tool(self, effect: Effect) -> None:
        """Take the time after the effect: a process may die here, too."""
        await asyncio.sleep(self._tools.random() * _TOOL_DELAY)
        effect.finished = True


class SimulatedProcess:
    """A process of the simulation.

    Args:
      world: what it shares with the others.
      number: its place; a process that replaces a dead one has the same.
      make_app: returns its app.
      lease_seconds: length of a lease.
      run_config: settings of its runs.
      max_attempts: as for Runner.
      has_loop: whether it has an event loop of its own, which can be closed.

    Attributes:
      name: unique name.
      loop: its event loop.
      view: the store as it reaches it.
      runner: its runner.
      disturbed: when the last fault of its store, its clock or its host ended.
      faults: what its next model calls and tools do wrong.
    """

    def __init__(
        self,
        world: World,
        number: int,
        make_app: Callable[[], App],
        lease_seconds: float,
        run_config: RunConfig,
        max_attempts: int,
        has_loop: bool,
    ) -> None:
        born = sum(one.number == number for one in world.processes.values())
        self.number, self.name = number, f"process-{number}.{born}"
        self.world, self.run_config = world, run_config
        self.faults: list[str] = []
        self.disturbed = -_RECOVERY
        chance = stream_of(world.seed, self.name)
        self.view = SimulatedStore(world.history, chance, world.store)
        # Of another host: a death is noticed when the lease expires, unless `is_seen`.
        self.identity = f"simulated|{self.name}|0|1"
        self.is_seen = chance.random() < 0.5
        with patch.object(lease, "process_identity", lambda: self.identity):
            self.keeper: LeaseKeeper = keeper_of(self.view, lease_seconds)
        self.runner = Runner(
            app=make_app(),
            session_service=self.view,
            lease_seconds=lease_seconds,
            max_attempts=max_attempts,
        )
        world.processes[self.name] = self
        self.loop = world.loop.make_loop() if has_loop else world.loop
        self._begin()

    def _begin(self) -> None:
        self.start(self._renew())
        self.start(self._resume())

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task in its event loop."""
        return self.loop.start(self.name, work)

    def close_loop(self) -> None:
        """Close its event loop in the middle of everything, and continue in another one.

        A program does that which calls `asyncio.run` twice.
        """
        self.loop.close()
        self.loop = self.world.loop.make_loop()
        self._begin()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.keeper.pause)
            await self.keeper.serve()

    async def _resume(self) -> None:
        while True:
            try:
                await self.runner.resume_open(run_config=self.run_config)
            except StoreError:
                pass
            await asyncio.sleep(_POLL)

    def die(self) -> None:
        """Die: nothing of it runs any more, and it commits nothing."""
        self.view.is_dead = True
        self.world.loop.dead.add(self.name)


@contextmanager
def instrument(world: World) -> Generator[None]:
    """Let the runtime use the world's time, chance, models and tools until the block ends."""
    ids = stream_of(world.seed, "ids")

    def is_dead(identity: str) -> bool:
        name = identity.split("|")[1] if identity.startswith("simulated|") else ""
        process = world.processes.get(name)
        return process is not None and process.view.is_dead and process.is_seen

    with ExitStack() as stack:
        stack.enter_context(
            _clock.replace_sources(time=world.wall_time, ids=lambda: _make_id(ids.getrandbits(128)))
        )
        seams: list[tuple[Any, str, Any]] = [
            (blockers, "is_dead", is_dead),
            (LeaseKeeper, "_start_thread", _start_nothing),
            (lease, "_numbers", itertools.count(1)),
            (lease, "_now", world.loop.time),
            (lease, "_keepers", weakref.WeakKeyDictionary()),
            (lease, "_CHANCE", stream_of(world.seed, "lease")),
            (step, "_now", world.loop.time),
            (WorkerPool, "run", _run_inline),
        ]
        # Else what a run leaves held would stay, and be found held by a later one.
        locks, running = SessionLocks(), Turns()
        seams += [(module, "SESSION_LOCKS", locks) for module in _LOCKING]
        seams += [(module, "TURNS", running) for module in _TAKING_TURNS]
        for target, name, value in seams:
            stack.enter_context(patch.object(target, name, value))
        state = random.getstate()
        random.seed(f"{world.seed}/program")
        stack.callback(random.setstate, state)
        stack.enter_context(_watch_agents(world))
        yield


def _start_nothing(keeper: LeaseKeeper) -> None:
    """Start no thread: the process renews its leases in the loop."""


async def _run_inline(pool: WorkerPool, call: Callable[[], Any], **options: Any) -> Any:
    """Run a plain function in place, whatever settings a run has: those of a host's action, too."""
    await asyncio.sleep(0)
    return contextvars.copy_context().run(call)


def _make_id(number: int) -> str:
    h = f"{number:032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-8{h[17:20]}-{h[20:]}"


_Running = dict[asyncio.Task[Any] | None, tuple[Any, Effect]]


def _find_running(running: _Running) -> tuple[Any, Effect | None]:
    """Return the tool run of the current task with its effect, or nothing of both."""
    try:
        return running.get(asyncio.current_task(), (None, None))
    except RuntimeError:  # in a thread that a tool has started
        return None, None


@contextmanager
def _replace_running(running: _Running, item: tuple[Any, Effect]) -> Generator[None]:
    """Let a tool run be that of the current task until the block ends."""
    task = asyncio.current_task()
    before = running.get(task)
    running[task] = item
    try:
        yield
    finally:
        if before is None:
            running.pop(task, None)
        else:
            running[task] = before


@contextmanager
def _watch_agents(world: World) -> Generator[None]:
    call_function = getattr(FunctionTool, _CALL)
    begin_call = InvocationContext.begin_call
    own_model = LlmAgent.canonical_model.fget
    assert own_model is not None
    running: _Running = {}

    def find_effect() -> Effect | None:
        return _find_running(running)[1]

    started = StartedWork(find_effect, world.note_start)

    def find_model(agent: LlmAgent) -> SimulatedModel:
        return world.model_of(agent, lambda: own_model(agent))

    def note_key(call_id: str) -> None:
        for effect in reversed(world.effects):
            if effect.call_id == call_id and effect.process == PROCESS.get():
                effect.read_key = True
                break

    def watch(run_body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def watch_body(run: Any) -> Any:
            with _replace_running(running, (run, _make_effect(world, run))):
                return await run_body(run)

        return watch_body

    async def watch_begin(ctx: InvocationContext, call_id: str | None, tool_name: str) -> None:
        await begin_call(ctx, call_id, tool_name)
        run, effect = _find_running(running)
        other = run is not None and not isinstance(run.tool, FunctionTool)
        if effect is not None and other and effect.call_id == call_id:
            await world.run_tool(effect)

    async def watch_call(tool: FunctionTool, values: dict[str, Any], ctx: Any) -> Any:
        effect = find_effect()
        if effect is None:
            return await call_function(tool, values, ctx)
        await world.run_tool(effect)
        with started.watch_body(effect):
            result = await call_function(tool, values, ctx)
        await world.end_tool(effect)
        return result

    with (
        patch.object(functions, _RUN_BODY, watch(getattr(functions, _RUN_BODY))),
        patch.object(tool_node, _RUN_CALL, watch(getattr(tool_node, _RUN_CALL))),
        patch.object(FunctionTool, _CALL, watch_call),
        patch.object(InvocationContext, "begin_call", watch_begin),
        patch.object(LlmAgent, "canonical_model", property(find_model)),
        watch_key_readings(note_key, PROCESS.get),
        started.watch(),
    ):
        yield


def _make_effect(world: World, run: Any) -> Effect:
    tool = run.tool
    return Effect(
        tool.name,
        run.call.id or "",
        run.ctx.session.id,
        PROCESS.get(),
        world.loop.now,
        run.ctx.session.app_name,
        run.ctx.session.user_id,
        needs_approval=getattr(tool, "_require_confirmation", False) is True,
        repeatable=bool(getattr(tool, "repeatable", False)),
        in_doubt=str(getattr(tool, "in_doubt", "")),
        node_of=run.ctx.invocation_id if isinstance(run, tool_node.NodeCall) else "",
    )
