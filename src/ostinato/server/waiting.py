"""Waiting: the calls of sessions that wait for a person, remembered until a session changes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from ..errors import SessionNotFoundError
from ..events.event import Event
from ..events.pending import Pending, pending_calls
from ..sessions._durable_store import Place
from ..sessions.base_session_service import BaseSessionService
from .place import numbered

_REMEMBERED = 10_000  # sessions


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that waits, and the event that asks.

    Attributes:
      place: its session.
      pending: the call.
      event: the event.
    """

    place: Place
    pending: Pending
    event: Event


class Waiting:
    """Finds the calls that wait.

    Args:
      service: keeps the sessions.
    """

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service
        self._known: OrderedDict[Place, tuple[float, list[WaitingCall]]] = OrderedDict()

    async def listed(self, place: Place, updated: float) -> list[WaitingCall]:
        """Return the calls of a session that was changed last at a time, oldest first."""
        known = self._known.get(place)
        if known is not None and known[0] == updated:
            self._known.move_to_end(place)
            return known[1]
        try:
            found = await self.of(place)
        except SessionNotFoundError:  # it was deleted just now
            return []
        self._known[place] = (updated, found)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def of(self, place: Place) -> list[WaitingCall]:
        """Return the calls of a session, oldest first.

        Raises:
          SessionNotFoundError: there is no such session.
        """
        _, records = await numbered(self._service, place)
        if not any(record.long_running for record in records):
            return []
        events = [record.event() for record in list(records)]
        by_id = {event.id: event for event in events}
        return [WaitingCall(place, one, by_id[one.event_id]) for one in pending_calls(events)]
