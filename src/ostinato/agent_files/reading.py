"""Reading: what is known while agents are made of a file: where we are in it, and what it may name.

`agents.config_agent_utils` opens one per file; tools and agents that are made of settings reach the
present one through `current()`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import AgentFileError, CodeReferenceError, MissingExtraError
from .code_names import CodeNameError, CodeRules
from .document import Document, FieldPath, field_name
from .references import AgentRefConfig

Build = Callable[[AgentRefConfig, str], Any]


@dataclass(slots=True)
class Reading:
    """One file that agents are being made of.

    Attributes:
      document: the file.
      rules: which code it may name.
      build: makes the agent that a reference names; the room of the agents puts it in.
      above: the files that led to this one, the first included.
      path: the field that is being read.
    """

    document: Document
    rules: CodeRules
    build: Build
    above: tuple[Path, ...] = ()
    path: list[str | int] = field(default_factory=list[str | int])

    def fault(self, problem: str, below: FieldPath = ()) -> AgentFileError:
        """Return the error for the field that is being read, or one below it."""
        return self.document.fault(problem, (*self.path, *below))


class FieldFault(ValueError):
    """What the present field says cannot be used; `at` turns it into an error with its place."""


_current: ContextVar[Reading | None] = ContextVar("ostinato_reading", default=None)


def current() -> Reading | None:
    """Return the reading of this moment; None where a program makes an agent by itself."""
    return _current.get()


@contextmanager
def opened(reading: Reading) -> Generator[Reading]:
    """Make a reading the present one."""
    token = _current.set(reading)
    try:
        yield reading
    finally:
        _current.reset(token)


@contextmanager
def at(*steps: str | int) -> Generator[None]:
    """Read a field of the present file: what goes wrong within is an error that names its place."""
    reading = _current.get()
    if reading is None:
        yield
        return
    length = len(reading.path)
    reading.path.extend(steps)
    try:
        yield
    except (AgentFileError, MissingExtraError):
        raise
    except FieldFault as error:
        raise reading.fault(str(error)) from error
    except ValidationError as error:
        raise invalid(reading.document, error, tuple(reading.path)) from error
    except Exception as error:  # boundary: whatever the user's class raises, its place is told
        said = f": {error}" if str(error) else ""
        raise reading.fault(f"it cannot be made: {type(error).__name__}{said}") from error
    finally:
        del reading.path[length:]


def resolve_name(name: str) -> Any:
    """Import and return what a dotted name names, such as `my_agent.tools.look_up`.

    Outside of a file any name goes: then the program says it, not data.

    Raises:
      CodeReferenceError: it is nothing, or code that the present file may not name.
    """
    reading = _current.get()
    rules = reading.rules if reading is not None else CodeRules()
    try:
        return rules.resolve(name)
    except CodeNameError as error:
        if reading is None:
            raise CodeReferenceError(str(error)) from error
        path: FieldPath = (*reading.path, "name")
        if path not in reading.document.places:
            path = tuple(reading.path)
        raise reading.document.fault(str(error), path, CodeReferenceError) from error


def invalid(document: Document, error: ValidationError, path: FieldPath = ()) -> AgentFileError:
    """Return the error for settings that pydantic refused, a line for each fault."""
    faults: dict[str, AgentFileError] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        found = _fault(document, path, detail)
        faults.setdefault(found.field, found)  # a union complains once for each of its types
    ordered = sorted(faults.values(), key=lambda one: (one.line or 0, one.column or 0))
    first = ordered[0]
    return AgentFileError(
        "\n".join(str(one) for one in ordered),
        file=first.file,
        line=first.line,
        column=first.column,
        field=first.field,
    )


def _fault(document: Document, path: FieldPath, detail: ErrorDetails) -> AgentFileError:
    whole = (*path, *_as_said(document, path, detail["loc"]))
    known = document.known(whole)
    match detail["type"]:
        case "missing":
            name = whole[-1]
            return document.fault(f"the required field `{name}` is missing.", (*known, name))
        case "extra_forbidden":
            return document.fault("there is no such field here; check its spelling.", known)
        case _:
            return document.fault(
                detail["msg"].removeprefix("Value error, ").rstrip(".") + ".",
                known if len(known) > len(path) or field_name(path) else whole,
            )


def _as_said(document: Document, path: FieldPath, loc: FieldPath) -> FieldPath:
    """Return where a fault of the agent itself stands in its file, whose names are not all equal:
    `before_model_callbacks` becomes the agent's `before_model_callback`, `model_code` its `model`.
    """
    if loc:
        for name in (loc[0], f"{loc[0]}s", f"{loc[0]}_code"):
            if (*path, name) in document.places:
                return (name, *loc[1:])
    return loc
