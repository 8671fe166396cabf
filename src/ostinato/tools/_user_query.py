"""The words of the user's message, for tools that look something up before the model is asked."""

from __future__ import annotations

from .. import types


def text_of(content: types.Content | None) -> str:
    """Return the texts of a message, a line each; empty where it has none."""
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
