"""A child process that ends together with everything it started.

ExecuteBashTool, LocalEnvironment and the local code executor run theirs here. On POSIX a guard
stands between this process and the command; see `guard_main`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from .. import _clock

_GUARD = Path(__file__).with_name("guard_main.py")
_PIECE = 65_536
# After the guard's own bound; then the guard itself is stopped.
_LONGEST_END_SECONDS = 15.0
# Output that is left in a pipe arrives at once; more time only helps a process that got away.
_DRAIN_SECONDS = 1.0

# In the environment of a guard and of all that it starts, to find them if the guard is killed.
_MARK = "OSTINATO_PROCESS"
_SEARCHES, _PAUSE_SECONDS = 1_000, 0.005
# Searches in a row that must find no process: one may fork past a single search.
_EMPTY_SEARCHES = 3
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD of linux/sched.h

Sink = Callable[[bytes], None]


def clean_environment(home: Path) -> dict[str, str]:
    """Return a whole environment without anything of this process, above all without keys.

    Args:
      home: home of the process, and its directory for temporary files.
    """
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(home), "TMPDIR": str(home)}
    if sys.platform == "win32":
        environment |= {"SYSTEMROOT": r"C:\Windows", "TEMP": str(home), "TMP": str(home)}
    return environment


class GuardedProcess:
    """One command with its arguments, run once.

    Args:
      words: the command and its arguments.
      cwd: directory in which it starts.
      home: its home, and its directory for temporary files.
      stdout, stderr: get what it prints, piece by piece, each in a thread of its own.
      stdin: what it reads.
      limits: resource limits by name, such as `RLIMIT_AS`; ignored on Windows.
      environment: its whole environment; a clean one by default.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        home: Path,
        stdout: Sink,
        stderr: Sink,
        stdin: bytes = b"",
        limits: Mapping[str, int] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._words = list(words)
        self._cwd = cwd
        self._environment = clean_environment(home) if environment is None else environment
        self._sinks = (stdout, stderr)
        self._stdin = stdin
        self._limits = dict(limits or {})
        self._mark = _clock.unique_id()
        self._started_at = 0.0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._watch: threading.Timer | None = None
        self._is_ending = False

    def run(self) -> int:
        """Run the command to its end, and end whatever it left running.

        Returns:
          Its exit status; negative: number of the signal that ended it.

        Raises:
          OSError: it cannot be started.
        """
        process = self._start_process()
        if process is None:
            return -9
        assert process.stdin and process.stdout and process.stderr  # they are pipes
        readers = [
            _Reader(stream, sink)
            for stream, sink in zip((process.stdout, process.stderr), self._sinks, strict=True)
        ]
        try:
            _write_input(process.stdin, self._stdin)
            status = process.wait()
        finally:
            try:
                outcome = self._finish_process(process)
                if "status" not in outcome:  # the guard was killed
                    if "pid" in outcome:
                        _end_group(outcome["pid"])
                    _end_marked(self._mark, self._started_at)
            finally:
                for reader in readers:
                    reader.finish()
        if outcome.get("errno"):
            raise OSError(outcome["errno"], os.strerror(outcome["errno"]))
        told = outcome.get("status")
        return told if told is not None else status

    def end(self) -> None:
        """End the command and everything it started; from any thread, at any time."""
        with self._lock:
            if self._is_ending:
                return
            self._is_ending = True
            if self._process is None or self._process.returncode is not None:
                return
            if self._control is None:
                self._process.kill()
                return
            self._control.shutdown(socket.SHUT_WR)
            if sys.platform != "win32":
                self._process.send_signal(signal.SIGCONT)  # a command may stop its guard
            self._watch = threading.Timer(_LONGEST_END_SECONDS, self._process.kill)
            self._watch.daemon = True
            self._watch.start()

    def _start_process(self) -> subprocess.Popen[bytes] | None:
        """Start the process; None if it was ended before it began."""
        with self._lock:
            if self._is_ending:
                return None
            if sys.platform == "win32":
                self._process = self._open_process(self._words)
                return self._process
            if sys.platform == "linux":
                self._started_at = time.clock_gettime(time.CLOCK_BOOTTIME)
            self._control, theirs = socket.socketpair()
            with theirs:
                line = theirs.fileno()
                guard = [sys.executable, "-I", "-S", str(_GUARD), str(line)]
                words = [*guard, json.dumps(self._limits), *self._words]
                try:
                    self._process = self._open_process(words, (line,))
                except OSError:
                    self._control.close()
                    raise
            return self._process

    def _open_process(
        self, words: list[str], inherited: tuple[int, ...] = ()
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._cwd,
            env={**self._environment, _MARK: self._mark},
            pass_fds=inherited,
            start_new_session=bool(inherited),
        )

    def _finish_process(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Close the control line; return the guard's messages, empty if it sent none."""
        self.end()  # has an effect only if waiting was interrupted
        process.wait()
        with self._lock:
            if self._watch is not None:
                self._watch.cancel()
            if self._control is None:
                return {}
            with self._control:
                self._control.setblocking(False)
                try:
                    told = self._control.recv(4096)
                except OSError:  # killed before it sent anything
                    return {}
        found: dict[str, Any] = {}
        for line in told.splitlines():
            found |= json.loads(line)
        return found


class _Reader:
    """A thread that reads a stream until its end, or until `finish` is called."""

    def __init__(self, stream: IO[bytes], sink: Sink) -> None:
        self._stream, self._sink = stream, sink
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._read_stream, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait shortly for the rest, then close the stream even if another process holds it."""
        self._thread.join(timeout=_DRAIN_SECONDS)
        self._stop.close()
        if sys.platform == "win32" and self._thread.is_alive():
            return  # nothing wakes a read of a pipe there; it ends with the pipe
        self._thread.join()
        self._stopped.close()
        self._stream.close()

    def _read_stream(self) -> None:
        descriptor = self._stream.fileno()
        while self._is_readable(descriptor) and (piece := os.read(descriptor, _PIECE)):
            self._sink(piece)

    def _is_readable(self, descriptor: int) -> bool:
        """Wait until there is something to read; return False once `finish` was called."""
        if sys.platform == "win32":
            return True
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        waiting.register(self._stopped, select.POLLIN)
        return self._stopped.fileno() not in {ready for ready, _ in waiting.poll()}


def _end_group(pid: int) -> None:
    """End the processes of a group whose guard cannot."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _end_marked(mark: str, started_at: float) -> None:
    """End the processes on Linux whose environment holds a mark, until no search finds one.

    Args:
      mark: value of the mark.
      started_at: when the first of them started, in seconds since boot.
    """
    if sys.platform != "linux":
        return
    entry = f"{_MARK}={mark}".encode()
    empty = 0
    for _ in range(_SEARCHES):
        environments = {pid: _environment_of(pid) for pid in _process_ids()}
        found = [pid for pid, entries in environments.items() if entry in entries]
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        starting = any(
            entries == [b""] and _is_starting_program(pid, started_at)
            for pid, entries in environments.items()
        )
        empty = 0 if found or starting else empty + 1
        if empty == _EMPTY_SEARCHES:
            return
        time.sleep(_PAUSE_SECONDS)


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:  # no /proc
        return []


def _environment_of(pid: int) -> list[bytes]:
    """Return the entries of the environment that a process was started with."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is another user's
        return []


def _is_starting_program(pid: int, since: float) -> bool:
    """Return whether a process is in the middle of `exec`, where its environment reads as empty.

    Args:
      pid: a process whose environment is empty.
      since: seconds since boot; processes that are older do not count.
    """
    try:
        if Path(f"/proc/{pid}/cmdline").read_bytes():
            return False  # a program that cleared its environment
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return False
    # Fields 3, 9 and 22 of stat, see proc(5); the last counts clock ticks since boot.
    state, flags, start = fields[0], int(fields[6]), int(fields[19])
    if state in "ZX" or flags & _KERNEL_THREAD:
        return False
    return start >= int(since * os.sysconf("SC_CLK_TCK"))


def _write_input(stream: IO[bytes], data: bytes) -> None:
    try:
        with stream:
            stream.write(data)
    except (BrokenPipeError, ConnectionResetError):
        return  # it ended before it read all
