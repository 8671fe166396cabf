"""Async runs of guarded processes, with a time limit and bounded output."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .guarded_process import GuardedProcess

_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CapturedRun:
    """How a command ended.

    Attributes:
      status: its exit status; negative: number of the signal that ended it.
      stdout, stderr: its output, with a note if the end is cut off.
      is_timed_out: True if it was ended because it took too long.
    """

    status: int
    stdout: str
    stderr: str
    is_timed_out: bool


async def run_captured(
    words: Sequence[str],
    *,
    cwd: Path,
    home: Path,
    seconds: float | None,
    output_bytes: int,
    limits: Mapping[str, int] | None = None,
    environment: Mapping[str, str] | None = None,
    errors: str = "replace",
) -> CapturedRun:
    """Run a program with its arguments to its end.

    What it leaves running is ended with it, also if the caller is cancelled.

    Args:
      words: the program and its arguments; at least one.
      cwd: directory to start in.
      home: its home, and its directory for temporary files.
      seconds: wall time; None for no bound.
      output_bytes: what is kept of stdout and of stderr, each.
      limits: resource limits by name, as for GuardedProcess.
      environment: its whole environment; a clean one by default.
      errors: how to decode output that is not UTF-8, as for `bytes.decode`.

    Raises:
      OSError: it cannot be started.
    """
    outputs = [_Output(output_bytes), _Output(output_bytes)]
    process = GuardedProcess(
        words,
        cwd=cwd,
        home=home,
        stdout=outputs[0].add,
        stderr=outputs[1].add,
        limits=limits,
        environment=environment,
    )
    ended = _run_in_thread(process)
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            await asyncio.shield(ended)
    except TimeoutError:
        pass  # reported below as is_timed_out
    except asyncio.CancelledError:
        process.end()
        await asyncio.wait([ended], timeout=_GRACE_SECONDS)
        raise
    process.end()
    status = await ended
    return CapturedRun(status, outputs[0].text(errors), outputs[1].text(errors), scope.expired())


def _run_in_thread(process: GuardedProcess) -> asyncio.Future[int]:
    """Run a process in a separate thread, so that long commands do not block a thread pool."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def settle(status: int, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(status)
        else:
            ended.set_exception(error)

    def run() -> None:
        status, error = -9, None
        try:
            status = process.run()
        except BaseException as raised:  # boundary: the caller gets it
            error = raised
        try:
            loop.call_soon_threadsafe(settle, status, error)
        except RuntimeError:
            return  # the loop is closed, so there is no waiter

    # Retrieve the exception, so that asyncio does not warn if the caller was cancelled.
    ended.add_done_callback(lambda done: done.cancelled() or done.exception())
    threading.Thread(target=run, daemon=True).start()
    return ended


class _Output:
    """Keeps the beginning of what a process prints, and counts the rest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._total = 0

    def add(self, piece: bytes) -> None:
        """Add the next piece of output."""
        self._total += len(piece)
        self._kept += piece[: max(0, self._limit - len(self._kept))]

    def text(self, errors: str) -> str:
        text = self._kept.decode("utf-8", errors)
        missing = self._total - len(self._kept)
        return f"{text}\n[... {missing} bytes left out ...]\n" if missing else text
