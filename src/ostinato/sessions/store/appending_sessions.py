"""AppendingSessionService: the base of session services that append in transactions."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from ...errors import StaleSessionError
from ...events.event import Event
from ..base_session_service import BaseSessionService
from ..log.call_requests import claims_of_event
from ..session import Session
from .durable_store import CallChanges, Claim, Fence, JournalRow


class AppendingSessionService(BaseSessionService):
    """Session service whose `append` stores events, rows and claims in one transaction."""

    @abc.abstractmethod
    async def append(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
        changes: CallChanges | None = None,
    ) -> Fence | None:
        """Store events and rows together; see `DurableStore`."""

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and show it in `session`; partial events are not stored.

        Raises:
          CallAlreadyAnsweredError: the event answers a request of the runtime that another
            message has answered. Nothing was written.
          RequestWithdrawnError: the event answers a request that a rewind hides. Nothing was
            written.
        """
        if event.partial:
            return event
        changes = claims_of_event(session, event)
        try:
            await self.append(session, (event,), changes=changes)
        except StaleSessionError:
            if changes is not None:
                stored = await self.get_session(
                    app_name=session.app_name, user_id=session.user_id, session_id=session.id
                )
                if stored is not None:
                    claims_of_event(stored, event)  # raises if a rewind is the reason
            raise
        return event
