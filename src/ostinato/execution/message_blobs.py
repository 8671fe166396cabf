"""Inline files of a message, stored as artifacts."""

from __future__ import annotations

from .. import types
from ..context.context import Context
from ..context.invocation import InvocationContext


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
