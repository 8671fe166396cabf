"""The port of memory services, which store a user's sessions and search them.

The runner never writes to it; an app calls `add_session_to_memory` or `add_events_to_memory` when
it wants something remembered, and tools search through their context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.sessions.session import Session


def check_query(query: object) -> None:
    """Refuse a query that is not a text.

    Raises:
      InputValidationError: it is of another type.
    """
    if not isinstance(query, str):
        raise InputValidationError(
            f"The query of a memory search has to be a text, not {type(query).__name__}."
        )


class SearchMemoryResponse(BaseModel):
    """What a search found."""

    model_config = ConfigDict(defer_build=True)

    memories: list[MemoryEntry] = Field(default_factory=list[MemoryEntry])


class BaseMemoryService(ABC):
    """Remembers per app and user, and searches (Spec 4 §6)."""

    @abstractmethod
    async def add_session_to_memory(self, session: Session) -> None:
        """Add a session to memory; this replaces what an earlier call added of it."""

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember some events, beside what is remembered already.

        Args:
            app_name: the app.
            user_id: the user.
            events: the events; one whose id is remembered already is not added again.
            session_id: the session they belong to, if any.
            custom_metadata: values for the service; which it knows is the service's matter.

        Raises:
            NotImplementedError: this service remembers whole sessions only.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not remember single events; call "
            "add_session_to_memory(session) with the whole session."
        )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store entries as given.

        Raises:
            NotImplementedError: this service remembers sessions and events only.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not take ready-made entries; call "
            "add_events_to_memory(...) or add_session_to_memory(session)."
        )

    @abstractmethod
    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """What is remembered for the user that has to do with `query`."""
