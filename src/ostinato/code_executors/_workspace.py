"""Working directory of a run of code: input files, and new and changed output files."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from mimetypes import guess_type
from pathlib import Path, PurePosixPath

from .. import _clock
from .._regular_files import read_regular_file
from ._child import Limits
from .code_execution_utils import File

_MAX_DEPTH = 64  # of folders, in which files are looked for
_LONGEST_REMOVAL_S = 5.0


class Workspace:
    """Files of one run of code.

    Args:
      directory: an existing, empty directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, tuple[int, int]] = {}

    def put(self, files: list[File]) -> None:
        """Write the input files.

        Raises:
          ValueError: a name leads out of the directory, or a content is not base64.
        """
        for file in files:
            name = PurePosixPath(file.name.replace("\\", "/"))
            if not name.name or name.is_absolute() or ".." in name.parts or ":" in file.name:
                raise ValueError(
                    f"Input file {file.name!r}: the name must be a relative path without '..' or "
                    "':'."
                )
            path = self._directory.joinpath(*name.parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read_bytes())
        self._known = {name: _file_mark(path) for name, path in self._iterate_files([])}

    def collect(self, limits: Limits) -> tuple[list[File], list[str]]:
        """Read the files that are new or changed since `put`.

        Links are not followed: they could point at any file of this machine. A ':' in a name
        becomes '_', for in names of artifacts it has a meaning.

        Returns:
          The files by name, and a note for each that is not kept.
        """
        files: list[File] = []
        notes: list[str] = []
        room = limits.total_bytes
        for name, path in sorted(self._iterate_files(notes)):
            mark = _file_mark(path)
            if self._known.get(name) == mark:
                continue
            if not name.isprintable():  # such as invalid Unicode, which cannot be stored or sent
                notes.append(f"{name!r} (its name is not printable)")
            elif mark[1] > limits.file_bytes:
                notes.append(f"`{name}` ({mark[1]} bytes, the limit is {limits.file_bytes})")
            elif len(files) >= limits.files:
                notes.append(f"`{name}` (the limit is {limits.files} files)")
            elif room is not None and mark[1] > room:
                notes.append(f"`{name}` (the limit of all files is {limits.total_bytes} bytes)")
            else:
                mime_type = guess_type(name)[0] or "application/octet-stream"
                content = read_regular_file(path, mark[1])
                room = None if room is None else room - len(content)
                files.append(File(name.replace(":", "_"), content, mime_type))
        return files, notes

    def _iterate_files(self, notes: list[str]) -> Iterator[tuple[str, Path]]:
        top = len(self._directory.parts)
        for parent, directories, names in os.walk(self._directory):
            directories[:] = [name for name in directories if name != "__pycache__"]
            if directories and len(Path(parent).parts) - top >= _MAX_DEPTH:
                directories.clear()
                notes.append(f"those in folders below {_MAX_DEPTH} levels")
            for name in names:
                path = Path(parent, name)
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path.relative_to(self._directory).as_posix(), path


def remove_tree(root: Path) -> None:
    """Remove a folder with all that is in it, however deep; what cannot be removed stays.

    A folder of tens of thousands of others takes a while: after some seconds the caller continues,
    and a thread removes the rest.
    """
    work = threading.Thread(target=_remove_all, args=(root,), name=f"removal of {root.name}")
    work.start()
    work.join(_LONGEST_REMOVAL_S)


def _remove_all(root: Path) -> None:
    with suppress(OSError, RecursionError):  # it is fast, and fails for deep and locked folders
        shutil.rmtree(root)
        return
    _remove_moved(root)


def _remove_moved(root: Path) -> None:
    """Remove a folder whose folders are too deep or locked.

    Folders are moved up to the root before they are emptied, so that no path becomes too long and
    nothing recurses.
    """
    left = [root]
    while left:
        folder = left.pop()
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)
            for entry in list(os.scandir(folder)):
                path = Path(entry.path)
                with suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        path.unlink()
                        continue
                    path.chmod(stat.S_IRWXU)  # moving changes its `..`
                    moved = root / f".removed-{_clock.unique_id()}"
                    left.append(path.rename(moved))
        if folder != root:
            with suppress(OSError):
                folder.rmdir()
    with suppress(OSError):
        root.rmdir()


def _file_mark(path: Path) -> tuple[int, int]:
    """Return a file's modification time in nanoseconds and its size, to detect changes."""
    status = path.lstat()
    return status.st_mtime_ns, status.st_size
