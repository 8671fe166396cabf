"""Endpoints of a session's events: pages by number, and a stream that can be taken up again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal

from pydantic import Field
from starlette.responses import Response

from .._aclosing import Aclosing
from ..events.event import Event
from ..running.ahead import is_open
from ..running.run import Run
from ..running.store_access import durable_store
from ..sessions._durable_store import Place
from .endpoint import Call, Endpoint
from .host import Host
from .place import numbered
from .problems import Problem
from .runs import Wire, error_json, numbered_frames
from .sse import SseResponse, end_frame, frame
from .wire import event_json

# Marks between the events, for who shows whether something runs.
_RUNNING = b"event: running\ndata: {}\n\n"
_IDLE = b"event: idle\ndata: {}\n\n"
_POLL = 1.0  # seconds after which the store is asked for what other processes have added


class EventsQuery(Wire):
    """Which events.

    Attributes:
      after: those with a higher number, lowest first.
      before: those with a lower number, the highest of them; not together with `after`.
      limit: so many at most.
    """

    after: int | None = Field(default=None, ge=0, le=2**53)
    before: int | None = Field(default=None, ge=0, le=2**53)
    limit: int = Field(default=100, ge=1, le=1000)


class NumberedEvent(Wire):
    """An event and its number in the session's log, which counts from 1."""

    number: int
    event: Event


class EventPage(Wire):
    """A page of events, the lowest number first.

    Attributes:
      newest: number of the session's newest event.
    """

    events: list[NumberedEvent]
    newest: int


class StreamQuery(Wire):
    """Where a stream begins and ends.

    Attributes:
      after: number of the last event that is known; the header `Last-Event-ID` comes before it.
      until: `idle` ends it once nothing runs here; it goes on otherwise.
    """

    after: int = Field(default=0, ge=0, le=2**53)
    until: Literal["idle"] | None = None


async def page(call: Call) -> Response:
    """Return some of a session's events with their numbers."""
    query: EventsQuery = call.query
    if query.after is not None and query.before is not None:
        raise Problem(400, "InputValidationError", "Give after or before, not both.")
    first, records = await numbered(call.host.services.sessions, call.place())
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


async def stream(call: Call) -> Response:
    """Send the stored events after a number, then those of what runs as they come."""
    place, settings = call.place(), call.host.settings
    after = call.query.after
    known = call.request.headers.get("last-event-id", "")
    if known:
        if not (known.isascii() and known.isdecimal() and len(known) < 17):
            raise Problem(400, "InputValidationError", "Last-Event-ID is the number of an event.")
        after = int(known)
    await numbered(call.host.services.sessions, place)
    frames = _frames(call.host, place, after, until_idle=call.query.until == "idle")
    return SseResponse(frames, heartbeat=settings.heartbeat, write_timeout=settings.write_timeout)


async def _frames(
    host: Host, place: Place, newest: int, *, until_idle: bool
) -> AsyncGenerator[bytes, None]:
    told = b""
    try:
        while True:
            runs = host.runs.of(place)  # before the store is read: what ends meanwhile is in it
            async for number, one in _stored(host, place, newest):
                newest, told = number, b""
                yield one
            if runs:
                told = _RUNNING
                yield told
                async with Aclosing(_follow(host, place, runs[0], newest)) as following:
                    async for number, one in following:
                        newest = number
                        yield one
                continue
            if host.draining or until_idle:
                break
            mark = _RUNNING if await _runs_elsewhere(host, place) else _IDLE
            if mark is not told:
                yield mark
            told = mark
            await host.runs.news(place, _POLL)
    except Exception as error:  # boundary: the stream has begun; the client is told in it
        yield frame(error_json(error))
    yield end_frame({"newest": newest})


async def _runs_elsewhere(host: Host, place: Place) -> bool:
    """Tell whether another process runs a session, or one that is gone left something to go on."""
    service = host.services.sessions
    durable = durable_store(service)
    if durable is None:
        return False
    await service.flush()  # what ended just now may not have been given back
    lease = await durable.lease(place)
    return lease is not None and bool(lease.invocation_id) and is_open(lease)


async def _stored(
    host: Host, place: Place, newest: int, before: int | None = None
) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield the stored events beyond a number, and before another."""
    first, records = await numbered(host.services.sessions, place)
    start = max(0, newest + 1 - first)
    end = len(records) if before is None else before - first
    for number, record in enumerate(records[start:end], first + start):
        yield number, frame(event_json(record.event()), number)


async def _follow(
    host: Host, place: Place, run: Run, newest: int
) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield the frames of a run's events that are newer than a number, and of parts of responses
    that are not there as a whole. What was stored between them, such as the message that the run
    answers, comes from the store.
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
                async for stored, one in _stored(host, place, newest, number or None):
                    newest = stored
                    yield stored, one
            if event.partial:
                yield newest, frame(event_json(event))
            elif number > newest:
                newest = number
                for one in numbered_frames(event, number, split=False):
                    yield number, one


_SESSION = "/apps/{app}/users/{user}/sessions/{session}"

ENDPOINTS = (
    Endpoint(
        "GET",
        f"{_SESSION}/events",
        "Return some of a session's events with their numbers",
        page,
        query=EventsQuery,
        answer=EventPage,
        problems=(404, 503),
    ),
    Endpoint(
        "GET",
        f"{_SESSION}/events/stream",
        "Stream a session's events: the stored ones after a number, then what runs",
        stream,
        query=StreamQuery,
        answer=Event,
        media="text/event-stream",
        problems=(404, 503),
        long=True,
        headers=("Last-Event-ID",),
    ),
)
