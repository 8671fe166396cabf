"""Files and folders that only their owner may read, whatever the process's umask.

What exists keeps its permissions: its owner may have opened it to others on purpose. Windows has no
such modes; there files get the permissions of their folder.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_FILE_MODE, _FOLDER_MODE = 0o600, 0o700


def create_private_file(path: str | os.PathLike[str]) -> None:
    """Create an empty file that only its owner may read and write, unless it exists.

    SQLite gives its log and its shared memory the mode of the database, and programs that open a
    file to write keep its mode. So this comes before them.

    Raises:
      OSError: it cannot be created.
    """
    with suppress(FileExistsError):
        os.close(open_private(path))


def open_private(path: str | os.PathLike[str]) -> int:
    """Create a file that only its owner may read and write; return its descriptor for writing.

    Raises:
      FileExistsError: it exists; also if it is a symbolic link.
      OSError: it cannot be created.
    """
    binary = getattr(os, "O_BINARY", 0)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, _FILE_MODE)


def make_private_folders(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner alone.

    Raises:
      OSError: one cannot be made, or is a file.
    """
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        if folder.parent == folder:
            break
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(_FOLDER_MODE, exist_ok=True)
