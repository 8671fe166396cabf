"""WaitingCalls: the calls of sessions that wait for a person."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from .. import types
from ..errors import CallNotOpenError, SessionNotFoundError
from ..events.event import Event, NodeInfo
from ..events.pending import Pending, pending_calls
from ..events.tool_origin import TOOL_ORIGINS
from ..execution.store_access import durable_store, withdraw_lost_requests
from ..sessions.base_session_service import BaseSessionService
from ..sessions.log.call_requests import (
    call_requests,
    read_node_path,
    read_origin,
    read_question,
)
from ..sessions.log.event_log import EventLog, EventRecord
from ..sessions.store.durable_store import OpenRequest, Place
from .place import load_records

_REMEMBERED = 10_000  # sessions


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """An open call, and the event that asks for its answer.

    Attributes:
      place: the session.
      pending: the call.
      event: the event.
    """

    place: Place
    pending: Pending
    event: Event


@dataclass(frozen=True, slots=True)
class WaitingPage:
    """A page of open calls; `next` identifies the next page, or is None."""

    calls: list[WaitingCall]
    next: int | None


def _to_waiting_call(one: OpenRequest) -> WaitingCall | None:
    """Convert a stored request to a waiting call."""
    call, tool = read_question(one.request)
    origin = read_origin(one.request)
    origins = {(tool or call).id or "": origin.to_json()} if origin is not None else None
    parts = [types.Part(function_call=each) for each in (tool, call) if each is not None]
    event = Event(
        id=one.request.event_id,
        invocation_id=one.request.invocation_id,
        author=one.request.author,
        timestamp=one.request.asked,
        content=types.Content(role="model", parts=parts),
        long_running_tool_ids={one.request.call_id},
        node_info=NodeInfo(path=read_node_path(one.request)),
        custom_metadata=origins and {TOOL_ORIGINS: origins},
    )
    found = pending_calls([event])
    return WaitingCall(one.place, found[0], event) if found else None


class WaitingCalls:
    """Finds open calls, with a cache by session."""

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service
        self._known: OrderedDict[Place, tuple[float, list[WaitingCall]]] = OrderedDict()

    async def list_cached(self, place: Place, updated: float) -> list[WaitingCall]:
        """Return the open calls of a session, from the cache unless it has changed since."""
        known = self._known.get(place)
        if known is not None and known[0] == updated:
            self._known.move_to_end(place)
            return known[1]
        try:
            found = await self.load_calls(place)
        except SessionNotFoundError:  # deleted in the meantime
            return []
        self._known[place] = (updated, found)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def load_page(
        self, app_name: str, user_id: str | None, limit: int, after: int | None
    ) -> WaitingPage | None:
        """Return a page of the open calls in the sessions of an app, newest first.

        Args:
          app_name: the app.
          user_id: the user; None for all users.
          limit: the size of the page.
          after: `next` of the previous page.

        Returns:
          The page, or None if the session service has no such query.
        """
        durable = durable_store(self._service)
        if durable is None:
            return None
        found = await durable.open_requests(app_name, user_id, limit=limit, after=after)
        shown = [_to_waiting_call(one) for one in found.requests]
        return WaitingPage([one for one in shown if one is not None], found.next)

    async def find_call(self, place: Place, wanted: str) -> WaitingCall:
        """Return a call of a session, open or answered.

        Args:
          place: the session.
          wanted: id of the call; not that of the tool's own call, which can be asked about more
            than once, and an answer is for one question.

        Raises:
          SessionNotFoundError: the session does not exist.
          CallNotOpenError: the runtime made no such call.
        """
        _, records = await load_records(self._service, place)
        for one in _waiting_in(place, records):
            if wanted == one.pending.call.id:
                return one
        log = EventLog(records)
        for record in reversed(records):
            if not record.long_running or record.author == "user":
                continue
            event = record.event()
            for request in call_requests(event, log):
                one = _to_waiting_call(OpenRequest(place, request))
                if one and wanted == one.pending.call.id:
                    return one
        await self._withdraw_lost(place, wanted)
        raise CallNotOpenError(f"No call {wanted!r} waits in this session.")

    async def _withdraw_lost(self, place: Place, call_id: str) -> None:
        durable = durable_store(self._service)
        session = await durable.open_session(**place._asdict()) if durable is not None else None
        if session is not None:
            await withdraw_lost_requests(self._service, session, (call_id,))

    async def load_calls(self, place: Place) -> list[WaitingCall]:
        """Return the open calls of a session, oldest first.

        Raises:
          SessionNotFoundError: the session does not exist.
        """
        _, records = await load_records(self._service, place)
        return _waiting_in(place, records)


def _waiting_in(place: Place, records: Sequence[EventRecord]) -> list[WaitingCall]:
    """Return the open calls in the records of a session, oldest first."""
    if not any(record.long_running for record in records):
        return []
    events = [record.event() for record in list(records)]
    by_id = {event.id: event for event in events}
    return [WaitingCall(place, one, by_id[one.event_id]) for one in pending_calls(events)]
