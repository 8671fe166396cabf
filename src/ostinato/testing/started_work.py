"""Threads and processes that tools start: a trial does not cover what these do after a death."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import multiprocessing.process
import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

_PROCESS_EVENTS = (
    "subprocess.Popen",
    "os.system",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.exec",
)
# Python 3.11 has no audit event for a thread, and a process may be started without one.
_STARTS = (
    (threading.Thread, "start", "a thread"),
    (sys.modules["_thread"], "start_new_thread", "a thread"),
    (concurrent.futures.ThreadPoolExecutor, "submit", "a thread"),
    (multiprocessing.process.BaseProcess, "start", "a process"),
)
_IN_EXECUTOR = "run_in_executor"
_BETWEEN = (
    threading.__file__,
    str(Path(concurrent.futures.__file__).parent),
    str(Path(multiprocessing.process.__file__).parent),
    __file__,
)
_ASYNCIO, _RUNTIME = str(Path(asyncio.__file__).parent), str(Path(__file__).parents[1])


class StartedWork:
    """Notes which tools start threads or processes, or leave work in an executor.

    The threads of the runtime, and those in which a tool awaits work, are no finding.

    Args:
      find_run: returns the run of a tool to which the current code belongs, or None.
      note: called with the run and what it started.
    """

    def __init__(self, find_run: Callable[[], Any], note: Callable[[Any, str], None]) -> None:
        self._find_run, self._note = find_run, note
        self._process = os.getpid()  # what a fork starts is told as the fork
        self._active: list[Any] = []
        self._handed: list[tuple[Any, asyncio.Future[Any]]] = []  # to executors

    @contextmanager
    def watch(self) -> Generator[None]:
        """Watch this process until the block ends."""
        _install_audit()
        run_in_executor = getattr(asyncio.BaseEventLoop, _IN_EXECUTOR)

        def hand_over(loop: Any, *args: Any) -> Any:
            future = run_in_executor(loop, *args)
            run = self._find_run()
            if run is not None:
                self._handed.append((run, future))
            return future

        with ExitStack() as stack:
            stack.enter_context(patch.object(asyncio.BaseEventLoop, _IN_EXECUTOR, hand_over))
            for owner, name, what in _STARTS:
                watched = self._watch_start(getattr(owner, name), what)
                stack.enter_context(patch.object(owner, name, watched))
            _WATCHING.append(self)
            stack.callback(_WATCHING.remove, self)
            yield

    @contextmanager
    def watch_body(self, run: Any) -> Generator[None]:
        """Watch a tool's body until the block ends."""
        self._active.append(run)
        try:
            yield
        finally:
            self._active = [one for one in self._active if one is not run]
            if any(one is run and not future.done() for one, future in self._handed):
                self._note(run, "a thread")
            self._handed = [item for item in self._handed if item[0] is not run]

    def note_process(self) -> None:
        """Note a process for the tool that started it; for each one that runs, if unknown."""
        run = self._find_run()
        for one in self._list_active():
            if run is None or one is run:
                self._note(one, "a process")

    def _list_active(self) -> list[Any]:
        return [*self._active] if os.getpid() == self._process else []

    def _watch_start(self, start: Callable[..., Any], what: str) -> Callable[..., Any]:
        def start_and_note(*args: Any, **kwargs: Any) -> Any:
            run = self._find_run()
            if any(one is run for one in self._list_active()) and _is_tool_calling():
                self._note(run, what)
            return start(*args, **kwargs)

        return start_and_note


def _is_tool_calling() -> bool:
    """Return whether neither the runtime nor the event loop's executor starts a thread."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith((_ASYNCIO, _RUNTIME))


_WATCHING: list[StartedWork] = []
_INSTALLED: list[bool] = []


def _install_audit() -> None:
    if not _INSTALLED:  # an audit hook cannot be removed
        _INSTALLED.append(True)
        sys.addaudithook(_on_audit)


def _on_audit(event: str, args: tuple[Any, ...]) -> None:
    if _WATCHING and event in _PROCESS_EVENTS:
        for one in [*_WATCHING]:
            one.note_process()
