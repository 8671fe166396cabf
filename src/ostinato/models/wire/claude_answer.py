"""Answers of Anthropic's API as responses, whole or streamed. The adapter feeds one ClaudeAnswer
for each request.
"""

from __future__ import annotations

import json
from typing import Any, cast

from ... import types
from ..invalid_args import INVALID_ARGS_KEY, call_args
from ..llm_response import LlmResponse
from .claude_messages import OWN, Block
from .faults import BadAnswer
from .partial_text import partial_text
from .reading import fields_of, text_of
from .surrogates import load_json

_FINISH = {
    "end_turn": types.FinishReason.STOP,
    "stop_sequence": types.FinishReason.STOP,
    "tool_use": types.FinishReason.STOP,
    "max_tokens": types.FinishReason.MAX_TOKENS,
    "model_context_window_exceeded": types.FinishReason.MAX_TOKENS,
    "refusal": types.FinishReason.SAFETY,
}
_CUT = ("max_tokens", "model_context_window_exceeded")
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class ClaudeAnswer:
    """One answer, from the first block to the reason why it stopped.

    A turn that the API paused continues in another message: `take` or `feed` that one, too.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.stop_reason: str | None = None
        self._model: str | None = None
        self._stop_details: Block = {}
        self._usage: dict[str, int] = {}  # of messages before the present one
        self._counts: dict[str, int] = {}
        self._open: dict[int, _OpenBlock] = {}
        self._done = True

    def take(self, text: str) -> None:
        """Read a complete message from JSON text.

        Raises:
          BadAnswer: the text is not a message of the API.
        """
        try:
            whole: Any = load_json(text)
        except (ValueError, RecursionError) as error:
            raise BadAnswer(_start(text)) from error  # as it came, so that a page is known for one
        if not isinstance(whole, dict) or "content" not in whole:
            raise BadAnswer(f"no message of the API: {_start(text)}")
        message = cast(Block, whole)
        self._begin(message)
        if not isinstance(message["content"], list):
            raise BadAnswer(f"a message whose content is no list: {_start(whole)}")
        self.blocks.extend(_check_block(block) for block in cast(list[Any], message["content"]))
        self._stop(message)
        self._done = True

    def feed(self, event: Any) -> LlmResponse | None:
        """Read a stream event and return its partial response, if any.

        Raises:
          BadAnswer: the event is not one of the API.
        """
        kind = _check_block(event)["type"]
        try:
            match kind:
                case "message_start":
                    self._begin(event["message"])
                case "content_block_start":
                    block = dict(_check_block(event["content_block"]))
                    self._open[event["index"]] = _OpenBlock(block)
                    self.blocks.append(block)
                case "content_block_delta":
                    return self._open[event["index"]].grow(_check_block(event["delta"]))
                case "content_block_stop":
                    self._open.pop(event["index"]).close()
                case "message_delta":
                    self._count(event.get("usage"))
                    self._stop(event["delta"])
                case "message_stop":
                    self._done = not self._open
                case _:
                    pass  # events may be added to the API
        except (KeyError, TypeError, AttributeError) as error:
            raise BadAnswer(f"a broken event of type {kind!r}: {_start(event)}") from error
        return None

    @property
    def is_whole(self) -> bool:
        """Whether the message is complete."""
        return self._done and self.stop_reason is not None

    def check_end(self) -> None:
        """Raise BadAnswer if a stream ended before the message did."""
        if not self.is_whole:
            raise BadAnswer("the stream was cut before the message ended")

    def response(self) -> LlmResponse:
        """Return the complete response.

        Raises:
          BadAnswer: a block of it is broken.
        """
        common: dict[str, Any] = {
            "model_version": self._model,
            "usage_metadata": self._usage_metadata(),
            "finish_reason": _FINISH.get(self.stop_reason or "", types.FinishReason.OTHER),
        }
        if made := self._total("cache_creation_input_tokens"):
            common["custom_metadata"] = {"cache_creation_input_tokens": made}
        if self.stop_reason == "refusal":
            # What was written before is to be thrown away, and no call of it may run.
            why = self._stop_details.get("explanation") or self._stop_details.get("category")
            return LlmResponse(
                error_code=types.FinishReason.SAFETY,
                error_message=why or "The model refused to answer. Start anew or rephrase.",
                **common,
            )
        try:
            parts, citations = _parts(self.blocks)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadAnswer(f"broken content: {_start(self.blocks)}") from error
        if self.stop_reason in _CUT and parts and (call := parts[-1].function_call):
            # A call that ran out of tokens may look whole and not be: the model is told instead.
            args = call.args or {}
            if INVALID_ARGS_KEY not in args:
                cut = json.dumps(args, ensure_ascii=False)
                call.args = {INVALID_ARGS_KEY: f"{cut} (cut off: no tokens left)"}
        return LlmResponse(
            content=types.Content(role="model", parts=parts),
            citation_metadata=types.CitationMetadata(citations=citations) if citations else None,
            **common,
        )

    def _begin(self, message: Block) -> None:
        self._done, self.stop_reason = False, None
        self._model = text_of(message.get("model")) or None
        for name, count in self._counts.items():
            self._usage[name] = self._usage.get(name, 0) + count
        self._counts = {}
        self._count(message.get("usage"))

    def _stop(self, said: Block) -> None:
        self.stop_reason = text_of(said.get("stop_reason")) or None
        self._stop_details = fields_of(said.get("stop_details"))

    def _count(self, usage: Any) -> None:
        """Keep the latest counts: those of a stream's end are sums, and repeat the start's."""
        if not isinstance(usage, dict):
            return
        given = cast(Block, usage)
        details = cast(Block, given.get("output_tokens_details") or {})
        for name in (*_COUNTS, "thinking_tokens"):
            count = given.get(name, details.get(name))
            if isinstance(count, int):
                self._counts[name] = count

    def _total(self, name: str) -> int:
        return self._usage.get(name, 0) + self._counts.get(name, 0)

    def _usage_metadata(self) -> types.GenerateContentResponseUsageMetadata | None:
        if not self._counts and not self._usage:
            return None
        cached, thought = self._total("cache_read_input_tokens"), self._total("thinking_tokens")
        made, written = self._total("cache_creation_input_tokens"), self._total("output_tokens")
        prompt = self._total("input_tokens") + cached + made
        return types.GenerateContentResponseUsageMetadata(
            prompt_token_count=prompt,
            cached_content_token_count=cached or None,
            candidates_token_count=written - thought,
            thoughts_token_count=thought or None,
            total_token_count=prompt + written,
        )


_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


class _OpenBlock:
    """A block of a stream that is still open."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self._pieces: dict[str, list[str]] = {}

    def grow(self, delta: Block) -> LlmResponse | None:
        """Add a delta and return its partial text or thought."""
        kind = delta["type"]
        if kind == "citations_delta":
            self.block["citations"] = [*(self.block.get("citations") or []), delta["citation"]]
        elif (name := _GROWING.get(kind)) is not None:
            piece: str = delta[name]
            self._pieces.setdefault(name, []).append(piece)
            if piece and name in ("text", "thinking"):
                return partial_text(piece, True if name == "thinking" else None)
        return None

    def close(self) -> None:
        """Join the deltas."""
        for name, pieces in self._pieces.items():
            whole = "".join(pieces)
            if name == "partial_json":
                self.block["input"] = call_args(whole) if whole else self.block.get("input", {})
            else:
                self.block[name] = (self.block.get(name) or "") + whole


def _parts(blocks: list[Block]) -> tuple[list[types.Part], list[types.Citation]]:
    """Return the parts of an answer and the sources that its text names."""
    parts: list[types.Part] = []
    citations: list[types.Citation] = []
    written = 0
    for block in blocks:
        part = _part(block)
        if part is None:
            continue
        if block["type"] == "text":
            end = written + len(block["text"])
            sources = cast(list[Block], block.get("citations") or [])
            citations += [_citation(source, written, end) for source in sources]
            written = end
            if parts and parts[-1].text is not None and not parts[-1].thought:
                parts[-1] = types.Part(text=parts[-1].text + block["text"])
                continue
        parts.append(part)
    return parts, citations


def _part(block: Block) -> types.Part | None:
    match block["type"]:
        case "text":
            return types.Part(text=block["text"]) if block.get("text") else None
        case "thinking":
            return types.Part(
                text=block.get("thinking", ""),
                thought=True,
                thought_signature=block.get("signature", "").encode(),
                part_metadata={OWN: "thinking"},
            )
        case "redacted_thinking":
            return types.Part(thought=True, part_metadata={OWN: block})
        case "tool_use":
            # Read once more, for a number may be too large, which Python takes for infinite.
            args = call_args(json.dumps(block.get("input"), ensure_ascii=False))
            if not block["name"]:
                raise ValueError("a call without the name of its tool")
            call = types.FunctionCall(id=block.get("id"), name=block["name"], args=args)
            return types.Part(function_call=call)
        case _:  # what the API's own tools did; it wants that back as it came
            return types.Part(part_metadata={OWN: block})


def _citation(source: Block, start: int, end: int) -> types.Citation:
    """Return a source of the text between two places of the answer."""
    return types.Citation(
        start_index=start,
        end_index=end,
        title=source.get("document_title") or source.get("title"),
        uri=source.get("url") or source.get("source"),
    )


def _check_block(block: Any) -> Block:
    fields = fields_of(block)
    if not isinstance(fields.get("type"), str):
        raise BadAnswer(f"something without a type: {_start(block)}")
    return fields


def _start(value: Any) -> str:
    return value[:300] if isinstance(value, str) else json.dumps(value)[:300]
