"""An event loop with virtual time whose ready tasks run in an order drawn from a seed.

Nothing in it waits: when no task is ready, the time moves to the next timer. It has no network, no
threads and no subprocesses.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import heapq
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, TypeVar

_T = TypeVar("_T")
PROCESS: contextvars.ContextVar[str] = contextvars.ContextVar("simulated_process", default="")
"""Name of the simulated process to which the current task belongs; '' for the simulation itself."""

_GET, _SET = "_get_running_loop", "_set_running_loop"  # asyncio exports them, for event loops
_LOOP = "_loop"  # of a handle
_LOOPS = (str(Path(asyncio.__file__).parent), __file__)
_RUNTIME = str(Path(__file__).parents[2])
_OUTSIDE = (
    "create_connection create_server create_unix_connection create_unix_server "
    "create_datagram_endpoint subprocess_exec subprocess_shell connect_read_pipe "
    "connect_write_pipe getaddrinfo getnameinfo sock_connect sock_recv sock_sendall sock_accept "
    "add_reader add_writer add_signal_handler"
).split()


class StuckError(Exception):
    """The loop has nothing to run, or took more steps than it may."""


class _Time:
    """The virtual time that loops share, in seconds."""

    now = 0.0


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The event loop of all simulated processes, or that of one of them; see `make_loop`.

    Args:
      chance: decides which of the ready tasks runs next.
      limit: how many steps it may take.

    Attributes:
      steps: how many callbacks it has run: a task from one `await` to the next is one.
      dead: names of processes that are dead; nothing of them runs.
      errors: exceptions of tasks and callbacks that no code awaited.
    """

    def __init__(self, chance: Random, limit: int) -> None:
        self._time = _Time()
        self.steps = 0
        self.dead: set[str] = set()
        self.errors: list[dict[str, Any]] = []
        self._chance, self._limit = chance, limit
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = itertools.count()
        self._owners: dict[asyncio.Handle, str] = {}
        self._of_user: set[asyncio.TimerHandle] = set()
        self._frozen: dict[str, list[asyncio.Handle]] = {}
        self._tasks: list[asyncio.Task[Any]] = []  # else a dead one ends whenever it is collected
        self._thread = threading.get_ident()
        self._closed = False
        self._loops: list[SimulatedLoop] = [self]

    @property
    def now(self) -> float:
        """The virtual time, in seconds."""
        return self._time.now

    def make_loop(self) -> SimulatedLoop:
        """Return a loop of its own for a process: it can be closed, and this one schedules it."""
        made = copy.copy(self)  # they share time, tasks and what is ready
        self._loops.append(made)
        return made

    def close(self) -> None:
        """Run nothing of this loop any more."""
        self._closed = True

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        self._check_closed()
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        self._owners[handle] = context.get(PROCESS, "")
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        if threading.get_ident() != self._thread:
            self.errors.append({"message": "a thread was started; simulations cover none"})
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        self._check_closed()
        context = contextvars.copy_context() if context is None else context
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._owners[timer] = context.get(PROCESS, "")
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        if _is_user_calling():
            self._of_user.add(timer)
        return timer

    def waits_for_user(self) -> bool:
        """Return whether code beside the runtime, such as a tool, waits for a time."""
        return any(
            timer in self._of_user
            and not timer.cancelled()
            and self._owners.get(timer, "") not in self.dead
            and not getattr(timer, _LOOP).is_closed()
            for _, _, timer in self._timers
        )

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: `_advance` skips it."""

    def _check_closed(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")

    def time(self) -> float:
        return self._time.now

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **options: Any,
    ) -> asyncio.Task[Any]:
        options.pop("eager_start", None)  # the scheduler decides when a task begins
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.append(task)
        return task

    def start(self, process: str, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Start a task as a part of a process."""
        context = contextvars.Context()
        context.run(PROCESS.set, process)
        return self.create_task(work, context=context)

    async def run_in_executor(self, executor: Any, func: Callable[..., _T], *args: Any) -> _T:  # type: ignore[override]
        """Run a function in place: a simulation has one thread."""
        await asyncio.sleep(0)
        return func(*args)

    def freeze(self, process: str) -> None:
        """Run nothing of a process until `thaw`, as if its host did not schedule it."""
        self._frozen.setdefault(process, [])

    def thaw(self, process: str) -> None:
        """Let a process continue."""
        self._ready += self._frozen.pop(process, [])

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run until a task of the simulation itself ends; return its result.

        Raises:
          StuckError: the limit of steps is reached, or nothing can ever run.
        """
        with self._run_as_current():
            task = self.start("", work)
            while not task.done():
                self.step()
            return task.result()

    def step(self) -> None:
        """Run one callback; move the time on first if none is ready."""
        if not self._ready:
            self._advance()
        handle = self._take()
        process = self._owners.pop(handle, "")
        loop: SimulatedLoop = getattr(handle, _LOOP)
        if handle.cancelled() or process in self.dead or loop.is_closed():
            return
        if process in self._frozen:
            self._owners[handle] = process
            self._frozen[process].append(handle)
            return
        self.steps += 1
        if self.steps > self._limit:
            raise StuckError(f"it did not end within {self._limit} steps")
        run: Callable[[], None] = getattr(handle, "_run")  # noqa: B009 - what every event loop calls
        if getattr(asyncio, _GET)() is not loop:
            loop._enter()
        run()

    def _take(self) -> asyncio.Handle:
        """Take the first ready callback; among tasks any, for asyncio promises them no order."""
        ready = self._ready
        if len(ready) > 1 and _is_of_task(ready[0]):
            at = int(self._chance.random() * len(ready))
            if _is_of_task(ready[at]):
                return ready.pop(at)
        return ready.pop(0)

    def _advance(self) -> None:
        while self._timers:
            when, _, timer = heapq.heappop(self._timers)
            self._of_user.discard(timer)
            if timer.cancelled() or self._owners.get(timer, "") in self.dead:
                self._owners.pop(timer, None)
                continue
            self._time.now = max(self._time.now, when)
            self._ready.append(timer)
            return
        raise StuckError("nothing is ready, and nothing waits for a time")

    def end(self) -> None:
        """Cancel everything that is left, dead processes included, and close the loop."""
        self.dead.clear()
        for loop in self._loops:
            loop._closed = False
        for process in [*self._frozen]:
            self.thaw(process)
        self._limit = sys.maxsize
        with self._run_as_current():
            for _ in range(30):
                left = [task for task in self._tasks if not task.done()]
                if not left:
                    break
                for task in left:
                    task.cancel()
                count = 0
                while self._ready and count < 2_000:
                    self.step()
                    count += 1
        for task in self._tasks:
            if not task.done():
                setattr(task, "_log_destroy_pending", False)  # noqa: B010 - it is known
                work: Any = task.get_coro()
                if inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
                    work.close()
            elif not task.cancelled():
                task.exception()  # it counts as retrieved
        for loop in self._loops:
            loop.close()
        self._tasks.clear()

    @contextmanager
    def _run_as_current(self) -> Generator[None]:
        hooks = sys.get_asyncgen_hooks()
        before = getattr(asyncio, _GET)()
        self._enter()
        try:
            yield
        finally:
            getattr(asyncio, _SET)(before)
            sys.set_asyncgen_hooks(*hooks)

    def _enter(self) -> None:
        """Let what runs next find this loop; it also closes the generators that begin there."""
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._close_generator)
        getattr(asyncio, _SET)(self)

    def _close_generator(self, generator: Any) -> None:
        if not self._closed and PROCESS.get() not in self.dead:
            self.create_task(generator.aclose())

    def is_running(self) -> bool:
        return not self._closed

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)


def _is_user_calling() -> bool:
    """Return whether the code that called asyncio or this loop is not the runtime's own."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_LOOPS):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(_RUNTIME)


def _is_of_task(handle: asyncio.Handle) -> bool:
    callback: Any = getattr(handle, "_callback", None)
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **named: Any) -> Any:
        raise NotImplementedError(
            f"A simulation has no network, no signals and no processes: {name} was called. Give "
            "the agent a fake of that system, or its tool a function that stands for it."
        )

    return refuse


for _name in _OUTSIDE:
    setattr(SimulatedLoop, _name, _refuse(_name))
