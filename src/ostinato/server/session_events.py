"""Endpoints of a session's events: pages by number, and a stream that can be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Literal

from pydantic import Field
from starlette.responses import Response

from .._aclosing import Aclosing
from ..durable.process_identity import is_dead
from ..events.event import Event
from ..execution.recovery.blockers import is_abandoned, is_open
from ..execution.run_handle import Run
from ..execution.store_access import durable_store
from ..sessions.store.durable_store import Place
from .endpoint import SESSION_PATH, Call, Endpoint
from .host import Host
from .place import load_records
from .problems import invalid_input
from .runs import StrictRecord, WireRecord, error_json, numbered_frames
from .session_json import event_json
from .sse import encode_frame, end_frame

# Marks between the events, for clients that show whether a run is in progress.
_RUNNING = b"event: running\ndata: {}\n\n"
_IDLE = b"event: idle\ndata: {}\n\n"
_POLL = 1.0  # seconds between polls of the store for events of other processes
_ABANDONED_LEASES = 3  # lengths of a lease within which another process should take over

# `abandoned`: there is open work, but its process has ended.
_Work = Literal["idle", "running", "abandoned"]


class EventsQuery(StrictRecord):
    """Which events.

    Attributes:
      after: those with a higher number, lowest first.
      before: those with a lower number, the highest of them; not together with `after`.
      limit: so many at most.
    """

    after: int | None = Field(default=None, ge=0, le=2**53)
    before: int | None = Field(default=None, ge=0, le=2**53)
    limit: int = Field(default=100, ge=1, le=1000)


class NumberedEvent(WireRecord):
    """An event and its number in the session's log, which counts from 1."""

    number: int
    event: Event


class EventPage(WireRecord):
    """A page of events, the lowest number first.

    Attributes:
      newest: number of the session's newest event.
    """

    events: list[NumberedEvent]
    newest: int


class StreamQuery(StrictRecord):
    """Where a stream begins and ends.

    Attributes:
      after: number of the last event that is known; the header `Last-Event-ID` comes before it.
      until: `idle` ends it once nothing runs or waits in the session, in any process; it continues
        otherwise.
    """

    after: int = Field(default=0, ge=0, le=2**53)
    until: Literal["idle"] | None = None


async def list_events(call: Call) -> Response:
    """Return some of a session's events with their numbers."""
    query: EventsQuery = call.query
    if query.after is not None and query.before is not None:
        raise invalid_input("Give after or before, not both.")
    first, records = await load_records(call.host.services.sessions, call.read_place())
    if query.before is not None:
        end = max(0, min(query.before - first, len(records)))
        start = max(0, end - query.limit)
    else:
        start = max(0, (query.after or 0) + 1 - first)
        end = start + query.limit
    rows = [
        b'{"number":%d,"event":%b}' % (number, event_json(record.event()))
        for number, record in enumerate(records[start:end], first + start)
    ]
    newest = first + len(records) - 1
    return Response(
        b'{"newest":%d,"events":[%b]}' % (newest, b",".join(rows)), media_type="application/json"
    )


async def stream_events(call: Call) -> Response:
    """Stream the stored events after a number, then those of the runs in progress."""
    place = call.read_place()
    after = call.query.after
    known = call.request.headers.get("last-event-id", "")
    if known:
        if not (known.isascii() and known.isdecimal() and len(known) < 17):
            raise invalid_input("Last-Event-ID has to be the number of an event.")
        after = int(known)
    await load_records(call.host.services.sessions, place)
    frames = _stream_frames(call.host, place, after, until_idle=call.query.until == "idle")
    return call.stream_frames(frames)


async def _stream_frames(
    host: Host, place: Place, newest: int, *, until_idle: bool
) -> AsyncGenerator[bytes, None]:
    last_mark, complete = b"", False
    patience = _Patience(_ABANDONED_LEASES * host.settings.lease_seconds)
    try:
        while True:
            # Read before the events, so that they include the end of a run in the meantime.
            runs = host.runs.runs_of(place)
            work = "idle" if runs else await _work_elsewhere(host, place, inbox=until_idle)
            async for number, one in _stored_frames(host, place, newest):
                newest, last_mark = number, b""
                yield one
            if runs:
                last_mark = _RUNNING
                yield last_mark
                async with Aclosing(_follow_run(host, place, runs[0], newest)) as following:
                    async for number, one in following:
                        newest = number
                        yield one
                continue
            complete = until_idle and work == "idle"
            if complete or host.draining or (until_idle and patience.is_over(work, newest)):
                break
            mark = _IDLE if work == "idle" else _RUNNING
            if mark is not last_mark:
                yield mark
            last_mark = mark
            await host.runs.wait_for_change(place, _POLL)
    except Exception as error:  # boundary: the stream has started, so the error goes into it
        complete = False
        yield encode_frame(error_json(error))
    unfinished = {"complete": False} if until_idle and not complete else {}
    yield end_frame({"newest": newest, **unfinished})


class _Patience:
    """The longest time that a stream waits for another process to take over abandoned work."""

    def __init__(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._seconds = seconds
        self._since = self._clock()
        self._newest = -1

    def is_over(self, work: _Work, newest: int) -> bool:
        """Return whether the work has been abandoned for that time, without a new event."""
        if work != "abandoned" or newest != self._newest:
            self._since, self._newest = self._clock(), newest
        return self._clock() - self._since >= self._seconds


async def _work_elsewhere(host: Host, place: Place, *, inbox: bool) -> _Work:
    """Return the state of a session that no client's run of this process uses, from the store.

    Args:
      host: the server's host.
      place: the session.
      inbox: whether queued messages count.
    """
    service = host.services.sessions
    durable = durable_store(service)
    if durable is None:
        return "idle"
    await service.flush()  # the lease of a run that has just ended may not be released yet
    # Read the inbox first: a message leaves it in the transaction that opens the lease.
    messages = await durable.messages(place) if inbox else ()
    lease = await durable.lease(place)
    if lease is not None and is_open(lease):
        return "abandoned" if is_abandoned(lease) else "running"
    if any(one.owner and one.left > 0 and not is_dead(one.process) for one in messages):
        return "running"
    return "abandoned" if messages else "idle"


async def _stored_frames(
    host: Host, place: Place, newest: int, before: int | None = None
) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield the frames of the stored events after one number and before another."""
    first, records = await load_records(host.services.sessions, place)
    start = max(0, newest + 1 - first)
    end = len(records) if before is None else before - first
    for number, record in enumerate(records[start:end], first + start):
        yield number, encode_frame(event_json(record.event()), number)


async def _follow_run(
    host: Host, place: Place, run: Run, newest: int
) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield the frames of a run's events after a number, including partial events.

    Stored events between them, such as the message that the run answers, come from the store.
    """
    past = run.so_far()
    start = len(past)
    while start and not 0 < run.numbers.get(past[start - 1].id, 0) <= newest:
        start -= 1
    begun = False
    async with Aclosing(run.follow(start)) as events:
        async for event in events:
            number = 0 if event.partial else run.numbers.get(event.id, 0)
            if not begun or number > newest + 1:
                begun = True
                async for stored, one in _stored_frames(host, place, newest, number or None):
                    newest = stored
                    yield stored, one
            if event.partial:
                yield newest, encode_frame(event_json(event))
            elif number > newest:
                newest = number
                for one in numbered_frames(event, number, split=False):
                    yield number, one


ENDPOINTS = (
    Endpoint(
        "GET",
        f"{SESSION_PATH}/events",
        "Return some of a session's events with their numbers",
        list_events,
        query=EventsQuery,
        answer=EventPage,
    ),
    Endpoint(
        "GET",
        f"{SESSION_PATH}/events/stream",
        "Stream a session's events: the stored ones after a number, then what runs",
        stream_events,
        query=StreamQuery,
        answer=Event,
        media="text/event-stream",
        long=True,
        headers=("Last-Event-ID",),
    ),
)
