"""Turns written as chat completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.openai_llm import OpenAILlm
from tests.wire.fake_server import Answer, sse
from tests.wire.turns import Turn

KEY = "sk-SECRET-0123456789"
USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 12,
    "total_tokens": 32,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def llm(url: str, **fields: Any) -> BaseLlm:
    """Build the adapter against a server."""
    return OpenAILlm(**{"model": "gpt-test", "base_url": f"{url}/v1", "api_key": KEY, **fields})


def answers(turns: Sequence[Turn], *, stream: bool) -> list[Answer]:
    """Write turns."""
    return [Answer(sse(chunks(turn), done="[DONE]") if stream else whole(turn)) for turn in turns]


def whole(turn: Turn, **message: Any) -> dict[str, Any]:
    """Write a turn as one answer."""
    said: dict[str, Any] = {"role": "assistant", "content": turn.text or None, **message}
    if turn.thought:
        said["reasoning_content"] = turn.thought
    if turn.calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.args)},
            }
            for call in turn.calls
        ]
    reason = "tool_calls" if turn.calls else "stop"
    return answer({"index": 0, "message": said, "finish_reason": reason})


def answer(*choices: dict[str, Any]) -> dict[str, Any]:
    """Write an answer."""
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-test-1"}
    return {**head, "choices": list(choices), "usage": USAGE}


def chunks(turn: Turn) -> list[dict[str, Any]]:
    """Write a turn in chunks: text by words, arguments in pieces of three letters."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in pieces(turn.thought, 5)]
    deltas += [{"content": piece} for piece in pieces(turn.text, 5)]
    for index, call in enumerate(turn.calls):
        head = {"name": call.name, "arguments": ""}
        first = {"index": index, "id": call.id, "type": "function", "function": head}
        deltas.append({"tool_calls": [first]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(json.dumps(call.args), 3)
        ]
    end = chunk({}, "tool_calls" if turn.calls else "stop")
    usage = {**chunk({}), "choices": [], "usage": USAGE}
    return [*map(chunk, deltas), end, usage]


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    """Write a chunk."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {**head, "model": "gpt-test-1", "choices": [choice], "usage": None}


def pieces(text: str, size: int) -> list[str]:
    """Cut a text into pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]
