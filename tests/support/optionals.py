"""Optional values that a test knows to be there; one that is missing fails the test."""

from __future__ import annotations

from typing import TypeVar

from ostinato.memory.memory_entry import MemoryEntry
from ostinato.models.llm_response import LlmResponse
from ostinato.types import Content, Part

_T = TypeVar("_T")


def present(value: _T | None) -> _T:
    """Return a value that is not None."""
    assert value is not None, "The value is missing."
    return value


def parts_of(message: Content | LlmResponse | MemoryEntry | None) -> list[Part]:
    """Return the parts of a content, or of the content of an event, a response or a memory."""
    content = message if isinstance(message, Content | None) else message.content
    return present(present(content).parts)
