"""StreamingResponseAggregator, which merges the chunks of a streamed Gemini response. Its public
module is `utils.streaming_utils`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from .. import _clock, types
from .llm_request import CLIENT_ID_PREFIX
from .llm_response import LlmResponse
from .wire.gemini_answer import plain_text, read_answer, read_record
from .wire.partial_text import partial_text

# A step of a JSON path: .name, [0], ['name'] or ["name"].
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
# More than the arguments of any call hold; a path says where a value goes in a few bytes.
_MAX_PATH = 1_000  # characters
_MAX_STEPS = 64
_MAX_ITEMS = 100_000  # of all lists of a call
_MAX_TEXT = 10_000_000  # characters of a call
_CARRIED = ("grounding_metadata", "citation_metadata", "avg_logprobs", "logprobs_result")


class _MalformedArguments(ValueError):
    """A piece of an argument that cannot be put where its path says."""


class _PiecedText(list[str]):
    """A text that comes in pieces; joined once, since each joining copies what is there."""


@dataclass(slots=True)
class _StreamedCall:
    """A call whose arguments come in pieces."""

    id: str
    name: str | None
    signature: bytes | None
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    texts: list[tuple[Any, str | int, _PiecedText]] = field(
        default_factory=list[tuple[Any, str | int, "_PiecedText"]]
    )
    items: int = 0
    text_length: int = 0

    def add(self, call: types.FunctionCall) -> None:
        """Take in the next piece.

        Raises:
          _MalformedArguments: a path leads nowhere, or the arguments become too large.
        """
        self.name = self.name or call.name
        self.args.update(call.args or {})
        for piece in call.partial_args or ():
            value, is_text = _value(piece)
            self.text_length += len(value) if is_text else 0
            if self.text_length > _MAX_TEXT:
                raise _MalformedArguments
            self._put(piece.json_path or "$", value, is_text=is_text)

    def _put(self, path: str, value: Any, *, is_text: bool) -> None:
        """Put a value in its place; a text is appended to the pieces that are there."""
        steps = _steps(path)
        if not steps:
            return
        place: Any = self.args
        for step, following in pairwise(steps):
            empty: Any = [] if isinstance(following, int) else {}
            place = self._child(place, step, empty)
        known = self._child(place, steps[-1], None)
        if not is_text:
            place[steps[-1]] = value
        elif isinstance(known, _PiecedText):
            known.append(value)
        else:
            place[steps[-1]] = text = _PiecedText([value])
            self.texts.append((place, steps[-1], text))

    def _child(self, place: Any, step: str | int, empty: Any) -> Any:
        """Return the value at a step of a path; create it from `empty` if it is missing."""
        if isinstance(step, int):
            if not isinstance(place, list) or isinstance(place, _PiecedText):
                raise _MalformedArguments
            items = cast("list[Any]", place)
            missing = step + 1 - len(items)
            if missing > 0:
                self.items += missing
                if self.items > _MAX_ITEMS:
                    raise _MalformedArguments
                items += [None] * missing
            if items[step] is None:
                items[step] = empty
            return items[step]
        if not isinstance(place, dict):
            raise _MalformedArguments
        fields = cast("dict[str, Any]", place)
        if fields.get(step) is None:
            fields[step] = empty
        return fields[step]

    def build_part(self) -> types.Part:
        """Return the whole call."""
        for place, step, text in self.texts:
            if place[step] is text:
                place[step] = "".join(text)
        self.texts.clear()
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
        self._open_text: list[str] | None = None  # pieces of the last part, if more may come
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
        """Add one piece of the answer, google-genai's or ours.

        Yields:
          The piece as a partial response, if it holds something to show.
        """
        piece = self.add(types.GenerateContentResponse.model_validate(response))
        if piece is not None:
            yield piece

    def add_json(self, data: dict[str, Any]) -> LlmResponse | None:
        """Add one piece of the answer as JSON; return it as `add` does.

        Raises:
          BadAnswer: a field of it holds what it cannot hold.
        """
        return self._add_plain_text(data) or self.add(read_answer(data))

    def add(self, chunk: types.GenerateContentResponse) -> LlmResponse | None:
        """Add one piece of the answer; return it as a partial response, or None if it is empty."""
        parts = chunk.parts or []
        for part in parts:
            self._add(part)
        piece = LlmResponse.create(chunk)
        self._note(chunk, piece)
        if not any(_shows(part) for part in parts):
            return None
        piece.partial = True
        return piece

    def _add_plain_text(self, data: dict[str, Any]) -> LlmResponse | None:
        """Add a piece that is nothing but text, as most are; return None for any other.

        This spares nine of ten pieces the reading of a whole answer.
        """
        text = plain_text(data)
        if text is None:
            return None
        words, thought = text
        fields: dict[str, Any] = {}
        if (usage := data.get("usageMetadata")) is not None:
            kind = types.GenerateContentResponseUsageMetadata
            fields["usage_metadata"] = self._last["usage_metadata"] = read_record(kind, usage)
        if (version := data.get("modelVersion")) is not None:
            fields["model_version"] = self._last["model_version"] = version
        self._last.setdefault("model_version", None)
        self._candidates = True
        self._add_text(words, thought)
        return partial_text(words, thought, **fields)

    def close(self) -> LlmResponse | None:
        """Return the complete response, or None if nothing was received."""
        if not self._last:
            return None
        self._end_text()
        if self._call is not None:
            self._call, self._broken_call = None, True
        if self._feedback is not None and not self._parts:
            return self._feedback.model_copy(update={"partial": False})
        whole = LlmResponse(partial=False, **self._last)
        parts = self._parts
        if self._broken_call:  # the model's turn is spoilt: none of its calls is run
            parts = [part for part in parts if part.function_call is None]
        if parts:
            whole.content = types.Content(role="model", parts=parts)
        reason = whole.finish_reason
        if self._broken_call and reason in (None, types.FinishReason.STOP):
            whole.error_code = types.FinishReason.MALFORMED_FUNCTION_CALL
            whole.error_message = "The model did not finish a function call."
        elif reason is not None and reason is not types.FinishReason.STOP:
            whole.error_code = reason
        if whole.error_code is None:
            whole.error_message = None
        return whole

    def _note(self, chunk: types.GenerateContentResponse, piece: LlmResponse) -> None:
        """Keep the latest metadata of the response."""
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
        """Add a part to the complete response."""
        if part.function_call is not None:
            self._end_text()
            self._add_call(part, part.function_call)
        elif not _is_text(part) or part.thought_signature:
            self._end_text()
            self._parts.append(part)
        elif part.text:
            self._add_text(part.text, part.thought)

    def _add_text(self, text: str, thought: bool | None) -> None:
        """Add text to the last part, or begin one."""
        if self._open_text is None or bool(self._parts[-1].thought) != bool(thought):
            self._end_text()
            # A copy: the piece that was passed on keeps its text.
            self._parts.append(types.Part(text=text, thought=thought))
            self._open_text = []
        self._open_text.append(text)

    def _end_text(self) -> None:
        """Join the pieces of the last part; what comes next is a part of its own."""
        if self._open_text is not None:
            self._parts[-1].text = "".join(self._open_text)
            self._open_text = None

    def _add_call(self, part: types.Part, call: types.FunctionCall) -> None:
        """Add a call, or the next piece of one that is streamed."""
        if self._call is None and _is_end(call):
            return
        if self._call is None and not call.partial_args and not call.will_continue:
            # The piece that is passed on and the whole name the same call.
            call.id = call.id or _new_call_id()
            self._keep_call(part)
            return
        if self._call is not None and call.name and call.name != self._call.name:
            self._call, self._broken_call = None, True
        if self._call is None:
            call_id = call.id or _new_call_id()
            self._call = _StreamedCall(call_id, call.name, part.thought_signature)
        self._call.signature = self._call.signature or part.thought_signature
        try:
            self._call.add(call)
        except _MalformedArguments:
            self._call, self._broken_call = None, True
            return
        if not call.will_continue:
            self._keep_call(self._call.build_part())
            self._call = None

    def _keep_call(self, part: types.Part) -> None:
        """Add a whole call; one without a name spoils the turn."""
        if part.function_call is not None and part.function_call.name:
            self._parts.append(part)
        else:
            self._broken_call = True


def _new_call_id() -> str:
    return f"{CLIENT_ID_PREFIX}{_clock.new_id()}"


def _is_text(part: types.Part) -> bool:
    """Return whether a part is only text."""
    kinds = part.model_fields_set - {"text", "thought", "thought_signature"}
    return part.text is not None and all(getattr(part, kind) is None for kind in kinds)


def _is_end(call: types.FunctionCall) -> bool:
    """Return whether a call is empty; Gemini ends a stream of arguments with such a one."""
    return not (call.name or call.args or call.partial_args or call.will_continue)


def _shows(part: types.Part) -> bool:
    if part.function_call is not None and _is_end(part.function_call):
        return False
    return not _is_text(part) or bool(part.text) or bool(part.thought_signature)


def _value(piece: types.PartialArg) -> tuple[Any, bool]:
    """Return the value of a piece of an argument, and whether it is text."""
    if piece.string_value is not None:
        return piece.string_value, True
    if piece.number_value is not None:
        number = piece.number_value
        return (int(number) if number.is_integer() else number), False
    return piece.bool_value, False  # None is the null value


def _steps(path: str) -> list[str | int]:
    """Return the steps of a path.

    Raises:
      _MalformedArguments: it is too long.
    """
    if len(path) > _MAX_PATH:
        raise _MalformedArguments
    steps: list[str | int] = [
        int(match[2]) if match[2] is not None else match[1] or match[3] or match[4] or ""
        for match in _STEP.finditer(path)
    ]
    if len(steps) > _MAX_STEPS:
        raise _MalformedArguments
    return steps
