"""Normalization of the user's message: its forms, files and answers."""

from __future__ import annotations

from typing import Any

from ... import types
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...errors import CallNotOpenError, InputValidationError
from ...sessions.log.event_log import TASK_ANSWER, EventLog, EventRecord
from ...sessions.session import Session, log_of


def as_content(message: Any) -> types.Content | None:
    """Return a message given as Content, text or dict as Content of role `user`.

    Raises:
      InputValidationError: it has another type.
    """
    if message is None:
        return None
    if isinstance(message, str):
        return types.Content(role="user", parts=[types.Part(text=message)])
    try:
        content = types.Content.model_validate(message)
    except ValueError as error:
        raise InputValidationError(
            f"new_message must be a Content, a dict with role and parts, or a str: {error}"
        ) from error
    if not content.role:
        # A copy: the caller's object must not change.
        content = content.model_copy(update={"role": "user"})
    return content


async def save_blobs(ctx: InvocationContext, message: types.Content) -> types.Content:
    """Save the message's inline files as artifacts and put their names in their place."""
    context = Context(ctx)
    parts: list[types.Part] = []
    for index, part in enumerate(message.parts or ()):
        if part.inline_data is None:
            parts.append(part)
            continue
        name = part.inline_data.display_name or f"artifact_{ctx.invocation_id}_{index}"
        await context.save_artifact(name, part)
        parts.append(types.Part(text=f"Uploaded file: {name}. It is saved into artifacts."))
    return types.Content(role=message.role, parts=parts)


def newest_message(log: EventLog, invocation_id: str | None) -> types.Content | None:
    """Return the newest message of the user in an invocation, or None."""
    for record in log.invocation(invocation_id or ""):
        if record.author == "user" and not record.kinds & TASK_ANSWER:
            return record.event().content
    return None


def answered_call(session: Session, message: types.Content) -> EventRecord | None:
    """Return the record of the first call that a message answers, or None.

    Raises:
      CallNotOpenError: an answered call does not exist.
    """
    first: EventRecord | None = None
    for part in message.parts or ():
        if part.function_response is None:
            continue
        answer = part.function_response
        record = log_of(session).find_call(answer.id or "")
        if record is None:
            raise CallNotOpenError(
                f"The message answers function call {answer.id!r} ({answer.name}), which is not in "
                f"session {session.id!r}. Use the id of the call as it was yielded."
            )
        first = first or record
    return first
