"""The lines of an agent's code around the one that failed to load."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from ..hosting.setup_error import SetupError

_BEFORE = 4  # lines
_AFTER = 3
_LONGEST = 200  # characters of a line


class SourcePlace(BaseModel):
    """A place in an agent's code.

    Attributes:
      file: the file, from the folder of the agent on.
      line: the line that failed, from 1.
      first: the number of the first line in `lines`.
      lines: the lines around it.
    """

    file: str
    line: int
    first: int
    lines: list[str]


def read_source(folder: Path, error: SetupError) -> SourcePlace | None:
    """Return the place of an error in an agent's folder; None if it lies elsewhere, or nowhere."""
    if error.file is None or error.line is None:
        return None
    root, file = folder.resolve(), Path(error.file).resolve()
    if not file.is_relative_to(root):
        return None
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    start = max(0, error.line - 1 - _BEFORE)
    shown = [line[:_LONGEST] for line in lines[start : error.line + _AFTER]]
    name = (Path(root.name) / file.relative_to(root)).as_posix()
    return SourcePlace(file=name, line=error.line, first=start + 1, lines=shown)
