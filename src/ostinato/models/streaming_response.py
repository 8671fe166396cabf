"""StreamingResponseAggregator: sums the pieces of a streamed answer of Gemini. The adapter feeds
it; `utils.streaming_utils` is its public face.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .. import _clock, types
from .llm_response import LlmResponse

# A step of a JSON path: .name, [0], ['name'] or ["name"].
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_CARRIED = ("grounding_metadata", "citation_metadata", "avg_logprobs", "logprobs_result")


@dataclass(slots=True)
class _StreamedCall:
    """A call whose arguments come in pieces."""

    id: str
    name: str | None
    signature: bytes | None
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    open_texts: set[str] = field(default_factory=set[str])

    def add(self, call: types.FunctionCall) -> None:
        """Take in the next piece."""
        self.name = self.name or call.name
        self.args.update(call.args or {})
        for piece in call.partial_args or ():
            path = piece.json_path or "$"
            value, is_text = _value(piece)
            _put(self.args, path, value, more=is_text and path in self.open_texts)
            if piece.will_continue:
                self.open_texts.add(path)
            else:
                self.open_texts.discard(path)

    @property
    def part(self) -> types.Part:
        """The whole call."""
        call = types.FunctionCall(id=self.id, name=self.name, args=self.args)
        return types.Part(function_call=call, thought_signature=self.signature)


class StreamingResponseAggregator:
    """Passes on each piece of an answer as a partial response and repeats all in a last one.

    Thoughts and text stand in the last one in their order, neighbours of one kind joined. A part
    that carries a thought signature stays a part of its own, as the API asks.
    """

    def __init__(self) -> None:
        self._parts: list[types.Part] = []
        self._last: dict[str, Any] = {}
        self._call: _StreamedCall | None = None
        self._broken_call = False
        self._joins = False
        self._feedback: LlmResponse | None = None
        self._candidates = False

    @property
    def ended(self) -> bool:
        """Whether the model said that it was done; an answer that did not was cut off."""
        if self._last.get("finish_reason") is not None or self._feedback is not None:
            return True
        return bool(self._last) and not self._candidates

    async def process_response(
        self, response: types.GenerateContentResponse
    ) -> AsyncGenerator[LlmResponse, None]:
        """Take in one piece of the answer, google-genai's or ours.

        Yields:
          The piece as a partial response, if it holds something to show.
        """
        chunk = types.GenerateContentResponse.model_validate(response)
        parts = chunk.parts or []
        for part in parts:
            self._add(part)
        piece = LlmResponse.create(chunk)
        self._note(chunk, piece)
        if any(_shows(part) for part in parts):
            piece.partial = True
            yield piece

    def close(self) -> LlmResponse | None:
        """Return the whole answer, or None where nothing came."""
        if not self._last:
            return None
        if self._call is not None:
            self._call, self._broken_call = None, True
        if self._feedback is not None and not self._parts:
            return self._feedback.model_copy(update={"partial": False})
        whole = LlmResponse(partial=False, **self._last)
        if self._parts:
            whole.content = types.Content(role="model", parts=self._parts)
        reason = whole.finish_reason
        if self._broken_call and reason in (None, types.FinishReason.STOP):
            whole.error_code = types.FinishReason.MALFORMED_FUNCTION_CALL
            whole.error_message = "The model did not finish the arguments of a function call."
        elif reason is None and not self._parts:
            whole.error_code, whole.error_message = "UNKNOWN_ERROR", "Unknown error."
        elif reason is not None and reason is not types.FinishReason.STOP:
            whole.error_code = reason
        if whole.error_code is None:
            whole.error_message = None
        return whole

    def _note(self, chunk: types.GenerateContentResponse, piece: LlmResponse) -> None:
        """Keep what the last piece that says it says."""
        fields: dict[str, Any] = {
            "model_version": chunk.model_version,
            "usage_metadata": chunk.usage_metadata,
        }
        if chunk.candidates:
            self._candidates = True
            candidate = chunk.candidates[0]
            fields |= {name: getattr(candidate, name) for name in _CARRIED}
            fields["finish_reason"] = candidate.finish_reason
            fields["error_message"] = candidate.finish_message
        elif chunk.prompt_feedback is not None:
            self._feedback = piece
        self._last |= {name: value for name, value in fields.items() if value is not None}
        self._last.setdefault("model_version", None)

    def _add(self, part: types.Part) -> None:
        """Add a part to the whole."""
        if part.function_call is not None:
            self._joins = False
            self._add_call(part, part.function_call)
        elif not _is_text(part):
            self._joins = False
            self._parts.append(part)
        elif part.thought_signature:
            self._joins = False
            self._parts.append(part)
        elif part.text:
            last = self._parts[-1] if self._joins else None
            if last is not None and bool(last.thought) == bool(part.thought):
                last.text = (last.text or "") + part.text
            else:
                # A copy: the piece that was passed on keeps its text.
                self._parts.append(types.Part(text=part.text, thought=part.thought))
                self._joins = True

    def _add_call(self, part: types.Part, call: types.FunctionCall) -> None:
        """Add a call, or the next piece of one that is streamed."""
        if self._call is None and not call.partial_args and not call.will_continue:
            # The piece that is passed on and the whole name the same call.
            call.id = call.id or _new_call_id()
            self._parts.append(part)
            return
        if self._call is not None and call.name and call.name != self._call.name:
            self._call, self._broken_call = None, True
        if self._call is None:
            call_id = call.id or _new_call_id()
            self._call = _StreamedCall(call_id, call.name, part.thought_signature)
        self._call.signature = self._call.signature or part.thought_signature
        self._call.add(call)
        if not call.will_continue:
            self._parts.append(self._call.part)
            self._call = None


def _new_call_id() -> str:
    return f"adk-{_clock.new_id()}"


def _is_text(part: types.Part) -> bool:
    """Tell whether a part is text and nothing else."""
    kinds = part.model_fields_set - {"text", "thought", "thought_signature"}
    return part.text is not None and all(getattr(part, kind) is None for kind in kinds)


def _shows(part: types.Part) -> bool:
    return not _is_text(part) or bool(part.text) or bool(part.thought_signature)


def _value(piece: types.PartialArg) -> tuple[Any, bool]:
    """Return the value of a piece of an argument, and whether it is text."""
    if piece.string_value is not None:
        return piece.string_value, True
    if piece.number_value is not None:
        number = piece.number_value
        return (int(number) if number.is_integer() else number), False
    return piece.bool_value, False  # None is the null value


def _put(args: dict[str, Any], path: str, value: Any, *, more: bool) -> None:
    """Put a value to its place; `more` appends text to what is there."""
    steps: list[str | int] = [
        int(match[2]) if match[2] is not None else match[1] or match[3] or match[4] or ""
        for match in _STEP.finditer(path)
    ]
    if not steps:
        return
    place: Any = args
    for step, following in pairwise(steps):
        empty: Any = [] if isinstance(following, int) else {}
        place = _child(place, step, empty)
    known = _child(place, steps[-1], None)
    place[steps[-1]] = (known or "") + value if more else value


def _child(place: Any, step: str | int, empty: Any) -> Any:
    """Return what lies at a step of a path, `empty` where nothing did."""
    if isinstance(step, int):
        while len(place) <= step:
            place.append(None)
        if place[step] is None:
            place[step] = empty
        return place[step]
    return place.setdefault(step, empty)
