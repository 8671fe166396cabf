"""The directory a run of code works in: input files go in, new and changed files come out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from mimetypes import guess_type
from pathlib import Path, PurePosixPath

from ._limits import Limits
from .code_execution_utils import File


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
        self._known = {name: _mark(path) for name, path in self._walk()}

    def collect(self, limits: Limits) -> tuple[list[File], list[str]]:
        """Read the files that are new or changed since `put`.

        Links are not followed: they could point at any file of this machine. A ':' in a name
        becomes '_', for in names of artifacts it has a meaning.

        Returns:
          The files by name, and a note for each that was over a limit.
        """
        files: list[File] = []
        notes: list[str] = []
        for name, path in sorted(self._walk()):
            mark = _mark(path)
            if self._known.get(name) == mark:
                continue
            if mark[1] > limits.file_bytes:
                notes.append(f"`{name}` ({mark[1]} bytes, the limit is {limits.file_bytes})")
            elif len(files) >= limits.files:
                notes.append(f"`{name}` (the limit is {limits.files} files)")
            else:
                mime_type = guess_type(name)[0] or "application/octet-stream"
                content = path.read_bytes()
                files.append(File(name.replace(":", "_"), content, mime_type))
        return files, notes

    def _walk(self) -> Iterator[tuple[str, Path]]:
        for parent, directories, names in os.walk(self._directory):
            directories[:] = [name for name in directories if name != "__pycache__"]
            for name in names:
                path = Path(parent, name)
                # Names that are no valid Unicode could be neither stored nor sent.
                if stat.S_ISREG(path.lstat().st_mode) and name.isprintable():
                    yield path.relative_to(self._directory).as_posix(), path


def _mark(path: Path) -> tuple[int, int]:
    """Return what changes with a file's content: time of change in nanoseconds, size in bytes."""
    status = path.lstat()
    return status.st_mtime_ns, status.st_size
