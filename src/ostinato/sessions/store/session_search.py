"""The port of stores with full-text search over sessions, and what they index."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

from ..base_session_service import ListSessionsResponse

TITLE_KEY = "__session_metadata__"
"""The state key under which google-adk's page keeps what a person called a session."""


class FoundSessions(ListSessionsResponse):
    """A page of found sessions, without events, the one changed last first.

    A page may hold fewer sessions than were asked for, even none, and still have a successor.

    Attributes:
      complete: whether the index held every event when the search began. Otherwise sessions may be
        missing; `index_sessions` indexes them.
      unindexed: how many sessions had events that were not indexed, counted up to 1,000.
    """

    complete: bool = True
    unindexed: int = 0


@runtime_checkable
class SessionSearch(Protocol):
    """A session store with a full-text index of its sessions."""

    async def search_sessions(
        self,
        *,
        app_name: str,
        text: str,
        user_id: str | None = None,
        page_size: int = 50,
        page_token: str | None = None,
    ) -> FoundSessions:
        """Find sessions that hold all words of a text, without regard to case.

        A session holds the words of its id, of its title, of what its user and its agents said (the
        first 4,096 characters of each event), of the names of its tools, and of its errors. All
        words have to occur within one stretch of 64 events. Of the last word, three letters or
        more may be its beginning. Text in scripts without spaces is found by each pair of
        neighbouring characters.

        The call first indexes a bounded number of events that are new.

        Args:
          app_name: the app.
          text: the words; one without any word finds nothing.
          user_id: the user; None for all users.
          page_size: at most so many sessions.
          page_token: where the page before ended.

        Raises:
          InputValidationError: the size is not positive, or the token is not one of the store's.
          StoreError: the store cannot be reached, or has no full-text index.
        """
        ...

    async def index_sessions(self) -> int:
        """Index a bounded number of events that are not indexed yet.

        Returns:
          How many sessions remain with such events, counted up to 1,000.

        Raises:
          StoreError: the store cannot be reached or written, or has no full-text index.
        """
        ...


class Unindexed(NamedTuple):
    """A session with the documents that are to be written.

    Attributes:
      sid: its number.
      revision: number of its newest event when it was read.
      documents: number and text of each.
      ends: whether they include that event.
    """

    sid: int
    revision: int
    documents: list[tuple[int, str]]
    ends: bool


def title_of(metadata: Any) -> str | None:
    """Return what a person called a session, by the value of `TITLE_KEY` in its state."""
    found: Any = cast(dict[str, Any], metadata) if isinstance(metadata, dict) else {}
    name = found.get("displayName")
    return name if isinstance(name, str) and name else None
