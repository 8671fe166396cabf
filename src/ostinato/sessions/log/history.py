"""Imported history: events of a client or a file are stored, but never acted on.

Calls among them that have no outcome are closed, no answer to them runs anything, and their
invocations cannot be resumed.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ... import _clock, types
from ...events.event import NODE_CALL, REJECTED, Event, path_in_graph, place_in_tree
from ...events.pending import IMPORTED
from ...models.llm_request import CLIENT_ID_PREFIX
from .call_requests import call_of, kind_of, original_call_id
from .event_log import EventLog, EventRecord, visible_indexes, visible_records

_NOT_RUN = "not run: imported"
_RUNTIME = "ostinato:"  # what the keys of the runtime's marks begin with


def mark_imported(events: Sequence[Event]) -> list[Event]:
    """Return outside events in their stored form, followed by events that close their open calls.

    The runtime's own marks would carry authority and are removed. Events of invocations that the
    runtime could resume are marked as imported; the others stay unchanged.
    """
    events = _place_agents([_without_marks(event) for event in events])
    events = _with_distinct_calls(events)
    closing = _closing_events(events)
    last = {event.invocation_id: event for event in events}
    unfinished = filter(_is_unfinished, last.values())
    marked = {one.invocation_id for one in (*closing, *unfinished, *filter(_is_resumable, events))}
    return [
        *(_mark_event(event) if event.invocation_id in marked else event for event in events),
        *closing,
    ]


def _with_distinct_calls(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events with new ids for open calls that no response could reach.

    These are calls without an id, and calls whose id another call of the same or a later event
    has: a response belongs to the newest call with its id.
    """
    log = EventLog(EventRecord.of(event) for event in events)
    if not any(record.calls for record in log.records):
        return events
    renamed: set[tuple[int, int]] = set()  # index of the event, and of the call in it
    newest: dict[tuple[str, str], tuple[int, list[int]]] = {}  # the event, and its open calls
    for index in reversed(list(visible_indexes(log))):
        record = log.records[index]
        for call, name in record.responses:
            _, waiting = newest.get(_call_key(call, name), (0, []))
            del waiting[:1]
        called: dict[tuple[str, str], list[int]] = {}
        for position, (call, name) in enumerate(record.calls):
            called.setdefault(_call_key(call, name), []).append(position)
        for key, positions in called.items():
            earlier, waiting = newest.get(key, (0, []))
            renamed.update((earlier, position) for position in waiting)
            newest[key] = index, positions
    for (call, _), (index, waiting) in newest.items():
        same = [one for one, _ in log.records[index].calls if one == call]
        is_whole = bool(call) and len(waiting) == len(same)
        renamed.update((index, position) for position in waiting[is_whole:])
    found = list(events)
    for index in {index for index, _ in renamed}:
        found[index] = _rename_calls(events[index], {at for one, at in renamed if one == index})
    return found


def _call_key(call_id: str | None, name: str) -> tuple[str, str]:
    """Return what a response and its call share: the id, or the name if there is no id."""
    return (call_id, "") if call_id else ("", name)


def _rename_calls(event: Event, positions: Set[int]) -> Event:
    """Return a copy of an event whose calls at some positions have new ids."""
    parts: list[types.Part] = []
    position = 0
    for part in (event.content and event.content.parts) or ():
        call = part.function_call
        if call is not None:
            if position in positions:
                call = call.model_copy(update={"id": f"{CLIENT_ID_PREFIX}{_clock.new_id()}"})
                part = part.model_copy(update={"function_call": call})
            position += 1
        parts.append(part)
    content = types.Content(role=event.content and event.content.role, parts=parts)
    return event.model_copy(update={"content": content})


def _place_agents(events: Sequence[Event]) -> list[Event]:
    """Return the events with those of plain agents placed outside of graphs.

    JSON does not tell the two apart. Paths that begin with an agent that speaks itself are taken
    for those of agents, which gives them less authority: no graph is resumed by them.
    """
    roots = {
        event.node_name
        for event in events
        if event.content is not None
        and event.content.role == "model"
        and "/" not in event.node_info.path
    }
    placed: list[Event] = []
    for event in events:
        path = path_in_graph(event)
        if path and event.author != "user" and path.partition("@")[0] in roots:
            event = event.model_copy(update={"node_info": event.node_info.model_copy()})
            place_in_tree(event, path)
        placed.append(event)
    return placed


def is_imported(record: EventRecord) -> bool:
    """Return whether a record came from outside and would carry authority otherwise."""
    return record.has_metadata(IMPORTED)


def _is_resumable(event: Event) -> bool:
    """Return whether an event holds a request, or how far an agent or a graph had come."""
    actions = event.actions
    return bool(
        event.long_running_tool_ids
        or path_in_graph(event)
        or actions.agent_state is not None
        or actions.end_of_agent
    )


def _is_unfinished(last: Event) -> bool:
    """Return whether an invocation that ends with this event would go to the model again."""
    return bool(last.invocation_id) and (last.author == "user" or not last.is_final_response())


def _without_marks(event: Event) -> Event:
    metadata = event.custom_metadata
    if not metadata or all(_may_come(key) for key in metadata):
        return event
    kept = {key: value for key, value in metadata.items() if _may_come(key)}
    return event.model_copy(update={"custom_metadata": kept or None})


def _may_come(key: str) -> bool:
    return not key.startswith(_RUNTIME) or key in (IMPORTED, REJECTED, NODE_CALL)


def _mark_event(event: Event) -> Event:
    metadata = {**(event.custom_metadata or {}), IMPORTED: True}
    return event.model_copy(update={"custom_metadata": metadata})


def _closing_events(events: Sequence[Event]) -> list[Event]:
    """Return an event for each of the events whose calls have no outcome: it closes them."""
    records = visible_records(EventLog(EventRecord.of(event) for event in events))
    found: list[Event] = []
    for index, record in enumerate(records):
        names = [
            (call, name)
            for call, name in record.calls
            if call is not None and not _has_outcome(records[index + 1 :], record, call, name)
        ]
        if names:
            found.append(_close_calls(record, names, records))
    return found


def _has_outcome(
    later: Sequence[EventRecord], record: EventRecord, call_id: str, name: str
) -> bool:
    """Return whether a call came to its end: a tool's call has a response; a request, an answer
    and then the response of the call that it is about."""
    wanted = [call_id]
    if call_id in record.long_running and kind_of(name) in ("approval", "credential"):
        call = call_of(record, call_id)
        wanted.append(original_call_id(name, (call and call.args) or {}))
    elif call_id in record.long_running:
        return any(one.author == "user" and call_id in _answered_calls(one) for one in later)
    for one in later:
        if wanted and wanted[0] in _answered_calls(one):
            wanted.pop(0)
    return not wanted


def _answered_calls(record: EventRecord) -> list[str | None]:
    return [call for call, _ in record.responses]


def _close_calls(
    record: EventRecord, calls: Sequence[tuple[str, str]], records: Sequence[EventRecord]
) -> Event:
    closed = dict(calls)
    for call_id, name in calls:
        call = call_of(record, call_id)
        original = original_call_id(name, (call and call.args) or {})
        named = {one: tool for each in records for one, tool in each.calls if one == original}
        closed.update({one: tool for one, tool in named.items() if one})
    parts = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call_id, name=name, response={"error": _NOT_RUN}
            )
        )
        for call_id, name in closed.items()
    ]
    return Event(
        invocation_id=record.invocation_id,
        author=record.author,  # another author's response would not reach the call
        branch=record.branch,
        isolation_scope=record.scope,
        node_info=record.place(),
        content=types.Content(role="user", parts=parts),
        custom_metadata={IMPORTED: True},
    )
