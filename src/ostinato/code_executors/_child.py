"""One run of Python code in a child process with limits; `kill` is thread-safe."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..processes.guarded_process import GuardedProcess


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one run of code.

    Attributes:
      seconds: wall time; None for no bound.
      memory_bytes: address space of each process, on POSIX; None for no bound.
      output_bytes: what is kept of stdout and of stderr; far beyond it the child is killed.
      files: number of output files kept.
      file_bytes: size of an output file that is kept, and on POSIX of any file that is written.
      total_bytes: size of all output files together that are kept; None for no bound but theirs.
    """

    seconds: float | None
    memory_bytes: int | None
    output_bytes: int
    files: int
    file_bytes: int
    total_bytes: int | None = None


_MAIN = Path(__file__).resolve().with_name("_child_main.py")
# A program may print more than is kept; one that prints this many times more is out of hand.
_FAR_OVER = 64


class Endable(Protocol):
    """A process that runs once, and that another thread can end."""

    def run(self) -> int:
        """Run to the end and return the exit status; negative: number of the signal."""
        ...

    def end(self) -> None:
        """End it, from any thread."""
        ...


class Child:
    """A child process that runs code.

    Args:
      limits: what it may use.

    Attributes:
      limits: the same.
      killed_because: why it was killed, or None if it was not.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._process: Endable | None = None
        self._over = False
        self.killed_because: str | None = None

    def run(
        self,
        code: str,
        *,
        work_dir: Path,
        home_dir: Path,
        wrap: Callable[[list[str]], list[str]] | None = None,
    ) -> tuple[int, str, str]:
        """Run the code to its end; once only.

        Args:
          code: Python source.
          work_dir: working directory of the child.
          home_dir: its home and its directory for temporary files.
          wrap: makes of the child's command the one to run; by default it runs unchanged.

        Returns:
          Exit status (negative: number of the signal), stdout and stderr.

        Raises:
          OSError: the child cannot be started.
        """
        captures = [Capture(self), Capture(self)]
        words = [sys.executable, "-I", "-X", "utf8", str(_MAIN), *map(str, self._bounds())]
        process = GuardedProcess(
            words if wrap is None else wrap(words),
            cwd=work_dir,
            home=home_dir,
            stdout=captures[0].add,
            stderr=captures[1].add,
            stdin=code.encode("utf-8", "surrogatepass"),
        )
        status = self.attend(process)
        return status, captures[0].text(), captures[1].text()

    def attend(self, process: Endable) -> int:
        """Run a process to its end, within the time limit; once only.

        Returns:
          What the process returns.
        """
        with self._lock:
            self._process = process
            if self.killed_because is not None:
                process.end()
        seconds = self.limits.seconds
        timer = None
        if seconds is not None:
            timer = threading.Timer(seconds, self.kill, [f"it ran longer than {seconds:g} s"])
            timer.daemon = True
            timer.start()
        try:
            return process.run()
        finally:
            with self._lock:
                self._over = True
            if timer is not None:
                timer.cancel()

    def kill(self, reason: str) -> None:
        """End the child and all processes it started; the first reason counts."""
        with self._lock:
            if self._over:
                return
            self.killed_because = self.killed_because or reason
            if self._process is not None:
                self._process.end()

    def _bounds(self) -> tuple[int, int, int]:
        """Return the child's own limits: CPU seconds, bytes of memory and of a file; 0 for none."""
        limits = self.limits
        return (
            0 if limits.seconds is None else math.ceil(limits.seconds) + 1,
            limits.memory_bytes or 0,
            # One more, so that a file that was cut off is seen to be over the limit.
            limits.file_bytes + 1,
        )


class Capture:
    """Keeps the beginning and the end of what a child prints, and ends one that prints too much."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._limit = child.limits.output_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, piece: bytes) -> None:
        """Add the next piece of output."""
        half = self._limit // 2
        self._total += len(piece)
        room = half - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        if len(self._tail) > self._limit - half:
            del self._tail[: len(self._tail) - (self._limit - half)]
        if self._total > _FAR_OVER * self._limit:
            self._child.kill(f"it printed more than {_FAR_OVER * self._limit} bytes")

    def text(self) -> str:
        """Return the kept output, with a note in place of omitted bytes."""
        head, tail = bytes(self._head), bytes(self._tail)
        missing = self._total - len(head) - len(tail)
        if missing <= 0:
            return (head + tail).decode("utf-8", "replace")
        note = f"\n[... {missing} bytes left out ...]\n"
        return head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")
