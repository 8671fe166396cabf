"""Document: one YAML file as plain data, with the line of each of its fields. Read by `reading`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._optional import need
from ..errors import AgentFileError, AgentFileNotFoundError

FieldPath = tuple[str | int, ...]

# More than any agent needs; a file whose aliases multiply without end is stopped by it.
_MAX_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field stands: its line and column, from 1."""

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
        """The file as people are told of it: never the folders above its own."""
        return shown(self.path)

    def known(self, path: FieldPath) -> FieldPath:
        """Return as much of a field's path as the file has."""
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
        place = self.places.get(self.known(path))
        field = field_name(path)
        words = [self.shown, f"line {place.line}" if place else "", field]
        return kind(
            f"{', '.join(filter(None, words))}: {problem}",
            file=self.shown,
            line=place and place.line,
            column=place and place.column,
            field=field,
        )


def shown(path: Path) -> str:
    """Return a file's name with the folder it is in."""
    return f"{path.parent.name}/{path.name}" if path.parent.name else path.name


def field_name(path: FieldPath) -> str:
    """Return a field's path as people write it: `tools[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def read_document(file: str | Path) -> Document:
    """Read a YAML file.

    Raises:
      AgentFileNotFoundError: there is no such file.
      AgentFileError: it cannot be read, is not YAML, says a key twice, or holds no fields.
      MissingExtraError: PyYAML is not installed.
    """
    path = Path(file).absolute()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise AgentFileNotFoundError(
            f"{shown(path)}: there is no such file.", file=shown(path)
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise AgentFileError(
            f"{shown(path)}: it cannot be read: {reason}.", file=shown(path)
        ) from error
    return parse_document(path, text)


def parse_document(path: Path, text: str) -> Document:
    """Read the text of a YAML file; see `read_document` for errors."""
    yaml = need("yaml", extra="yaml")
    document = Document(path, None, text, {})
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is not None:
            _check_keys(document, node)
        data = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(document, error) from error
    except yaml.reader.ReaderError as error:
        document.places[()] = Place(text.count("\n", 0, error.position) + 1, 1)
        raise document.fault("it is not YAML: a character that cannot be seen.") from error
    except RecursionError as error:
        raise document.fault("it is nested too deeply, or holds itself.") from error
    if not isinstance(data, dict):
        found = "is empty" if data is None else f"holds {_kind(data)}"
        raise document.fault(f"an agent is described by fields such as `name:`; the file {found}.")
    places = {(): _place(node), **{path: _place(key) for path, key, _ in _fields(node, ())}}
    return Document(path, data, text, places)


def _kind(data: Any) -> str:
    return "a list" if isinstance(data, list) else f"only {str(data)!r:.40}"


def _not_yaml(document: Document, error: Any) -> AgentFileError:
    mark = error.problem_mark or error.context_mark
    if mark is not None:
        document.places[()] = Place(mark.line + 1, mark.column + 1)
    return document.fault(f"it is not YAML that can be read safely: {error.problem}.")


def _check_keys(document: Document, root: Any) -> None:
    """Refuse a key that is said twice, of which YAML's reader would take the last; and bombs."""
    count = 0
    for path, key, _ in _fields(root, ()):
        count += 1
        if count > _MAX_NODES:
            raise document.fault("it says more than an agent's description can hold.")
        place = _place(key)
        if path in document.places:
            first = document.places[path].line
            document.places[path] = place
            raise document.fault(f"the key stands in line {first} already; keep one.", path)
        document.places[path] = place
    document.places.clear()


def _place(node: Any) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _fields(node: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any, Any]]:
    """Yield the path, the node that marks its place, and the value of every field below a node."""
    if node.id == "mapping":
        for key, value in node.value:
            if key.id == "scalar" and key.tag != "tag:yaml.org,2002:merge":
                below = (*path, key.value)
                yield below, key, value
                yield from _fields(value, below)
    elif node.id == "sequence":
        for index, value in enumerate(node.value):
            yield (*path, index), value, value
            yield from _fields(value, (*path, index))
