"""One command in a process of its own: started, bounded, read, ended with all it started.

ExecuteBashTool runs its commands here.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LIMITED = Path(__file__).with_name("_command_main.py")
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one command may use; None for no bound.

    Attributes:
      seconds: wall time.
      output_bytes: what is kept of stdout and of stderr, each.
      memory_bytes: address space of each process, on POSIX.
      file_bytes: size of any file that is written, on POSIX.
      processes: processes that the user may have, on POSIX.
    """

    seconds: float | None
    output_bytes: int
    memory_bytes: int | None = None
    file_bytes: int | None = None
    processes: int | None = None


async def run_command(words: list[str], *, workspace: Path, bounds: Bounds) -> dict[str, Any]:
    """Run a program with its arguments to its end.

    Args:
      words: the program and its arguments; at least one.
      workspace: directory to start in; also its home.
      bounds: what it may use.

    Returns:
      `stdout`, `stderr`, `returncode`; with `error` where it could not be started or took too long.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *_limited(bounds),
            *words,
            cwd=workspace,
            env=_environment(workspace),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return {"error": f"{words[0]} could not be started: {error.strerror}."}
    assert process.stdout and process.stderr  # they are pipes
    outputs = [_Output(bounds.output_bytes), _Output(bounds.output_bytes)]
    readers = asyncio.gather(
        outputs[0].read(process.stdout), outputs[1].read(process.stderr), process.wait()
    )
    scope = asyncio.timeout(bounds.seconds)
    try:
        async with scope:
            await asyncio.shield(readers)
    except TimeoutError:
        pass  # told below
    finally:
        _kill_group(process.pid)
    await readers
    result: dict[str, Any] = {
        "stdout": outputs[0].text(),
        "stderr": outputs[1].text(),
        "returncode": process.returncode,
    }
    if scope.expired():
        result["error"] = f"Command timed out after {bounds.seconds} seconds."
    return result


class _Output:
    """Keeps the beginning of what a process prints, and reads on so that it is never blocked."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._total = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(_PIECE):
            self._total += len(piece)
            self._kept += piece[: max(0, self._limit - len(self._kept))]

    def text(self) -> str:
        text = self._kept.decode("utf-8", "replace")
        missing = self._total - len(self._kept)
        return f"{text}\n[... {missing} bytes left out ...]\n" if missing else text


def _limited(bounds: Bounds) -> list[str]:
    """Return what to put before a command so that it starts bounded; nothing where it is not."""
    wanted = {
        "RLIMIT_AS": bounds.memory_bytes,
        "RLIMIT_FSIZE": bounds.file_bytes,
        "RLIMIT_NPROC": bounds.processes,
    }
    wanted = {name: value for name, value in wanted.items() if value is not None}
    if not wanted or sys.platform == "win32":
        return []
    return [sys.executable, "-I", "-S", str(_LIMITED), json.dumps(wanted)]


def _environment(home: Path) -> dict[str, str]:
    """Return the whole environment of a command: nothing of ours, above all no keys."""
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(home), "TMPDIR": str(home)}
    if sys.platform == "win32":
        environment |= {"SYSTEMROOT": r"C:\Windows", "TEMP": str(home), "TMP": str(home)}
    return environment


def _kill_group(pid: int) -> None:
    """End a command and all it started that still runs."""
    if sys.platform == "win32":
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # All of it has ended.
