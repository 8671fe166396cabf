"""State of reading an agent file: the current field, and the code that the file may name.

`agents.config_agent_utils` opens one `Reading` per file. Tools and agents that read settings get it
from `current_reading()`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import AgentFileError, CodeReferenceError, MissingExtraError
from .code_names import CodeNameError, CodeRules
from .document import Document, FieldPath, field_name, read_document
from .references import AgentRefConfig, CodeConfig

# Limits for all files that one root file leads to. A file counts each time it is named, because
# each use makes a separate agent.
_MAX_USES = 500
_MAX_FIELDS = 100_000
_MAX_TREE_BYTES = 2_000_000  # of files, each once

Build = Callable[[AgentRefConfig, str], Any]


class FileTree:
    """The files that one root file leads to, each parsed once, within bounds over all of them.

    Args:
      root: the root file.
    """

    def __init__(self, root: Document) -> None:
        self._documents = {root.path.resolve(): root}
        self._uses, self._fields = 1, len(root.places)
        self._bytes = len(root.text.encode())

    def read(self, path: Path, file: Path) -> Document:
        """Return a file for one more agent.

        Args:
          path: the file as named.
          file: the same, with symbolic links followed.

        Raises:
          AgentFileError: it cannot be read.
          FieldFault: all files together exceed the limits.
        """
        self._uses += 1
        if self._uses > _MAX_USES:
            raise FieldFault(f"the files name each other more than {_MAX_USES} times.")
        known = self._documents.get(file)
        if known is None:
            if self._bytes >= _MAX_TREE_BYTES:
                raise FieldFault(f"all files together have more than {_MAX_TREE_BYTES} bytes.")
            known = self._documents[file] = read_document(path)
            self._bytes += len(known.text.encode())
        self._fields += len(known.places)
        if self._fields > _MAX_FIELDS:
            raise FieldFault(f"all files together say more than {_MAX_FIELDS} fields.")
        return replace(known, path=path.absolute(), data=deepcopy(known.data))


@dataclass(slots=True)
class Reading:
    """One file that agents are being made of.

    Attributes:
      document: the file.
      rules: which code it may name.
      build: makes the agent that a reference names; the room of the agents puts it in.
      folder: folder of the root file; the files that it names lie inside.
      tree: the files of the root file, this one included.
      above: the files that led to this one, the first included.
      path: the field that is being read.
    """

    document: Document
    rules: CodeRules
    build: Build
    folder: Path
    tree: FileTree
    above: tuple[Path, ...] = ()
    path: list[str | int] = field(default_factory=list[str | int])

    def fault(self, problem: str, below: FieldPath = ()) -> AgentFileError:
        """Return the error for the field that is being read, or one below it."""
        return self.document.fault(problem, (*self.path, *below))


class FieldFault(ValueError):
    """The current field has an unusable value; `enter_field` adds the place to the error."""


_current: ContextVar[Reading | None] = ContextVar("ostinato_reading", default=None)


def current_reading() -> Reading | None:
    """Return the current reading, or None if no file is being read."""
    return _current.get()


@contextmanager
def use_reading(reading: Reading) -> Generator[Reading]:
    """Make a reading the current one for a `with` block."""
    token = _current.set(reading)
    try:
        yield reading
    finally:
        _current.reset(token)


@contextmanager
def enter_field(*steps: str | int) -> Generator[None]:
    """Enter a field of the current file; errors within name the place of the field."""
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
        raise make_validation_error(reading.document, error, tuple(reading.path)) from error
    except Exception as error:  # boundary: the user's class may raise anything
        # The text of an OSError holds a path of this machine.
        told = error.strerror if isinstance(error, OSError) else str(error)
        said = f": {told}" if told else ""
        raise reading.fault(f"it cannot be made: {type(error).__name__}{said}") from error
    finally:
        del reading.path[length:]


def resolve_name(name: str) -> Any:
    """Import and return what a dotted name names, such as `my_agent.tools.look_up`.

    Any name is allowed if no file is being read: then the program chose it.

    Raises:
      CodeReferenceError: the name does not exist, or the current file may not use it.
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


def make_validation_error(
    document: Document, error: ValidationError, path: FieldPath = ()
) -> AgentFileError:
    """Return the error for settings that pydantic refused, a line for each fault."""
    faults: dict[str, AgentFileError] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        found = _make_fault(document, path, detail)
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


def _make_fault(document: Document, path: FieldPath, detail: ErrorDetails) -> AgentFileError:
    whole = (*path, *_as_said(document, path, detail["loc"]))
    known = document.find_known_path(whole)
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
    """Return the path in the file of a field that has another name in the agent.

    The file's `before_model_callbacks` is the agent's `before_model_callback`, and its `model_code`
    the agent's `model`.
    """
    if loc:
        for name in (loc[0], f"{loc[0]}s", f"{loc[0]}_code"):
            if (*path, name) in document.places:
                return (name, *loc[1:])
    return loc


def resolve_fully_qualified_name(name: str) -> Any:
    """Return what a dotted name names, such as `my_agent.tools.look_up`.

    Any name is allowed if no file is being read: then the program chose it.

    Raises:
      CodeReferenceError: the name does not exist, or the current file may not use it.
    """
    return resolve_name(name)


def resolve_code_reference(code_config: CodeConfig) -> Any:
    """Return the variable, function or class that a file names.

    Raises:
      ValueError: the reference is empty.
      CodeReferenceError: the name does not exist, or the current file may not use it.
    """
    if not code_config or not code_config.name:
        raise FieldFault("a reference to code needs a `name`.")
    return resolve_name(code_config.name)


def resolve_callbacks(callbacks_config: list[CodeConfig]) -> list[Callable[..., Any]]:
    """Return the functions that a file names; see `resolve_code_reference` for errors."""
    found: list[Callable[..., Any]] = []
    for index, config in enumerate(callbacks_config):
        with enter_field(index):
            callback = resolve_code_reference(config)
            if not callable(callback):
                raise FieldFault(f"{config.name!r} is not a function; a callback must be one.")
            found.append(callback)
    return found
