"""Whether a request's session was deleted while it waited or ran, and its id perhaps used again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ..errors import LeaseLostError, RunHandedOverError, SessionNotFoundError, StoreError
from ..sessions.session import Session, stored_number
from ..sessions.store.durable_store import Place
from .store_access import StoreAccess

_LONGEST_CHECK = 1.0  # seconds; a lease is lost, too, where the store does not answer


class SessionWatch:
    """Tells the session in which a request waits from a later one under its id.

    Args:
      store: the session's store.
      place: the session.
    """

    def __init__(self, store: StoreAccess, place: Place) -> None:
        self._store = store
        self._place = place
        self._number = 0

    async def begin_waiting(self) -> None:
        """Note in which session the request waits; idempotent."""
        if not self._number:
            with suppress(SessionNotFoundError):  # it is created when the turn begins
                self._number = stored_number(await self._store.load(self._place))

    def check(self, session: Session) -> None:
        """Refuse a session that was created while the request waited in a deleted one.

        Raises:
          SessionNotFoundError: it is not the session in which the request waited.
        """
        if self._number and stored_number(session) != self._number:
            raise self._session_is_gone()

    async def explain_loss(self, error: BaseException, session: Session | None) -> None:
        """Raise SessionNotFoundError in place of a lost lease whose session was deleted.

        Args:
          error: what ended the run.
          session: the run's session.
        """
        lost = isinstance(error, LeaseLostError) and not isinstance(error, RunHandedOverError)
        if session is None or not lost:
            return
        try:
            async with asyncio.timeout(_LONGEST_CHECK):
                stored = await self._store.load(self._place)
        except SessionNotFoundError:
            raise self._session_is_gone() from None
        except (StoreError, TimeoutError):
            return
        if stored_number(stored) != stored_number(session):
            raise self._session_is_gone() from None

    def _session_is_gone(self) -> SessionNotFoundError:
        return SessionNotFoundError(
            f"Session not found: {self._place.session_id} was deleted while a request waited or "
            "ran in it. Nothing more of the request is run or stored."
        )
