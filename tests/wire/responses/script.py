"""Turns written as answers of the Responses API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.openai_responses_llm import OpenAIResponsesLlm
from tests.wire.chat.script import KEY, ONCE, arguments, pieces
from tests.wire.fake_server import Answer, sse
from tests.wire.turns import Call, Turn

USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 12,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 32,
}


def llm(url: str, **fields: Any) -> BaseLlm:
    """Build the adapter against a server."""
    given = {"model": "gpt-5-test", "base_url": f"{url}/v1", "api_key": KEY, **ONCE, **fields}
    return OpenAIResponsesLlm(**given)


def answers(turns: Sequence[Turn], *, stream: bool) -> list[Answer]:
    """Write turns."""
    return [Answer(sse(events(turn), named=True) if stream else whole(turn)) for turn in turns]


def whole(turn: Turn, **fields: Any) -> dict[str, Any]:
    """Write a turn as one answer."""
    return response(items(turn), **fields)


def response(output: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Write an answer."""
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5-test-1"}
    return {**head, "status": "completed", "error": None, "output": output, "usage": USAGE} | fields


def items(turn: Turn) -> list[dict[str, Any]]:
    """Write a turn's items."""
    made: list[dict[str, Any]] = []
    if turn.thought:
        summary = [{"type": "summary_text", "text": turn.thought}]
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": summary}
        made.append({**reasoning, "encrypted_content": turn.signature})
    if turn.text:
        made.append(message(turn.text))
    return [*made, *map(call, turn.calls)]


def message(text: str, **piece: Any) -> dict[str, Any]:
    """Write a message."""
    content = [{"type": "output_text", "text": text, "annotations": [], **piece}]
    head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**head, "content": content}


def call(one: Call) -> dict[str, Any]:
    """Write a call."""
    head = {"type": "function_call", "id": f"fc_{one.id}", "call_id": one.id}
    return {**head, "name": one.name, "arguments": arguments(one), "status": "completed"}


def events(turn: Turn) -> list[dict[str, Any]]:
    """Write a turn as events: text by words, arguments in pieces of three letters."""
    made: list[dict[str, Any]] = [{"type": "response.created", "response": response([])}]
    for index, item in enumerate(items(turn)):
        at = {"output_index": index, "item_id": item["id"]}
        made.append({"type": "response.output_item.added", "item": item, **at})
        made += [{**event, **at} for event in _deltas(item)]
        made.append({"type": "response.output_item.done", "item": item, **at})
    made.append({"type": "response.completed", "response": whole(turn)})
    return [{**event, "sequence_number": number} for number, event in enumerate(made)]


def _deltas(item: dict[str, Any]) -> list[dict[str, Any]]:
    if item["type"] == "reasoning":
        part = {"type": "response.reasoning_summary_part.added", "summary_index": 0}
        kind, text = "response.reasoning_summary_text.delta", item["summary"][0]["text"]
        deltas = [{"type": kind, "delta": piece, "summary_index": 0} for piece in pieces(text, 5)]
        return [part, *deltas]
    if item["type"] == "message":
        kind, text = "response.output_text.delta", item["content"][0]["text"]
        return [{"type": kind, "delta": piece, "content_index": 0} for piece in pieces(text, 5)]
    kind = "response.function_call_arguments.delta"
    return [{"type": kind, "delta": piece} for piece in pieces(item["arguments"], 3)]


def blocked(*, stream: bool) -> Answer:
    """Write an answer that a filter withheld."""
    why = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    made = response([], **why)
    if not stream:
        return Answer(made)
    return Answer(sse([{"type": "response.incomplete", "response": made}], named=True))


def empty(*, stream: bool) -> Answer:
    """Write an answer without output."""
    made = response([])
    del made["output"]
    if not stream:
        return Answer(made)
    return Answer(sse([{"type": "response.completed", "response": made}], named=True))


UNSEEN_PAGES = False
CUT_STEP = 1
AFTER_THE_END = 0
