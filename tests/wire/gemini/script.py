"""Turns as Gemini's API says them, and the adapter that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.google_llm import Gemini
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.fake_server import Answer, sse
from tests.wire.turns import Turn

ONCE: dict[str, Any] = {"retry_policy": RetryPolicy(attempts=1)}
KEY = "sk-SECRET-0123456789"
USAGE = {
    "promptTokenCount": 11,
    "candidatesTokenCount": 7,
    "thoughtsTokenCount": 3,
    "cachedContentTokenCount": 2,
    "totalTokenCount": 21,
}


def llm(url: str, **fields: Any) -> BaseLlm:
    """Return the adapter against a server of ours."""
    options = {"model": "gemini-2.5-flash", "timeout": 5.0, "api_key": KEY, **ONCE, **fields}
    return Gemini(base_url=url, vertexai=False, **options)


def answers(turns: Sequence[Turn], *, stream: bool) -> list[Answer]:
    """Return the answers that say the turns."""
    return [Answer(sse(chunks(turn))) if stream else Answer(whole(turn)) for turn in turns]


def whole(turn: Turn) -> dict[str, Any]:
    """Return a turn as one answer."""
    parts: list[dict[str, Any]] = []
    if turn.thought:
        parts.append({"text": turn.thought, "thought": True})
    if turn.text:
        parts.append({"text": turn.text})
    return candidate(*parts, *_calls(turn), finish="STOP")


def chunks(turn: Turn) -> list[dict[str, Any]]:
    """Return a turn in the pieces it is streamed in."""
    thoughts = [candidate({"text": x, "thought": True}) for x in _halves(turn.thought)]
    texts = [candidate({"text": x}) for x in _halves(turn.text)]
    calls = [candidate(call) for call in _calls(turn)]
    return [*thoughts, *texts, *calls, candidate({"text": ""}, finish="STOP")]


def candidate(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an answer, or a piece of one, with one candidate."""
    said: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}
    found: dict[str, Any] = {"candidates": [said], "modelVersion": "gemini-2.5-flash"}
    if finish is not None:
        said["finishReason"] = finish
        found["usageMetadata"] = USAGE
    return found


def _calls(turn: Turn) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": call.name, "args": call.args, "id": call.id}}
        for call in turn.calls
    ]
    if parts and turn.thought:
        parts[0]["thoughtSignature"] = turn.signature
    return parts


def _halves(text: str) -> list[str]:
    half = len(text) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]
