"""Asks a model over the wire, and looks at what comes of it."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

import pytest

from ostinato import types
from ostinato.errors import ProviderError
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse


def said(text: str, role: str = "user") -> types.Content:
    """Return a content of text."""
    return types.Content(role=role, parts=[types.Part(text=text)])


def request(*contents: types.Content, **config: Any) -> LlmRequest:
    """Return a request."""
    settings = types.GenerateContentConfig(**config)
    return LlmRequest(contents=[*(contents or (said("Hello?"),))], config=settings)


def offered(*names: str) -> list[types.Tool]:
    """Return tools of these names without parameters."""
    return [types.Tool(function_declarations=[types.FunctionDeclaration(name=n) for n in names])]


async def ask(llm: BaseLlm, wanted: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    """Ask, check that the pieces add up to the whole, and return what came."""
    try:
        got = [one async for one in llm.generate_content_async(wanted, stream=stream)]
    finally:
        await llm.aclose()
    *pieces, whole = got
    assert all(piece.partial for piece in pieces) and not whole.partial
    if stream and whole.content is not None:
        for thought in (True, None):
            assert _text(pieces, thought) == _text([whole], thought)
    return got


async def fails(llm: BaseLlm, wanted: LlmRequest, *, stream: bool = False) -> ProviderError:
    """Ask, and return the error after checking that nothing complete came before it."""
    got: list[LlmResponse] = []
    try:
        with pytest.raises(ProviderError) as caught:
            async for one in llm.generate_content_async(wanted, stream=stream):
                got.append(one)  # noqa: PERF401  what came before the error counts
    finally:
        await llm.aclose()
    assert all(one.partial for one in got)
    assert all(not one.get_function_calls() for one in got)
    error = caught.value
    assert error.provider and error.model and error.model in str(error)
    assert "SECRET" not in "".join(traceback.format_exception(error))
    return error


def texts(got: Sequence[LlmResponse]) -> str:
    """Return the text of the last response."""
    return _text(got[-1:], None)


def _text(got: Sequence[LlmResponse], thought: bool | None) -> str:
    parts = [part for one in got for part in (one.content and one.content.parts) or ()]
    return "".join(part.text or "" for part in parts if part.thought == thought)
