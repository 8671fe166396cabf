"""The merge of parallel calls' responses into one event, and the search for a response's call.

Programs for google-adk import these functions from `functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from .... import types
from ....events.event import Event
from ....events.event_actions import ACTIONS_TEMPLATE, EventActions
from ....events.ui_widget import UiWidget
from ....sessions.log.ordered_delta import OrderedDelta, merge_deltas
from ....sessions.session import copy_state
from .tool_result import CallOutcome


def merge_parallel_function_response_events(function_response_events: list[Event]) -> Event:
    """Merge the response events of one response's calls (Spec 2 §6.8).

    Parts are joined in call order, actions by `merge_actions`; the timestamp and live session are
    those of the first event.

    Raises:
      ValueError: there is nothing to merge.
    """
    if not function_response_events:
        raise ValueError("No function response events provided.")
    first = function_response_events[0]
    if len(function_response_events) == 1:
        return first
    parts: list[types.Part] = []
    for event in function_response_events:
        parts.extend((event.content.parts if event.content else None) or ())
    return Event(
        invocation_id=first.invocation_id,
        author=first.author,
        branch=first.branch,
        timestamp=first.timestamp,
        live_session_id=first.live_session_id,
        content=types.Content(role="user", parts=parts),
        actions=merge_actions([event.actions for event in function_response_events]),
    )


def merge_outcomes(outcomes: Sequence[CallOutcome]) -> CallOutcome:
    """Merge the outcomes of parallel calls; the first exception counts."""
    events = [o.event for o in outcomes if o.event is not None]
    return CallOutcome(
        merge_parallel_function_response_events(events) if events else None,
        next((o.error for o in outcomes if o.error is not None), None),
        [call_id for o in outcomes for call_id in o.rerun_ids],
        [call_id for o in outcomes for call_id in o.ended_ids],
    )


def merge_actions(actions: Sequence[EventActions]) -> EventActions:
    """Merge the effects of parallel calls, given in call order.

    State: the value written last in time wins for each key. Artifacts: the highest version. Widgets
    and lists of routes are joined. Requests and checkpoints are merged by key. For all other
    effects the last call that set one wins.
    """
    effects: dict[str, Any] = {}
    for one in actions:
        for name, value in vars(one).items():
            if value is None or value == {}:
                continue
            join = _JOINS.get(name)
            effects[name] = join(effects[name], value) if join and name in effects else value
    deltas = [one.state_delta for one in actions]
    if any(isinstance(delta, OrderedDelta) for delta in deltas):
        effects["state_delta"] = merge_deltas(deltas)
    else:
        effects["state_delta"] = merged = dict[str, Any]()
        for delta in deltas:
            deep_merge_dicts(merged, copy_state(delta))
    return ACTIONS_TEMPLATE.create(**effects)


def _join_versions(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {**first, **{name: max(v, first.get(name, v)) for name, v in second.items()}}


def _join_keys(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return deep_merge_dicts(copy_state(first), second)


def _join_widgets(first: list[UiWidget], second: list[UiWidget]) -> list[UiWidget]:
    """Join widgets; the later of two with the same id wins."""
    return list({widget.id: widget for widget in (*first, *second)}.values())


def _join_routes(first: Any, second: Any) -> Any:
    """Join routes if one is a list; the later of two single routes wins."""
    if not any(isinstance(route, list) for route in (first, second)):
        return second
    routes = [*_as_list(first), *_as_list(second)]
    kept: dict[tuple[type, Any], Any] = {(type(route), route): route for route in routes}  # 1, True
    return list(kept.values())


def _as_list(route: object) -> list[Any]:
    return cast(list[Any], route) if isinstance(route, list) else [route]


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "artifact_delta": _join_versions,
    "requested_auth_configs": _join_keys,
    "requested_tool_confirmations": _join_keys,
    "agent_state": _join_keys,
    "render_ui_widgets": _join_widgets,
    "route": _join_routes,
}


def deep_merge_dicts(d1: dict[str, Any], d2: dict[str, Any]) -> dict[str, Any]:
    """Merge `d2` into `d1`, nested dicts included, and return `d1`."""
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
