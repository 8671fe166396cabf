"""Reads and writes of regular files whose path a model or another party chose.

Opening a FIFO waits for its other end, and a device such as /dev/zero never ends.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class FileTooLargeError(OSError):
    """A file has more bytes than are read."""


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Return what a regular file holds.

    Raises:
      FileNotFoundError: there is no such file.
      FileTooLargeError: it has more than `max_bytes` bytes.
      OSError: it is not a regular file, or cannot be read.
    """
    _check_kind(path, path.stat())
    with open(path, "rb", opener=_open_at_once) as file:
        status = os.fstat(file.fileno())
        _check_kind(path, status)
        # Both: a file can grow, and those of /proc have no size.
        data = b"" if status.st_size > max_bytes else file.read(max_bytes + 1)
    if max(len(data), status.st_size) > max_bytes:
        what = f"has more than {max_bytes:,} bytes, the most that is read"
        raise _make_error(FileTooLargeError, path, what)
    return data


def write_regular_file(path: Path, data: bytes) -> None:
    """Write a regular file; one that exists is replaced.

    Raises:
      OSError: the path is something other than a regular file, or cannot be written.
    """
    if path.exists():
        _check_kind(path, path.stat())
    with open(path, "wb", opener=_open_at_once) as file:
        _check_kind(path, os.fstat(file.fileno()))
        file.write(data)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _NO_WAIT, 0o666)


def _check_kind(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise _make_error(IsADirectoryError, path, "is a directory")
    if not stat.S_ISREG(status.st_mode):
        what = "is not a regular file but a pipe, a socket or a device"
        raise _make_error(OSError, path, what)


def _make_error(kind: type[OSError], path: Path, what: str) -> OSError:
    """Return an error that says what is wrong with a file, with and without its path."""
    error = kind(f"{str(path)!r} {what}.")
    error.strerror = f"it {what}"
    return error
