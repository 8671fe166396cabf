"""One YAML file as plain data, with the line of each field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._optional import need
from .._regular_files import FileTooLargeError, read_regular_file
from ..errors import AgentFileError, AgentFileNotFoundError

FieldPath = tuple[str | int, ...]

# More than any agent needs. Nodes are counted with every alias and merge written out.
_MAX_BYTES = 1_000_000
_MAX_NODES = 20_000
_MAX_DEPTH = 64
# YAML reads long digits, also in base 60, in quadratic time.
_MAX_NUMBER = 100
_MAX_PROBLEM = 1_000  # characters
# What YAML's reader quotes of a file: an error may be shown to people who may not read the file.
_QUOTED = re.compile(r"\b(alias|anchor|tag|handle) ['\"].*['\"]", re.DOTALL)
_TEXT = "tag:yaml.org,2002:str"
_TOO_MUCH = "it says more than such a file can hold."
_NO_VALUE = (
    "it holds a number or a date that does not exist, or a value of another type than its tag."
)
# What YAML's reader raises for a value that is not of the type that its tag says.
_UNREADABLE = (ValueError, OverflowError, TypeError, LookupError, AttributeError)
_TOO_DEEP = "it is nested too deeply."


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a field: its line and column, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read.

    Attributes:
      path: the file, absolute.
      data: what it says.
      text: its text.
      places: the place of each field's key, or of an item in a list.
    """

    path: Path
    data: Any
    text: str
    places: dict[FieldPath, Place]

    @property
    def shown(self) -> str:
        """The file's name for messages: with its own folder, without the folders above."""
        return display_name(self.path)

    def find_known_path(self, path: FieldPath) -> FieldPath:
        """Return the longest part of a field's path that exists in the file."""
        while path and path not in self.places:
            path = path[:-1]
        return path

    def fault(
        self,
        problem: str,
        path: FieldPath = (),
        kind: type[AgentFileError] = AgentFileError,
    ) -> AgentFileError:
        """Return the error for a field, with its place in front."""
        place = self.places.get(self.find_known_path(path))
        field = cut_text(field_name(path))
        problem = cut_text(problem, _MAX_PROBLEM)
        words = [self.shown, f"line {place.line}" if place else "", field]
        return kind(
            f"{', '.join(filter(None, words))}: {problem}",
            file=self.shown,
            line=place and place.line,
            column=place and place.column,
            field=field,
        )


def cut_text(text: str, length: int = 200) -> str:
    """Return the beginning of a text, for a message."""
    return text if len(text) <= length else f"{text[:length]}..."


def display_name(path: Path) -> str:
    """Return a file's name with the folder it is in."""
    return f"{path.parent.name}/{path.name}" if path.parent.name else path.name


def field_name(path: FieldPath) -> str:
    """Return a field's path as people write it: `tools[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


_AGENT = "an agent is described by fields such as `name:`"


def read_document(file: str | Path, *, what: str = _AGENT) -> Document:
    """Read a YAML file.

    Args:
      file: the file.
      what: what its fields are, for the error about a file without any.

    Raises:
      AgentFileNotFoundError: there is no such file.
      AgentFileError: it cannot be read, is not YAML, repeats a key, holds no fields, or is
        larger than 1 MB, 20,000 fields or 64 levels.
      MissingExtraError: PyYAML is not installed.
    """
    path = Path(file).absolute()
    try:
        text = read_regular_file(path, _MAX_BYTES).decode("utf-8")
    except FileTooLargeError as error:
        raise AgentFileError(
            f"{display_name(path)}: {_TOO_MUCH}", file=display_name(path)
        ) from error
    except FileNotFoundError as error:
        raise AgentFileNotFoundError(
            f"{display_name(path)}: there is no such file.", file=display_name(path)
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text"
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
        raise AgentFileError(
            f"{display_name(path)}: it cannot be read: {reason}.", file=display_name(path)
        ) from error
    return parse_document(path, text, what=what)


def parse_document(path: Path, text: str, *, what: str = _AGENT) -> Document:
    """Read the text of a YAML file; see `read_document` for errors."""
    yaml = need("yaml", extra="yaml")
    document = Document(path, None, text, {})
    try:
        _check_depth(document, yaml)
        node = yaml.SafeLoader(text).get_single_node()
        if node is not None:
            _check_size(document, node)
            _check_keys(document, node)
            _check_values(document, node, yaml)
        data = None if node is None else yaml.SafeLoader("").construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(document, error) from error
    except yaml.reader.ReaderError as error:
        document.places[()] = Place(text.count("\n", 0, error.position) + 1, 1)
        raise document.fault("it is not YAML: a character that cannot be seen.") from error
    except AgentFileError:
        raise
    except _UNREADABLE as error:
        raise document.fault(_NO_VALUE) from error
    if not isinstance(data, dict):
        found = "is empty" if data is None else f"holds {_describe_kind(data)}"
        raise document.fault(f"{what}; the file {found}.")
    places = {
        (): _place_of(node),
        **{path: _place_of(key) for path, key, _ in _iterate_fields(node, ())},
    }
    return Document(path, data, text, places)


def _describe_kind(data: Any) -> str:
    # Its type only: an error must not quote a file that another user wrote.
    return "a list" if isinstance(data, list) else "only a single value"


def _not_yaml(document: Document, error: Any) -> AgentFileError:
    mark = error.problem_mark or error.context_mark
    if mark is not None:
        document.places[()] = Place(mark.line + 1, mark.column + 1)
    problem = _QUOTED.sub(r"\1", str(error.problem))
    return document.fault(f"it is not YAML that can be read safely: {problem}.")


def _check_depth(document: Document, yaml: Any) -> None:
    """Refuse a file that is nested too deeply or too large, before recursive parsing."""
    depth = nodes = 0
    for event in yaml.parse(document.text, Loader=yaml.SafeLoader):
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > _MAX_NODES:
            raise document.fault(_TOO_MUCH)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                document.places[()] = _place_of(event)
                raise document.fault(_TOO_DEEP)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_size(document: Document, root: Any) -> None:
    """Refuse a file that holds itself, or whose aliases and merges multiply.

    Each node is visited once, so that the check itself is linear.
    """
    measured: dict[int, tuple[int, int] | None] = {}

    def measure_node(node: Any) -> tuple[int, int]:
        """Return how many nodes and how many levels a node has."""
        known = measured.get(id(node), ())
        if known is None:
            raise document.fault("it holds itself.")
        if known:
            return known
        measured[id(node)] = None  # being measured
        if node.id == "scalar" and node.tag != _TEXT and len(node.value) > _MAX_NUMBER:
            document.places[()] = _place_of(node)
            raise document.fault("it holds a number or a date that is too long.")
        size, levels = 1, 0
        for child in _iterate_children(node):
            more, below = measure_node(child)
            size, levels = size + more, max(levels, below)
            if size > _MAX_NODES:
                raise document.fault(_TOO_MUCH)
            if levels > _MAX_DEPTH:
                raise document.fault(_TOO_DEEP)
        measured[id(node)] = size, levels + 1
        return size, levels + 1

    measure_node(root)


def _iterate_children(node: Any) -> Iterator[Any]:
    if node.id == "mapping":
        for key, value in node.value:
            yield key
            yield value
    elif node.id == "sequence":
        yield from node.value


def _check_keys(document: Document, root: Any) -> None:
    """Refuse a duplicate key; YAML's reader would silently keep the last value."""
    for path, key, _ in _iterate_fields(root, ()):
        place = _place_of(key)
        if path in document.places:
            first = document.places[path].line
            document.places[path] = place
            raise document.fault(f"the key stands in line {first} already; keep one.", path)
        document.places[path] = place
    document.places.clear()


def _check_values(document: Document, root: Any, yaml: Any) -> None:
    """Refuse a number, a date or another tagged value that does not exist, at its place."""
    loader = yaml.SafeLoader("")
    for path, key, value in _iterate_fields(root, ()):
        for node in (key, value):
            if node.id == "scalar" and node.tag != _TEXT:
                try:
                    loader.construct_object(node)
                except _UNREADABLE as error:
                    document.places[path] = _place_of(node)
                    raise document.fault(_NO_VALUE, path) from error


def _place_of(node: Any) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _iterate_fields(node: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any, Any]]:
    """Yield the path, the node that marks its place, and the value of every field below a node."""
    if node.id == "mapping":
        for key, value in node.value:
            if key.id == "scalar" and key.tag != "tag:yaml.org,2002:merge":
                below = (*path, key.value)
                yield below, key, value
                yield from _iterate_fields(value, below)
    elif node.id == "sequence":
        for index, value in enumerate(node.value):
            yield (*path, index), value, value
            yield from _iterate_fields(value, (*path, index))
