"""Memories kept in this process and found by their words: for tests and for a laptop."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ostinato._words import asked_words, words
from ostinato.events.event import Event
from ostinato.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse, check_query
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.sessions.session import Session
from ostinato.types import Content

# No session's id is None, so events without one have a place of their own.
_NO_SESSION = None


@dataclass(frozen=True, slots=True)
class _Memory:
    """One event, with its words taken out once, so that searches compare sets and parse nothing."""

    content: Content
    author: str
    timestamp: float
    words: frozenset[str]
    custom_metadata: dict[str, Any]


class InMemoryMemoryService(BaseMemoryService):
    """Finds every event that shares a whole word with the query, without regard to case.

    A word is a run of letters, digits and underscores; Chinese and other text without spaces is
    found by pairs of characters, as `SqliteMemoryService` finds it. Memories are apart per app and
    user, come in the order they were added, and may be added and searched from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # (app, user) -> session id -> event id -> memory
        self._memories: dict[tuple[str, str], dict[str | None, dict[str, _Memory]]] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember a session's events in place of those remembered of it before."""
        found = _copy_events(session.events, {})
        with self._lock:
            sessions = self._memories.setdefault((session.app_name, session.user_id), {})
            sessions[session.id] = found

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember events that the session, or the place of events without one, has not yet.

        `custom_metadata` comes back with what a search finds.
        """
        found = _copy_events(events, dict(custom_metadata or {}))
        place = session_id or _NO_SESSION
        with self._lock:
            known = self._memories.setdefault((app_name, user_id), {}).setdefault(place, {})
            for event_id, memory in found.items():
                known.setdefault(event_id, memory)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Every remembered event that holds one of the query's words.

        Raises:
            InputValidationError: the query is not a text.
        """
        check_query(query)
        wanted = frozenset(asked_words(query))
        with self._lock:
            sessions = self._memories.get((app_name, user_id), {})
            hits = [
                memory
                for memories in sessions.values()
                for memory in memories.values()
                if not wanted.isdisjoint(memory.words)
            ]
        return SearchMemoryResponse(memories=[_build_entry(memory) for memory in hits])

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Forget all that is remembered of a user.

        Args:
            app_name: the app; None for all apps.
            user_id: the user.

        Returns:
            How many memories there were.
        """
        with self._lock:
            gone = [k for k in self._memories if k[1] == user_id and app_name in (None, k[0])]
            return sum(len(each) for key in gone for each in self._memories.pop(key).values())


def _copy_events(events: Sequence[Event], custom_metadata: dict[str, Any]) -> dict[str, _Memory]:
    """The events that hold text, by id; copies, because the events stay their owner's."""
    found: dict[str, _Memory] = {}
    for event in events:
        parts = (event.content and event.content.parts) or []
        found_by = frozenset(words(" ".join(part.text for part in parts if part.text)))
        if event.content and found_by:
            content = event.content.model_copy(deep=True)
            found.setdefault(
                event.id,
                _Memory(content, event.author, event.timestamp, found_by, custom_metadata),
            )
    return found


def _build_entry(memory: _Memory) -> MemoryEntry:
    return MemoryEntry(
        content=memory.content.model_copy(deep=True),
        author=memory.author,
        timestamp=datetime.fromtimestamp(memory.timestamp).isoformat(),
        custom_metadata=dict(memory.custom_metadata),
    )
