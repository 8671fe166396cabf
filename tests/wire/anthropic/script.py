"""Turns as Anthropic's Messages API writes them, and the adapter against a server of ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr

from ostinato.models.anthropic_llm import AnthropicLlm
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.fake_server import Answer, sse
from tests.wire.turns import Turn

KEY = "sk-SECRET-0123456789"
ONCE: dict[str, Any] = {"retry_policy": RetryPolicy(attempts=1)}
USAGE = {
    "input_tokens": 12,
    "output_tokens": 7,
    "cache_read_input_tokens": 3,
    "cache_creation_input_tokens": 0,
}


def llm(url: str, **fields: Any) -> AnthropicLlm:
    """The adapter against a server."""
    given = {"model": "claude-sonnet-4-5", "api_key": SecretStr(KEY), "base_url": url, **ONCE}
    return AnthropicLlm(**{**given, **fields})


def answers(turns: Sequence[Turn], *, stream: bool) -> list[Answer]:
    """One answer for each turn."""
    write = streamed if stream else whole
    return [write(blocks_of(turn)) for turn in turns]


def blocks_of(turn: Turn) -> list[dict[str, Any]]:
    """A turn as content blocks."""
    blocks: list[dict[str, Any]] = []
    if turn.thought:
        blocks.append({"type": "thinking", "thinking": turn.thought, "signature": turn.signature})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.args}
        for call in turn.calls
    ]
    return blocks


def reason_for(blocks: Sequence[dict[str, Any]]) -> str:
    return "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"


def message(
    blocks: Sequence[dict[str, Any]], *, stop: str | None = None, **more: Any
) -> dict[str, Any]:
    """A whole message."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": list(blocks),
        "stop_reason": stop or reason_for(blocks),
        "stop_sequence": None,
        "usage": USAGE,
        **more,
    }


def whole(blocks: Sequence[dict[str, Any]], *, stop: str | None = None, **more: Any) -> Answer:
    """A message that is not streamed."""
    return Answer(message(blocks, stop=stop, **more))


def streamed(blocks: Sequence[dict[str, Any]], *, stop: str | None = None, **more: Any) -> Answer:
    """A message in the pieces of a stream."""
    return Answer(sse(events(blocks, stop=stop, **more), named=True))


def events(
    blocks: Sequence[dict[str, Any]], *, stop: str | None = None, **more: Any
) -> list[dict[str, Any]]:
    """The events of a stream."""
    start = message([], stop="end_turn") | {"stop_reason": None}
    start["usage"] = {**USAGE, "output_tokens": 1}
    written: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(blocks):
        opened, deltas = _in_pieces(block)
        written.append({"type": "content_block_start", "index": index, "content_block": opened})
        if index == 0:
            written.append({"type": "ping"})
        written += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        written.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop or reason_for(blocks), "stop_sequence": None, **more}
    written.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
    written.append({"type": "message_stop"})
    return written


def _in_pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it opens, and the deltas that fill it."""
    match block["type"]:
        case "text":
            sources = [
                {"type": "citations_delta", "citation": one} for one in block.get("citations", ())
            ]
            texts = [{"type": "text_delta", "text": piece} for piece in halves(block["text"])]
            return {"type": "text", "text": ""}, [*sources, *texts]
        case "thinking":
            thoughts = [
                {"type": "thinking_delta", "thinking": piece} for piece in halves(block["thinking"])
            ]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
        case "tool_use" | "server_tool_use":
            text = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
            pieces = ["", *halves(text)] if text != "{}" else [""]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def halves(text: str) -> list[str]:
    """A text in two pieces that have something in them, if it is long enough."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
