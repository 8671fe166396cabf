"""Recorder of tracebacks: errors in the developer's code at run time, with the lines around them.

It adds them to the spans of what failed, so they survive a restart. Of code outside of the agents'
folder only the place is kept.
"""

from __future__ import annotations

import linecache
from pathlib import Path
from types import FrameType, TracebackType

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from ..telemetry.recorder import SpanRecord
from .problems import public_name, public_text

TEXT = "traceback"
"""Kind of the span's text that holds a traceback; the server shows it in no other way."""

_BEFORE = 3  # lines
_AFTER = 2
_LONGEST = 200  # characters of a line
_FRAMES = 60  # of one error; the innermost count
_ERRORS = 8  # of one chain of causes
_MARK = "_ostinato_traceback"
_FOREIGN = ("site-packages", "dist-packages")
_CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class TracebackFrame(BaseModel):
    """One frame of a traceback.

    Attributes:
      file: the file: from the agents' folder on, or the end of its path for foreign code.
      line: the line, from 1.
      function: the function's name.
      is_own: whether the code lies in the agents' folder.
      first: the number of the first line in `lines`.
      lines: the lines around it when it failed; none for foreign code.
    """

    model_config = _CAMEL

    file: str
    line: int
    function: str
    is_own: bool
    first: int = 0
    lines: list[str] = []


class TracedError(BaseModel):
    """One error of a chain of causes.

    Attributes:
      type: the class.
      message: the text, without secrets.
      frames: the frames, the innermost last.
    """

    model_config = _CAMEL

    type: str
    message: str
    frames: list[TracebackFrame]


class ErrorChain(BaseModel):
    """An error and the chain of its causes, in the stored form.

    Attributes:
      errors: the error, then its cause, and so on.
    """

    errors: list[TracedError]


class TracebackRecorder:
    """Adds the traceback of an error to the first span that ends with it.

    It has to be installed before the recorder that stores spans.

    Args:
      agents: the folder of the agents.

    Attributes:
      wants_content: False; it asks for no contents.
    """

    wants_content = False

    def __init__(self, agents: Path) -> None:
        self._root = agents.expanduser().resolve()

    def on_start(self, record: SpanRecord) -> None:
        """Do nothing."""

    def on_end(self, record: SpanRecord) -> None:
        """Add the traceback, unless a span within this one has it."""
        error, record.exception = record.exception, None
        if error is None or getattr(error, _MARK, False):
            return
        try:
            setattr(error, _MARK, True)
        except AttributeError:  # an error without attributes: outer spans have it again
            pass
        record.texts[TEXT] = describe_errors(error, self._root).model_dump_json()


def describe_errors(error: BaseException, root: Path) -> ErrorChain:
    """Return an error and the chain of its causes.

    Args:
      error: the error.
      root: the resolved folder of the developer's code.
    """
    found: list[TracedError] = []
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen and len(found) < _ERRORS:
        seen.add(id(one))
        found.append(
            TracedError(
                type=public_name(type(one).__name__),
                message=public_text(str(one)),
                frames=_describe_frames(one.__traceback__, root),
            )
        )
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return ErrorChain(errors=found)


def _describe_frames(traceback: TracebackType | None, root: Path) -> list[TracebackFrame]:
    frames: list[tuple[FrameType, int]] = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return [_describe_frame(frame, line, root) for frame, line in frames[-_FRAMES:]]


def _describe_frame(frame: FrameType, line: int, root: Path) -> TracebackFrame:
    file, function = Path(frame.f_code.co_filename), frame.f_code.co_name
    own = _name_own_file(file, root)
    if own is None:
        name = "/".join(file.parts[-3:]) if file.is_absolute() else file.name
        return TracebackFrame(file=name, line=line, function=function, is_own=False)
    linecache.checkcache(str(file))
    lines = linecache.getlines(str(file))
    start = max(0, line - 1 - _BEFORE)
    shown = [text.rstrip()[:_LONGEST] for text in lines[start : line + _AFTER]]
    while len(shown) > line - start and not shown[-1]:
        shown.pop()
    return TracebackFrame(
        file=own, line=line, function=function, is_own=True, first=start + 1, lines=shown
    )


def _name_own_file(file: Path, root: Path) -> str | None:
    """Return the path of a file from the agents' folder on, or None for foreign code."""
    if not file.is_absolute():
        return None
    resolved = file.resolve()
    if not resolved.is_relative_to(root):
        return None
    inner = resolved.relative_to(root)
    if any(part in _FOREIGN or part.startswith(".") for part in inner.parts):
        return None
    return inner.as_posix()
