"""Ids for function calls and responses without one, for APIs that match the two by id."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ... import types


def lacks_ids(content: types.Content) -> bool:
    """Return whether a call or response of the content has no id."""
    return any(
        (part.function_call is not None and not part.function_call.id)
        or (part.function_response is not None and not part.function_response.id)
        for part in content.parts or ()
    )


def with_call_ids(contents: Sequence[types.Content]) -> list[types.Content]:
    """Return the contents with ids in all calls and responses.

    Ids are made from places, so that they are the same in each request of a session. A response
    answers the oldest open call of its name. Only contents that lack ids are copied.
    """
    waiting: dict[str, deque[str]] = {}
    return [
        _with_ids(content, at, waiting) if lacks_ids(content) else content
        for at, content in enumerate(contents)
    ]


def _with_ids(content: types.Content, at: int, waiting: dict[str, deque[str]]) -> types.Content:
    parts: list[types.Part] = []
    for number, part in enumerate(content.parts or ()):
        call, answer = part.function_call, part.function_response
        made = f"call_{at}_{number}"
        if call is not None and not call.id:
            waiting.setdefault(call.name or "", deque()).append(made)
            update = {"function_call": call.model_copy(update={"id": made})}
        elif answer is not None and not answer.id:
            queue = waiting.get(answer.name or "")
            found = queue.popleft() if queue else made
            update = {"function_response": answer.model_copy(update={"id": found})}
        else:
            parts.append(part)
            continue
        parts.append(part.model_copy(update=update))
    return types.Content(role=content.role, parts=parts)
