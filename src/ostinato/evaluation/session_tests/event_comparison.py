"""Comparison of the events of two runs, without what differs in each run."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...events.event import Event
from ...events.request_input import REQUEST_INPUT

_PART_NOISE = ("thoughtSignature",)
_ACTION_NOISE = (
    "requestedAuthConfigs",
    "requestedToolConfirmations",
    "agentState",
    "endOfAgent",
    "artifactDelta",
)
_SUBSTANCE = ("content", "output", "actions", "errorCode")
_INTERNAL = ("_adk", "temp:")


def normalize_event(event: Event) -> dict[str, Any]:
    """Return what an event says and does, without ids, times and usage.

    Args:
      event: the event.
    """
    dumped = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    found: dict[str, Any] = {
        name: dumped[name]
        for name in ("author", "branch", "errorCode", "errorMessage")
        if dumped.get(name)
    }
    if "output" in dumped:
        found["output"] = dumped["output"]
    content = dumped.get("content")
    if content:
        parts = cast(list[dict[str, Any]], content.get("parts") or [])
        found["content"] = {"role": content.get("role"), "parts": [*map(_clean_part, parts)]}
    actions = {
        name: value
        for name, value in cast(dict[str, Any], dumped.get("actions") or {}).items()
        if value not in ({}, [], None, False) and name not in _ACTION_NOISE
    }
    delta = clean_state(actions.pop("stateDelta", {}))
    if delta:
        actions["stateDelta"] = delta
    if actions:
        found["actions"] = actions
    return found


def clean_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state without the runtime's own keys and those of one invocation.

    Args:
      state: the state.
    """
    return {key: value for key, value in state.items() if not key.startswith(_INTERNAL)}


def _clean_part(part: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in part.items() if name not in _PART_NOISE}
    for name in ("functionCall", "functionResponse"):
        inner = kept.get(name)
        if isinstance(inner, dict):
            plain = {k: v for k, v in cast(dict[str, Any], inner).items() if k != "id"}
            args = plain.get("args")
            known = cast(dict[str, Any], args) if isinstance(args, dict) else {}
            original: Any = known.get("originalFunctionCall")
            if isinstance(original, dict):
                call = {k: v for k, v in cast(dict[str, Any], original).items() if k != "id"}
                plain["args"] = {**known, "originalFunctionCall": call}
            elif plain.get("name") == REQUEST_INPUT:
                plain["args"] = {k: v for k, v in known.items() if k != "interruptId"}
            if plain.get("args") == {}:
                del plain["args"]
            kept[name] = plain
    return kept


def compare_events(actual: Sequence[Event], recorded: Sequence[Event]) -> list[str]:
    """Return the lines of a diff of two lists of events; empty if they say and do the same.

    Args:
      actual: the events of the run.
      recorded: the recorded ones.
    """
    return compare_values(_order(actual), _order(recorded))


def _order(events: Sequence[Event]) -> list[dict[str, Any]]:
    shown = [normalize_event(event) for event in events if not event.partial]
    kept = [one for one in shown if any(name in one for name in _SUBSTANCE)]
    return sorted(kept, key=lambda one: one.get("branch", ""))


def compare_values(actual: Any, recorded: Any) -> list[str]:
    """Return the lines of a diff of two JSON values; empty if they are equal.

    Args:
      actual: the value of the run.
      recorded: the recorded one.
    """
    if actual == recorded:
        return []
    before, after = (
        json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True, default=str).splitlines()
        for value in (recorded, actual)
    )
    return list(difflib.unified_diff(before, after, "recorded", "actual", lineterm="", n=4))
