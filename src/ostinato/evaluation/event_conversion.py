"""Conversion of a session's events into the invocations of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import types
from ..events.event import Event
from ..events.node_call import NodeCallRecord
from ..sessions.log.event_log import EventLog, EventRecord, visible_indexes
from ..sessions.session import Session, log_of
from .app_details import AppDetails
from .eval_case import Invocation, InvocationEvent, InvocationEvents

_USER = "user"


def visible_events(session: Session) -> list[Event]:
    """Return the events of a session that no rewind hides, oldest first.

    Args:
      session: the session, with all its events.
    """
    events, log = session.events, log_of(session)
    if len(log) != len(events):  # a stand-in, or loaded in part
        log = EventLog(EventRecord.of(event) for event in events)
    return [events[index] for index in reversed([*visible_indexes(log)])]


def convert_events(
    events: Sequence[Event], app_details: Mapping[str, AppDetails] | None = None
) -> list[Invocation]:
    """Return one invocation for each invocation id, in order.

    Args:
      events: the events of a session, or of a run with the user's message in front.
      app_details: what the agents were given, by invocation id.
    """
    by_id: dict[str, list[Event]] = {}
    for event in events:
        by_id.setdefault(event.invocation_id, []).append(event)
    details = app_details or {}
    return [_convert_one(key, group, details.get(key)) for key, group in by_id.items()]


def _convert_one(
    invocation_id: str, events: list[Event], app_details: AppDetails | None
) -> Invocation:
    message, timestamp = types.Content(parts=[]), 0.0
    final: Event | None = None
    output: types.Content | None = None
    shown: list[Event] = []
    for event in events:
        if (event.author or "agent").lower() == _USER:
            message, timestamp = event.content or types.Content(parts=[]), event.timestamp
            continue
        node_call = NodeCallRecord.of(event)
        if node_call is not None:
            shown.append(_show_node_call(event, node_call))
        output = _read_output(event) or output
        if event.content is None or not event.content.parts:
            continue
        if event.is_final_response():
            final = event
        if any(_is_shown(part) for part in event.content.parts):
            shown.append(event)
    return Invocation(
        invocation_id=invocation_id,
        user_content=message,
        final_response=final.content if final is not None else output,
        intermediate_data=InvocationEvents(
            invocation_events=[
                InvocationEvent(author=event.author, content=event.content)
                for event in shown
                if event is not final or event.get_function_calls()
            ]
        ),
        creation_timestamp=timestamp,
        app_details=app_details,
    )


def _read_output(event: Event) -> types.Content | None:
    """Return the output of a workflow as the answer that it is where no message ends the turn."""
    found = read_final_output(event)
    if found is None:
        return None
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return types.Content(role="model", parts=[types.Part(text=text)])


def read_final_output(event: Event) -> Any:
    """Return the output that a workflow ends with, as JSON; None if the event has no such output.

    Args:
      event: an event of the workflow or of one of its nodes.
    """
    if all("/" in path for path in event.node_info.output_for or ()):
        return None
    return event.model_dump(mode="json", include={"output"})["output"]


def _show_node_call(event: Event, node_call: NodeCallRecord) -> Event:
    """Return an event with the tool call of a node and its response, as those of agents."""
    call_id, name = f"{event.invocation_id}:{node_call.path}", node_call.tool
    call = types.FunctionCall(id=call_id, name=name, args=node_call.args)
    answer = types.FunctionResponse(id=call_id, name=name, response=node_call.response)
    parts = [types.Part(function_call=call), types.Part(function_response=answer)]
    return Event(author=event.author, content=types.Content(role="model", parts=parts))


def _is_shown(part: types.Part) -> bool:
    return bool(
        part.function_call is not None
        or part.function_response is not None
        or part.text
        or part.inline_data is not None
    )


def has_message(invocation: Invocation) -> bool:
    """Return whether a user began an invocation with text or files, not with an answer to a call.

    Args:
      invocation: the invocation.
    """
    parts = invocation.user_content.parts or []
    return bool(parts) and all(part.function_response is None for part in parts)
