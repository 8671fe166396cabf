"""Process identity, stored with leases: on one host, a dead owner is recognized at once."""

from __future__ import annotations

import functools
import os
import socket
from pathlib import Path

_PROC = Path("/proc")


@functools.cache
def host_identity() -> str:
    """Return the identity shared by processes that see each other's ids.

    Host name, boot id and process namespace: two containers of one machine differ, and so does a
    machine after a reboot.
    """
    boot = _read_text(_PROC / "sys/kernel/random/boot_id")
    try:
        namespace = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        namespace = ""
    return "|".join((socket.gethostname(), boot, namespace))


def process_identity() -> str:
    """Return the identity of the calling process, as text."""
    pid = os.getpid()
    return f"{host_identity()}|{pid}|{_read_start_time(pid)}"


def is_dead(process: str) -> bool:
    """Return whether a process is known to have ended; False if that is unknown.

    Args:
      process: its `process_identity`.
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
    # The id may have been reused since.
    return bool(rest) and _read_start_time(pid) not in ("", rest)


def _read_start_time(pid: int) -> str:
    """Return the start time of a process in ticks since boot, or '' if unknown.

    A zombie process returns `ended`.
    """
    stat = _read_text(_PROC / str(pid) / "stat")
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20:
        return ""
    return "ended" if fields[0] in ("Z", "X") else fields[19]


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
