"""Partial responses of a stream: one piece of text each, made without validation."""

from __future__ import annotations

from typing import Any

from ... import types
from ...types.record_template import RecordTemplate
from ..llm_response import LlmResponse

_TEXT = RecordTemplate(lambda: types.Part(text=""))
_CONTENT = RecordTemplate(lambda: types.Content(role="model", parts=[]))
_PARTIAL = RecordTemplate(lambda: LlmResponse(partial=True))


def partial_text(text: str, thought: bool | None = None, **fields: Any) -> LlmResponse:
    """Return a partial response with a piece of text, or of a thought.

    Args:
      text: the piece.
      thought: whether it is of a thought.
      fields: further fields of the response, which are not checked.
    """
    part = _TEXT.create(text=text) if thought is None else _TEXT.create(text=text, thought=thought)
    content = _CONTENT.create(role="model", parts=[part])
    return _PARTIAL.create(content=content, partial=True, **fields)
