"""Edits of shared contents: copies where something changes, and remembers what it copied.

Contents of a request are the same objects from step to step, so only new ones are looked at. The
planning and code execution processors use it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import is_
from typing import Any, Generic, TypeVar

from ... import types
from ...sessions.event_log import EventLog

T = TypeVar("T")


class ContentEdits(Generic[T]):
    """One edit of each content of a conversation, kept with the log it belongs to."""

    __slots__ = ("_edited", "_sources")

    def __init__(self) -> None:
        self._sources: list[types.Content] = []
        self._edited: list[T] = []

    def apply(
        self, contents: list[types.Content], edit: Callable[[int, types.Content], T]
    ) -> list[T]:
        """Return the edit of every content, asking `edit` only from the first unknown one on.

        Args:
          contents: the conversation; never changed.
          edit: takes the index and the content; must give the same for the same two.

        Returns:
          A new list.
        """
        known = min(len(contents), len(self._sources))
        # Compared by identity in C, some 20 ns a content; to look into one takes 300 ns and more.
        if not all(map(is_, contents, self._sources)):
            known = list(map(is_, contents, self._sources)).index(False)
        del self._edited[known:], self._sources[known:]
        for index in range(known, len(contents)):
            self._edited.append(edit(index, contents[index]))
            self._sources.append(contents[index])
        return list(self._edited)


def edits_of(log: EventLog, key: Hashable) -> ContentEdits[Any]:
    """Return the edits kept with `log` under `key`; new ones at the first call."""
    edits = log.views.get(key)
    if edits is None:
        edits = log.views[key] = ContentEdits[Any]()
    return edits
