"""Cached edits of shared contents, for the planning and code execution processors.

The contents of a request are the same objects from step to step, so only new ones are edited.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import is_
from typing import Any, Generic, TypeVar

from .... import types
from ....sessions.log.event_log import EventLog

T = TypeVar("T")


class ContentEdits(Generic[T]):
    """The edited contents of a conversation, cached with its log."""

    __slots__ = ("_edited", "_sources")

    def __init__(self) -> None:
        self._sources: list[types.Content] = []
        self._edited: list[T] = []

    def apply(
        self, contents: list[types.Content], edit: Callable[[int, types.Content], T]
    ) -> list[T]:
        """Return every content edited; call `edit` only from the first unknown content on.

        Args:
          contents: the conversation; never changed.
          edit: takes the index and the content; must return equal results for equal arguments.

        Returns:
          A new list.
        """
        known = min(len(contents), len(self._sources))
        # The identity check runs in C and takes 20 ns per content; an edit takes 300 ns or more.
        if not all(map(is_, contents, self._sources)):
            known = list(map(is_, contents, self._sources)).index(False)
        del self._edited[known:], self._sources[known:]
        for index in range(known, len(contents)):
            self._edited.append(edit(index, contents[index]))
            self._sources.append(contents[index])
        return list(self._edited)


def get_edits(log: EventLog, key: Hashable) -> ContentEdits[Any]:
    """Return the edits cached with `log` under `key`, created at the first call."""
    edits = log.views.get(key)
    if edits is None:
        edits = log.views[key] = ContentEdits[Any]()
    return edits
