"""Answers of Bedrock's Converse API as responses, whole or streamed. Their blocks are read as
Claude's, whose form they follow under other names.
"""

from __future__ import annotations

import json
from typing import Any

from ... import types
from ..llm_response import LlmResponse
from .claude_answer import ClaudeAnswer
from .faults import BadAnswer
from .reading import fields_of, items_of, number_of, text_of

Json = dict[str, Any]

#: HTTP statuses that the exceptions inside a stream stand for.
EXCEPTION_STATUS = {
    "validationException": 400,
    "throttlingException": 429,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "serviceUnavailableException": 503,
    "modelTimeoutException": 504,
}
_BLOCKED = {
    "guardrail_intervened": "A guardrail of Bedrock stopped the answer.",
    "content_filtered": "A content filter stopped the answer.",
}
_MALFORMED = {
    "malformed_tool_use": types.FinishReason.MALFORMED_FUNCTION_CALL,
    "malformed_model_output": types.FinishReason.OTHER,
}
_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheWriteInputTokens",
}


class BedrockAnswer:
    """One answer, from its first block to its counts of tokens.

    Args:
      model: the model's id, which answers do not name.
      keeps_thoughts: whether the model wants its signed thoughts back.
    """

    def __init__(self, model: str, *, keeps_thoughts: bool) -> None:
        self._model, self._keeps_thoughts = model, keeps_thoughts
        self._answer = ClaudeAnswer()
        self._open: set[int] = set()

    def take(self, data: object) -> None:
        """Read a complete response.

        Raises:
          BadAnswer: the data is not a response of the API.
        """
        whole = fields_of(data)
        message = fields_of(fields_of(whole.get("output")).get("message"))
        if not isinstance(message.get("content"), list):
            raise BadAnswer(f"no answer of the API: {json.dumps(data)[:300]}")
        found = [_whole_block(fields_of(block)) for block in items_of(message["content"])]
        taken = {
            "model": self._model,
            "content": [block for block in found if block is not None],
            "stop_reason": whole.get("stopReason"),
            "usage": _counts(whole.get("usage")),
        }
        self._answer.take(json.dumps(taken))

    def feed(self, kind: str, data: Json) -> LlmResponse | None:
        """Read a stream event and return its partial response, if any.

        Raises:
          BadAnswer: the data is not an event of the API.
        """
        match kind:
            case "messageStart":
                start = {"model": self._model}
                return self._answer.feed({"type": "message_start", "message": start})
            case "contentBlockStart":
                self._begin(data, fields_of(data.get("start")))
            case "contentBlockDelta":
                return self._grow(data, fields_of(data.get("delta")))
            case "contentBlockStop":
                index = _index(data)
                if index in self._open:
                    self._open.discard(index)
                    self._answer.feed({"type": "content_block_stop", "index": index})
            case "messageStop":
                delta = {"stop_reason": data.get("stopReason")}
                self._answer.feed({"type": "message_delta", "delta": delta})
                self._answer.feed({"type": "message_stop"})
            case "metadata":
                reason = {"stop_reason": self._answer.stop_reason}
                usage = _counts(data.get("usage"))
                self._answer.feed({"type": "message_delta", "delta": reason, "usage": usage})
            case _:
                pass  # events may be added to the API
        return None

    def check_end(self) -> None:
        """Raise BadAnswer if a stream ended before the message did."""
        self._answer.check_end()

    @property
    def is_whole(self) -> bool:
        """Whether the message is complete."""
        return self._answer.is_whole

    def response(self) -> LlmResponse:
        """Return the complete response.

        Raises:
          BadAnswer: a block of it is broken.
        """
        response, reason = self._answer.response(), self._answer.stop_reason or ""
        parts = (response.content.parts if response.content else None) or []
        if not self._keeps_thoughts:
            for part in parts:
                if part.thought:
                    part.part_metadata = None
        if reason in _BLOCKED:
            response.finish_reason = types.FinishReason.SAFETY
            response.error_code = types.FinishReason.SAFETY
            response.error_message = _BLOCKED[reason]
        elif reason in _MALFORMED:
            response.finish_reason = response.error_code = _MALFORMED[reason]
            response.error_message = "The model wrote what Bedrock cannot read."
        if response.error_code is not None:  # no call of such an answer is run
            kept = [part for part in parts if part.function_call is None]
            response.content = types.Content(role="model", parts=kept) if kept else None
        return response

    def _begin(self, data: Json, start: Json) -> None:
        """Open a block; those of text and thoughts begin without an event of their own."""
        use = fields_of(start.get("toolUse"))
        if use:
            self._put_open(
                _index(data),
                {"type": "tool_use", "id": use.get("toolUseId"), "name": use.get("name")},
            )

    def _grow(self, data: Json, delta: Json) -> LlmResponse | None:
        index, reasoning = _index(data), fields_of(delta.get("reasoningContent"))
        if "redactedContent" in reasoning:
            block = {"type": "redacted_thinking", "data": reasoning["redactedContent"]}
            self._put_open(index, block)
            return None
        if "text" in delta:
            grown = {"type": "text_delta", "text": text_of(delta["text"])}
            self._put_open(index, {"type": "text", "text": ""})
        elif "signature" in reasoning:
            grown = {"type": "signature_delta", "signature": text_of(reasoning["signature"])}
            self._put_open(index, {"type": "thinking", "thinking": "", "signature": ""})
        elif "text" in reasoning:
            grown = {"type": "thinking_delta", "thinking": text_of(reasoning["text"])}
            self._put_open(index, {"type": "thinking", "thinking": "", "signature": ""})
        elif "toolUse" in delta:
            piece = text_of(fields_of(delta["toolUse"]).get("input"))
            grown = {"type": "input_json_delta", "partial_json": piece}
        else:
            return None
        return self._answer.feed({"type": "content_block_delta", "index": index, "delta": grown})

    def _put_open(self, index: int, block: Json) -> None:
        if index not in self._open:
            self._open.add(index)
            begun = {"type": "content_block_start", "index": index, "content_block": block}
            self._answer.feed(begun)


def _index(data: Json) -> int:
    index = number_of(data.get("contentBlockIndex"))
    if index is None:
        raise BadAnswer(f"a piece without the number of its block: {json.dumps(data)[:300]}")
    return index


def _counts(usage: object) -> Json:
    given = fields_of(usage)
    found = ((ours, number_of(given.get(theirs))) for ours, theirs in _COUNTS.items())
    return {name: count for name, count in found if count is not None}


def _whole_block(block: Json) -> Json | None:
    """Return a block in Claude's format, or None if no Part can represent it."""
    if "text" in block:
        return {"type": "text", "text": block["text"]}
    if use := fields_of(block.get("toolUse")):
        arguments = use.get("input")
        names = {"id": use.get("toolUseId"), "name": use.get("name")}
        return {"type": "tool_use", **names, "input": {} if arguments is None else arguments}
    reasoning = fields_of(block.get("reasoningContent"))
    if "redactedContent" in reasoning:
        return {"type": "redacted_thinking", "data": reasoning["redactedContent"]}
    if said := fields_of(reasoning.get("reasoningText")):
        signature = text_of(said.get("signature"))
        return {"type": "thinking", "thinking": text_of(said.get("text")), "signature": signature}
    if cited := fields_of(block.get("citationsContent")):
        texts = (text_of(fields_of(one).get("text")) for one in items_of(cited.get("content")))
        return {"type": "text", "text": "".join(texts)}
    return None
