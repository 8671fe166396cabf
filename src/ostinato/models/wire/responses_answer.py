"""ResponsesAnswer: sums up an answer of the Responses API, whole or in events. `OpenAIResponsesLlm`
feeds it.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from ... import types
from ..invalid_args import INVALID_ARGS_KEY, call_args
from ..llm_response import LlmResponse
from .answer_facts import citations_of, grounding_of, logprobs_of, usage_of
from .faults import BadAnswer
from .partial_text import partial_text
from .reading import fields_of, items_of, text_of
from .responses_items import NAMESPACE, PHASE, SEARCH

_ENDS = ("response.completed", "response.incomplete", "response.failed")
_TEXT = "response.output_text.delta"
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_NEXT_THOUGHT = "response.reasoning_summary_part.added"


class ResponsesAnswer:
    """An answer; the event that ends a stream holds all of it."""

    def __init__(self) -> None:
        self._answer: dict[str, Any] = {}
        self._items: list[Any] = []
        self._parts: list[types.Part] = []
        self._refusals: list[str] = []
        self._annotations: list[Any] = []
        self._logprobs: list[Any] = []
        self._urls: list[str] = []
        self._queries: list[str] = []

    def add(self, event: dict[str, Any]) -> LlmResponse | None:
        """Take an event of a stream, or a whole answer; return what it adds, if it is shown.

        Events of kinds that are not known say nothing that the last one does not repeat.
        """
        kind = text_of(event.get("type"))
        if kind in _ENDS:
            self._answer = fields_of(event.get("response"))
        elif not kind and event.get("object") == "response":
            self._answer = event
        elif kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind == _TEXT:
            return partial_text(text_of(event.get("delta")))
        elif kind in _THOUGHTS:
            return partial_text(text_of(event.get("delta")), True)
        elif kind == _NEXT_THOUGHT and event.get("summary_index"):
            return partial_text("\n\n", True)
        return None

    @property
    def failure(self) -> tuple[str, str] | None:
        """The code and message of a failed response, or None if it did not fail."""
        if self._answer.get("status") != "failed":
            return None
        error = fields_of(self._answer.get("error"))
        return text_of(error.get("code")), text_of(error.get("message")) or "The response failed."

    def finish(self, *, keep: bool) -> LlmResponse:
        """Return the complete response.

        Args:
          keep: whether it may be gone on from, so that its id is of use.

        Raises:
          BadAnswer: the stream was cut off, or the data is not a response.
        """
        if not self._answer:
            raise BadAnswer("it ended before the answer was complete")
        output = self._answer.get("output")
        if not isinstance(output, list):
            raise BadAnswer("there is no output in it")
        for item in items_of(self._answer.get("output")) or self._items:
            self._add_item(fields_of(item))
        reason = self._reason()
        if reason is types.FinishReason.SAFETY:  # a call that was withheld is not to be made
            self._parts = [part for part in self._parts if part.function_call is None]
        common: dict[str, Any] = {
            "model_version": text_of(self._answer.get("model")) or None,
            "usage_metadata": usage_of(self._answer.get("usage")),
            "citation_metadata": citations_of(self._annotations),
            "grounding_metadata": grounding_of(self._urls, self._queries),
            "interaction_id": text_of(self._answer.get("id")) or None if keep else None,
        }
        if (logprobs := logprobs_of(self._logprobs)) is not None:
            common["avg_logprobs"], common["logprobs_result"] = logprobs
        refusal = "".join(self._refusals)
        shown = any(not (one.thought or SEARCH in (one.part_metadata or {})) for one in self._parts)
        if refusal or (reason is types.FinishReason.SAFETY and not shown):
            message = refusal or "The provider's content filter withheld the answer."
            common["finish_reason"] = types.FinishReason.SAFETY
            return LlmResponse(error_code="SAFETY", error_message=message, **common)
        content = types.Content(role="model", parts=self._parts)
        return LlmResponse(content=content, finish_reason=reason, partial=False, **common)

    def _reason(self) -> types.FinishReason:
        status = self._answer.get("status")
        if status in ("completed", None):
            return types.FinishReason.STOP
        why = fields_of(self._answer.get("incomplete_details")).get("reason")
        if why == "max_output_tokens":
            return types.FinishReason.MAX_TOKENS
        if why == "content_filter":
            return types.FinishReason.SAFETY
        return types.FinishReason.OTHER

    def _add_item(self, item: dict[str, Any]) -> None:
        """Add an item of the output; kinds that are not known are the provider's own affair."""
        match item.get("type"):
            case "message":
                self._add_message(item)
            case "reasoning":
                self._parts += _thought(item)
            case "function_call":
                self._parts.append(_call(item))
            case "tool_search_call" | "tool_search_output":
                # Without its id, by which the API would look for an item that it has not kept.
                kept = {name: value for name, value in item.items() if name != "id"}
                self._parts.append(types.Part(part_metadata={SEARCH: kept}))
            case "web_search_call":
                self._add_search(fields_of(item.get("action")))
            case "image_generation_call":
                self._parts += _image(item)
            case _:
                pass

    def _add_message(self, item: dict[str, Any]) -> None:
        phase = text_of(item.get("phase"))
        for one in items_of(item.get("content")):
            piece = fields_of(one)
            self._refusals.append(text_of(piece.get("refusal")))
            self._annotations += items_of(piece.get("annotations"))
            self._logprobs += items_of(piece.get("logprobs"))
            if text := text_of(piece.get("text")):
                marked = {PHASE: phase} if phase else None
                self._parts.append(types.Part(text=text, part_metadata=marked))

    def _add_search(self, action: dict[str, Any]) -> None:
        queries = [action.get("query"), *items_of(action.get("queries"))]
        self._queries += [query for query in queries if isinstance(query, str) and query]
        sources = [fields_of(one).get("url") for one in items_of(action.get("sources"))]
        self._urls += [url for url in [action.get("url"), *sources] if isinstance(url, str)]


def _thought(item: dict[str, Any]) -> list[types.Part]:
    """Return a reasoning item as a thought; what proves it goes into the signature."""
    pieces = items_of(item.get("summary")) or items_of(item.get("content"))
    text = "\n\n".join(text_of(fields_of(one).get("text")) for one in pieces)
    encrypted = text_of(item.get("encrypted_content"))
    if not text and not encrypted:
        return []
    proof = {"id": text_of(item.get("id")), "encrypted_content": encrypted}
    signature = json.dumps(proof).encode() if encrypted else None
    return [types.Part(text=text, thought=True, thought_signature=signature)]


def _call(item: dict[str, Any]) -> types.Part:
    """Return a call as a part; one that was not completed is not to be made."""
    arguments = text_of(item.get("arguments"))
    cut = item.get("status") == "incomplete"
    args = {INVALID_ARGS_KEY: arguments} if cut else call_args(arguments)
    name, given = text_of(item.get("name")), text_of(item.get("call_id")) or None
    call = types.FunctionCall(id=given, name=name, args=args)
    namespace = text_of(item.get("namespace"))
    return types.Part(
        function_call=call, part_metadata={NAMESPACE: namespace} if namespace else None
    )


def _image(item: dict[str, Any]) -> list[types.Part]:
    data = text_of(item.get("result"))
    if not data:
        return []
    kind = f"image/{text_of(item.get('output_format')) or 'png'}"
    try:
        return [types.Part.from_bytes(data=base64.b64decode(data), mime_type=kind)]
    except binascii.Error as error:
        raise BadAnswer("an image that is not base64") from error
