"""The message to a remote agent: the news since its last answer, or the answer it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from .. import types
from ..events.event import Event
from .wire import Json, parts_json

A2A_METADATA_PREFIX = "a2a:"
TASK, CONTEXT, STATE = (
    f"{A2A_METADATA_PREFIX}task_id",
    f"{A2A_METADATA_PREFIX}context_id",
    f"{A2A_METADATA_PREFIX}state",
)
ASKS = "input_required"


def build_message(
    events: Sequence[Event], name: str, branch: str | None, *, whole: bool
) -> Json | None:
    """Return the message for a remote agent as A2A's JSON, or None if there is nothing new.

    Args:
      events: the session's.
      name: the remote agent's local name.
      branch: the branch it works on.
      whole: send the whole session to an agent that keeps no context.
    """
    seen = [one for one in events if not one.partial and _is_visible(one, branch)]
    own = next((n for n in range(len(seen) - 1, -1, -1) if _is_own(seen[n], name)), -1)
    last: Json = (seen[own].custom_metadata or {}) if own >= 0 else {}
    found: Json = {"role": "ROLE_USER"}
    if last.get(CONTEXT):
        found["contextId"] = last[CONTEXT]
    elif whole:
        own = -1
    answer = _find_answer(seen, name)
    if answer is not None:
        event, parts = answer
        metadata: Json = event.custom_metadata or {}
        found["taskId"] = metadata.get(TASK)
        if metadata.get(CONTEXT):
            found["contextId"] = metadata[CONTEXT]
    else:
        if last.get(STATE) == ASKS:
            found["taskId"] = last.get(TASK)
        parts = [part for event in seen[own + 1 :] for part in _visible_parts(event)]
    found["parts"] = parts_json(parts)
    return found if found["parts"] else None


def _is_visible(event: Event, branch: str | None) -> bool:
    return not event.branch or (branch or "").startswith(event.branch)


def _is_own(event: Event, name: str) -> bool:
    return event.author == name and TASK in (event.custom_metadata or {})


def _find_answer(events: list[Event], name: str) -> tuple[Event, list[types.Part]] | None:
    """Return the event that asked and the answering parts, or None without an answer."""
    if not events:
        return None
    wanted = {one.id for one in events[-1].get_function_responses()}
    for event in reversed(events[:-1]):
        calls = {call.id for call in event.get_function_calls()}
        if wanted & calls and _is_own(event, name):
            return event, [
                types.Part(function_response=one) for one in events[-1].get_function_responses()
            ]
    return None


def _visible_parts(event: Event) -> list[types.Part]:
    """Return the parts of an event that the remote agent may see; tool calls are left out."""
    parts = (event.content.parts if event.content is not None else None) or ()
    visible = [
        one
        for one in parts
        if not one.thought
        and (one.text or one.inline_data is not None or one.file_data is not None)
    ]
    if event.author == "user":
        return visible
    return [
        types.Part(text=f"[{event.author}] said: {one.text}") if one.text else one
        for one in visible
    ]
