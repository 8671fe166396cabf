"""Responses of several calls as one event, and the way back from a response to its call.

`functions.py` offers these functions under the names ADK's programs import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ... import types
from ...events.event import Event
from ...events.event_actions import EventActions


def merge_parallel_function_response_events(function_response_events: list[Event]) -> Event:
    """Merge the response events of one response's calls (Spec 2 §6.8).

    Parts are joined in call order, actions merged deeply, the first event's timestamp kept.

    Raises:
      ValueError: there is nothing to merge.
    """
    if not function_response_events:
        raise ValueError("No function response events provided.")
    first = function_response_events[0]
    if len(function_response_events) == 1:
        return first
    parts: list[types.Part] = []
    effects: dict[str, Any] = {}
    for event in function_response_events:
        parts.extend((event.content.parts if event.content else None) or ())
        deep_merge_dicts(effects, event.actions.model_dump(exclude_none=True))
    return Event(
        invocation_id=first.invocation_id,
        author=first.author,
        branch=first.branch,
        timestamp=first.timestamp,
        content=types.Content(role="user", parts=parts),
        actions=EventActions.model_validate(effects),
    )


def deep_merge_dicts(d1: dict[str, Any], d2: dict[str, Any]) -> dict[str, Any]:
    """Merge `d2` into `d1`, dicts within dicts too, and return `d1`."""
    for key, value in d2.items():
        present = d1.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            d1[key] = deep_merge_dicts(cast(dict[str, Any], present), cast(dict[str, Any], value))
        else:
            d1[key] = value
    return d1


def find_event_by_function_call_id(events: Sequence[Event], function_call_id: str) -> Event | None:
    """Return the newest event that holds the call with this id."""
    for event in reversed(events):
        if any(call.id == function_call_id for call in event.get_function_calls()):
            return event
    return None


def find_matching_function_call(events: Sequence[Event]) -> Event | None:
    """Return the event whose call the last event answers, or None (Spec 2 §1.4)."""
    responses = events[-1].get_function_responses() if events else []
    if not responses or responses[0].id is None:
        return None
    return find_event_by_function_call_id(events[:-1], responses[0].id)
