"""What a store of ours offers beyond the session service's port: rows beside events, and a fence.

The runner looks for `DurableStore` by shape. A user's own session service need not have it; the
runner then appends one event at a time and keeps no journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from ..events.event import Event
from .base_session_service import GetSessionConfig
from .session import Session


@dataclass(frozen=True, slots=True)
class JournalRow:
    """A step of one tool call, written in its event's own transaction.

    Attributes:
      invocation_id: the run.
      call_id: the stored function call id; also the source of the idempotency key.
      status: `started` before the tool runs, `finished` when its result is known.
      tool: name of the tool.
      result: response and effects as JSON text; None while started.
    """

    invocation_id: str
    call_id: str
    status: Literal["started", "finished"]
    tool: str
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Fence:
    """Ownership of a session: an append with an older token than the stored one is refused.

    Attributes:
      owner: who holds the lease.
      token: number that rises with every acquisition.
    """

    owner: str
    token: int


@runtime_checkable
class DurableStore(Protocol):
    """A session store that commits several events and their rows in one transaction."""

    async def open_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Load a session for a run: its log is shared with the store, no events are built."""
        ...

    async def append(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
    ) -> None:
        """Commit events and rows together, then show them in `session`.

        Raises:
          StaleSessionError: the fence is older than the stored one.
          SessionNotFoundError: the session does not exist.
        """
        ...

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the state with which the session was created, without keys of other scopes.

        Raises:
          SessionNotFoundError: the session does not exist.
        """
        ...
