"""Turns written as chat completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.openai_llm import OpenAILlm
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.fake_server import Answer, sse
from tests.wire.turns import Call, Turn

KEY = "sk-SECRET-0123456789"
ONCE: dict[str, Any] = {"retry_policy": RetryPolicy(attempts=1)}
USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 12,
    "total_tokens": 32,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def llm(url: str, **fields: Any) -> BaseLlm:
    """Build the adapter against a server."""
    return OpenAILlm(
        **{"model": "gpt-test", "base_url": f"{url}/v1", "api_key": KEY, **ONCE, **fields}
    )


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
                "function": {"name": call.name, "arguments": arguments(call)},
            }
            for call in turn.calls
        ]
    reason = "tool_calls" if turn.calls else "stop"
    return response({"index": 0, "message": said, "finish_reason": reason})


def response(*choices: dict[str, Any]) -> dict[str, Any]:
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
            for piece in pieces(arguments(call), 3)
        ]
    end = chunk({}, "tool_calls" if turn.calls else "stop")
    usage = {**chunk({}), "choices": [], "usage": USAGE}
    return [*map(chunk, deltas), end, usage]


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    """Write a chunk."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {**head, "model": "gpt-test-1", "choices": [choice], "usage": None}


def arguments(call: Call) -> str:
    """Write a call's arguments; a test may give text that is no JSON."""
    given: Any = call.args
    return given if isinstance(given, str) else json.dumps(given)


def pieces(text: str, size: int) -> list[str]:
    """Cut a text into pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def blocked(*, stream: bool) -> Answer:
    """Write an answer that a filter withheld."""
    if stream:
        return Answer(sse([chunk({"content": ""}), chunk({}, "content_filter")], done="[DONE]"))
    said = {"role": "assistant", "content": None}
    return Answer(response({"index": 0, "message": said, "finish_reason": "content_filter"}))


def empty(*, stream: bool) -> Answer:
    """Write an answer without a choice."""
    return Answer(sse([{**chunk({}), "choices": []}], done="[DONE]") if stream else response())


UNSEEN_PAGES = False
CUT_STEP = 1
AFTER_THE_END = 0
