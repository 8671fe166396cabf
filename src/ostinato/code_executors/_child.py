"""One run of Python code in a child process of its own: started, watched, cut off, cleaned up.

The local executor makes one per run; `kill` may be called from any thread.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from ._limits import Limits

_MAIN = Path(__file__).with_name("_child_main.py")
_PIECE = 65_536
# A program may print more than is kept; one that prints this many times more is out of hand.
_FAR_OVER = 64


class Child:
    """A child process that runs code.

    Args:
      limits: what it may use.

    Attributes:
      limits: the same.
      killed_because: why we ended it; None where we did not.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False
        self.killed_because: str | None = None

    def run(self, code: str, *, work_dir: Path, home_dir: Path) -> tuple[int, str, str]:
        """Run the code to its end; once only.

        Args:
          code: Python source.
          work_dir: working directory of the child.
          home_dir: its home and its directory for temporary files.

        Returns:
          Exit status (negative: number of the signal), stdout and stderr.

        Raises:
          OSError: the child cannot be started.
        """
        process = self._start(work_dir, home_dir)
        if process is None:
            return -9, "", ""
        assert process.stdin and process.stdout and process.stderr  # they are pipes
        captures = [Capture(process.stdout, self), Capture(process.stderr, self)]
        seconds = self.limits.seconds
        timer = None
        if seconds is not None:
            timer = threading.Timer(seconds, self.kill, [f"it ran longer than {seconds:g} s"])
            timer.daemon = True
            timer.start()
        try:
            _feed(process.stdin, code)
            status = process.wait()
        finally:
            if timer is not None:
                timer.cancel()
            self._end()
        for capture in captures:
            capture.finish()
        return status, captures[0].text(), captures[1].text()

    def kill(self, reason: str) -> None:
        """End the child and all processes it started; the first reason counts."""
        with self._lock:
            if self._over:
                return
            self.killed_because = self.killed_because or reason
            if self._process is not None:
                _kill_group(self._process)

    def _start(self, work_dir: Path, home_dir: Path) -> subprocess.Popen[bytes] | None:
        """Start the process; None where it was killed before it began."""
        limits = self.limits
        bounds = (
            0 if limits.seconds is None else math.ceil(limits.seconds) + 1,
            limits.memory_bytes or 0,
            # One more, so that a file that was cut off is seen to be over the limit.
            limits.file_bytes + 1,
        )
        with self._lock:
            if self.killed_because is not None:
                return None
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", str(_MAIN), *map(str, bounds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=work_dir,
                env=_environment(home_dir),
                start_new_session=True,
            )
            return self._process

    def _end(self) -> None:
        """Kill what the child left behind; from here on its process group may be another's."""
        with self._lock:
            if self._process is not None and not self._over:
                _kill_group(self._process)
                self._process.wait()
            self._over = True


class Capture:
    """Keeps the beginning and the end of what a child prints, read by a thread of its own."""

    def __init__(self, stream: IO[bytes], child: Child) -> None:
        self._stream = stream
        self._child = child
        self._limit = child.limits.output_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for the rest, shortly: a process that left the group may hold the stream open."""
        self._thread.join(timeout=1.0)
        if not self._thread.is_alive():
            self._stream.close()

    def text(self) -> str:
        """Return what was kept, with a note where something was left out."""
        head, tail = bytes(self._head), bytes(self._tail)
        missing = self._total - len(head) - len(tail)
        if missing <= 0:
            return (head + tail).decode("utf-8", "replace")
        note = f"\n[... {missing} bytes left out ...]\n"
        return head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")

    def _read(self) -> None:
        half = self._limit // 2
        while piece := os.read(self._stream.fileno(), _PIECE):
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


def _feed(stream: IO[bytes], code: str) -> None:
    """Hand the code to the child, which reads all of it before it does anything."""
    try:
        with stream:
            stream.write(code.encode("utf-8", "surrogatepass"))
    except (BrokenPipeError, ConnectionResetError):
        return  # It was killed meanwhile; its exit status tells.


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # Nothing is left of it; macOS says so by the second.


def _environment(home_dir: Path) -> dict[str, str]:
    """Return the child's whole environment: nothing of ours, above all no keys."""
    home = str(home_dir)
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home}
    if sys.platform == "win32":
        environment |= {"SYSTEMROOT": r"C:\Windows", "TEMP": home, "TMP": home}
    return environment
