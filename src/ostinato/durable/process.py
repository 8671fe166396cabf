"""Identity of this process, stored with its leases: on one host a dead owner is known at once."""

from __future__ import annotations

import functools
import os
import socket
from pathlib import Path

_PROC = Path("/proc")


@functools.cache
def host_identity() -> str:
    """Return what the processes that can see each other's numbers have in common.

    Host name, boot and process namespace: two containers of one machine differ, and so do a machine
    before and after it was started again.
    """
    boot = _read(_PROC / "sys/kernel/random/boot_id")
    try:
        namespace = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        namespace = ""
    return "|".join((socket.gethostname(), boot, namespace))


def process_identity() -> str:
    """Return the identity of the calling process, as text."""
    pid = os.getpid()
    return f"{host_identity()}|{pid}|{_started(pid)}"


def is_dead(process: str) -> bool:
    """Tell whether a process is known to have ended; False where that cannot be known.

    Args:
      process: what `process_identity` gave there.
    """
    host, _, rest = process.rpartition("|")
    host, _, number = host.rpartition("|")
    if host != host_identity() or not number.isdecimal():
        return False
    pid = int(number)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    # The number may have been given to another process since.
    return bool(rest) and _started(pid) not in ("", rest)


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the boot; '' where that cannot be read.

    A process that has ended and that its parent has not waited for counts as never started.
    """
    stat = _read(_PROC / str(pid) / "stat")
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20:
        return ""
    return "ended" if fields[0] in ("Z", "X") else fields[19]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
