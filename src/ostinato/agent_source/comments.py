"""Comments of a YAML file that go over into the program."""

from __future__ import annotations

from ..agent_files.document import Document

# For editors of YAML, not for people.
_NOT_FOR_PEOPLE = ("yaml-language-server", "-*-", "vim:")


def comments_of_file(document: Document) -> list[str]:
    """Return the comments above a file's first field: they are about the agent."""
    return _above(document, _first_line(document))


def comments_above(document: Document, field: str) -> list[str]:
    """Return the comments above a field; those above the first are the file's."""
    place = document.places.get((field,))
    if place is None or place.line == _first_line(document):
        return []
    return _above(document, place.line)


def _first_line(document: Document) -> int:
    return min((place.line for path, place in document.places.items() if path), default=1)


def _above(document: Document, line: int) -> list[str]:
    lines = document.text.splitlines()[: line - 1]
    found: list[str] = []
    for text in reversed(lines):
        text = text.strip()
        if not text.startswith("#"):
            break
        if not any(word in text for word in _NOT_FOR_PEOPLE):
            found.append(f"# {text.lstrip('#').strip()}".rstrip())
    return found[::-1]
