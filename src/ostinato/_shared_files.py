"""Text files that several threads and processes change: a lock, and a replacement at once.

Windows has no such locks; there only the replacement holds.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from . import _clock

if sys.platform != "win32":
    import fcntl


@contextmanager
def lock_file(path: Path) -> Generator[None]:
    """Hold the lock of a file, there or not, between the threads and processes that ask for it.

    The lock is a file beside it, which is removed with the lock. The operating system releases the
    lock of a process that ends.

    Raises:
      OSError: the folder does not exist, or takes no new files.
    """
    if sys.platform == "win32":
        yield
        return
    path = _resolve(path)
    place = path.with_name(f".{path.name}.lock")
    while True:
        with open(place, "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_at(place, lock.fileno()):
                continue  # its last owner removed it while this one waited
            try:
                yield
            finally:
                place.unlink(missing_ok=True)
            return


def replace_file(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text in place of a file's, or to a new file; readers see the old one or the new one.

    Args:
      path: the file; one that exists keeps its permissions.
      text: what it holds then.
      private: only its owner may read a new file.

    Raises:
      OSError: it cannot be written; the old one is unchanged then.
    """
    path = _resolve(path)
    draft = path.with_name(f".{path.name}.{_clock.unique_id()}")
    try:
        mode = 0o600 if private else 0o666
        with open(draft, "x", encoding="utf-8", opener=partial(os.open, mode=mode)) as file:
            with suppress(FileNotFoundError):
                shutil.copymode(path, draft)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _resolve(path: Path) -> Path:
    """Return the file that a link leads to: all its names share one lock, and the link stays."""
    return Path(os.path.realpath(path))


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
