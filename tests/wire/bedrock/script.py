"""Turns as Bedrock's Converse API writes them, and the adapter against a server of ours."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr

from ostinato.models.bedrock_llm import BedrockLlm
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.fake_server import Answer
from tests.wire.turns import Turn

KEY = "bedrock-api-key-SECRET-0123456789"
CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
ONCE: dict[str, Any] = {"retry_policy": RetryPolicy(attempts=1)}
USAGE = {
    "inputTokens": 12,
    "outputTokens": 7,
    "totalTokens": 22,
    "cacheReadInputTokens": 3,
    "cacheWriteInputTokens": 0,
}
STREAM = {"content-type": "application/vnd.amazon.eventstream"}


def llm(url: str, **fields: Any) -> BedrockLlm:
    """The adapter against a server."""
    given = {"model": CLAUDE, "api_key": SecretStr(KEY), "base_url": url, **ONCE}
    return BedrockLlm(**{**given, **fields})


def answers(turns: Sequence[Turn], *, stream: bool) -> list[Answer]:
    """One answer for each turn."""
    write = streamed if stream else whole
    return [write(blocks_of(turn)) for turn in turns]


def blocks_of(turn: Turn) -> list[dict[str, Any]]:
    """A turn as content blocks."""
    blocks: list[dict[str, Any]] = []
    if turn.thought:
        said = {"text": turn.thought, "signature": turn.signature}
        blocks.append({"reasoningContent": {"reasoningText": said}})
    if turn.text:
        blocks.append({"text": turn.text})
    blocks += [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.args}}
        for call in turn.calls
    ]
    return blocks


def _reason(blocks: Sequence[dict[str, Any]]) -> str:
    return "tool_use" if any("toolUse" in block for block in blocks) else "end_turn"


def whole(blocks: Sequence[dict[str, Any]], *, stop: str | None = None) -> Answer:
    """An answer that is not streamed."""
    return Answer(
        {
            "output": {"message": {"role": "assistant", "content": list(blocks)}},
            "stopReason": stop or _reason(blocks),
            "usage": USAGE,
            "metrics": {"latencyMs": 5},
        }
    )


def streamed(blocks: Sequence[dict[str, Any]], *, stop: str | None = None) -> Answer:
    """An answer in the events of a stream."""
    return Answer([frame(kind, data) for kind, data in events(blocks, stop=stop)], headers=STREAM)


def events(
    blocks: Sequence[dict[str, Any]], *, stop: str | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream."""
    written: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(blocks):
        at = {"contentBlockIndex": index}
        if use := block.get("toolUse"):
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            written.append(("contentBlockStart", {**at, "start": start}))
            text = use["input"] if isinstance(use["input"], str) else json.dumps(use["input"])
            deltas: list[dict[str, Any]] = [{"toolUse": {"input": x}} for x in _halves(text)]
        elif thought := block.get("reasoningContent"):
            said = thought.get("reasoningText")
            if said is None:
                deltas = [{"reasoningContent": thought}]
            else:
                deltas = [{"reasoningContent": {"text": x}} for x in _halves(said["text"])]
                deltas.append({"reasoningContent": {"signature": said["signature"]}})
        else:
            deltas = [{"text": x} for x in _halves(block["text"])]
        written += [("contentBlockDelta", {**at, "delta": delta}) for delta in deltas]
        written.append(("contentBlockStop", at))
    written.append(("messageStop", {"stopReason": stop or _reason(blocks)}))
    written.append(("metadata", {"usage": USAGE, "metrics": {"latencyMs": 5}}))
    return written


def frame(kind: str, data: Any, *, message_type: str = "event") -> bytes:
    """One message of an event stream."""
    named = ":event-type" if message_type == "event" else f":{message_type}-type"
    pairs = {named: kind, ":content-type": "application/json", ":message-type": message_type}
    headers = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value
        for name, value in ((name, text.encode()) for name, text in pairs.items())
    )
    payload = json.dumps(data).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
