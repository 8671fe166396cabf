"""Conversion of a session's events into the invocations of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import types
from ..events.event import Event
from .app_details import AppDetails
from .eval_case import Invocation, InvocationEvent, InvocationEvents

_USER = "user"


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
    shown: list[Event] = []
    for event in events:
        if (event.author or "agent").lower() == _USER:
            message, timestamp = event.content or types.Content(parts=[]), event.timestamp
            continue
        if event.content is None or not event.content.parts:
            continue
        if event.is_final_response():
            final = event
        if any(_is_shown(part) for part in event.content.parts):
            shown.append(event)
    return Invocation(
        invocation_id=invocation_id,
        user_content=message,
        final_response=final.content if final is not None else None,
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
