"""ChatAnswer, which reads a response of chat completions, complete or in chunks. `OpenAILlm` and
`LiteLlm` use it.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from ... import _clock, types
from ..invalid_args import INVALID_ARGS_KEY, call_args
from ..llm_response import LlmResponse
from .answer_facts import citations_of, grounding_of, logprobs_of, usage_of
from .chat_thoughts import ChatThoughts
from .faults import BadAnswer
from .partial_text import partial_text
from .reading import fields_of, items_of, signature_bytes, text_of

_REASONS = {
    "stop": types.FinishReason.STOP,
    "end_turn": types.FinishReason.STOP,
    "eos": types.FinishReason.STOP,
    "tool_calls": types.FinishReason.STOP,
    "function_call": types.FinishReason.STOP,
    "length": types.FinishReason.MAX_TOKENS,
    "model_length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
}

_TEXT_FIELDS = frozenset(("role", "content"))


class _Call:
    """A call whose chunks are still arriving."""

    __slots__ = ("arguments", "id", "name", "signature")

    def __init__(self) -> None:
        self.id = self.name = self.signature = ""
        self.arguments: list[str] = []


class ChatAnswer:
    """The first choice of an answer."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._thoughts = ChatThoughts()
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._media: list[types.Part] = []
        self._annotations: list[Any] = []
        self._logprobs: list[Any] = []
        self._urls: list[str] = []
        self._usage: object = None
        self._reason = ""
        self._model: str | None = None

    def add(self, chunk: dict[str, Any]) -> list[LlmResponse]:
        """Take a chunk of a stream and return what it adds, as partial responses.

        A server that cannot stream sends its whole answer as the only one.
        """
        choice = self._first_choice(chunk)
        if "message" in choice and (message := fields_of(choice["message"])):
            self._reason = self._reason or "stop"
            return self._add(message)
        return self._add(fields_of(choice.get("delta")))

    def add_whole(self, answer: dict[str, Any]) -> None:
        """Take an answer that was not streamed.

        Raises:
          BadAnswer: there is no choice in it.
        """
        message = fields_of(self._first_choice(answer).get("message"))
        if not message:
            raise BadAnswer("there is no choice with a message in it")
        self._add(message)
        self._reason = self._reason or "stop"  # some servers leave it out; the answer is whole

    def finish(self) -> LlmResponse:
        """Return the complete response.

        Raises:
          BadAnswer: no reason for the end has come, so that the stream was cut off.
        """
        if not self._reason:
            raise BadAnswer("the stream ended before the answer was complete")
        if self._reason == "error":
            raise BadAnswer("the answer ended with an error")
        reason = _REASONS.get(self._reason, types.FinishReason.OTHER)
        refusal = "".join(self._refusals)
        parts = self._parts(reason)
        common: dict[str, Any] = {
            "model_version": self._model,
            "usage_metadata": usage_of(self._usage),
            "citation_metadata": citations_of(self._annotations),
            "grounding_metadata": grounding_of(self._urls, ()),
        }
        if (logprobs := logprobs_of(self._logprobs)) is not None:
            common["avg_logprobs"], common["logprobs_result"] = logprobs
        blocked = reason is types.FinishReason.SAFETY and not parts
        if refusal or blocked:
            common["finish_reason"] = types.FinishReason.SAFETY
            message = refusal or "The provider's content filter withheld the answer."
            return LlmResponse(error_code="SAFETY", error_message=message, **common)
        content = types.Content(role="model", parts=parts)
        return LlmResponse(content=content, finish_reason=reason, partial=False, **common)

    def _first_choice(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Note what stands beside the choices and return the first one's fields."""
        if (model := fields.get("model")) != self._model:
            self._model = text_of(model) or self._model
        if usage := fields.get("usage"):
            self._usage = usage
        elif "x_groq" in fields:
            self._usage = fields_of(fields["x_groq"]).get("usage") or self._usage
        if "citations" in fields:
            self._urls += [url for url in items_of(fields["citations"]) if isinstance(url, str)]
        for one in items_of(fields.get("choices")):
            choice = fields_of(one)
            if not choice.get("index"):
                if reason := choice.get("finish_reason"):
                    self._reason = text_of(reason) or self._reason
                if choice.get("logprobs"):
                    self._logprobs += items_of(fields_of(choice["logprobs"]).get("content"))
                return choice
        return {}

    def _add(self, delta: dict[str, Any]) -> list[LlmResponse]:
        content = delta.get("content")
        if delta.keys() <= _TEXT_FIELDS and isinstance(content, str):  # most of them are so
            self._texts.append(content)
            return [partial_text(content)] if content else []
        thought = self._thoughts.add(delta)
        text, more_thought = _content(content)
        if more_thought:
            self._thoughts.add({"reasoning_content": more_thought})
        self._texts.append(text)
        self._refusals.append(text_of(delta.get("refusal")))
        self._annotations += items_of(delta.get("annotations"))
        self._media += _media(delta)
        for place, one in enumerate(items_of(delta.get("tool_calls"))):
            self._add_call(fields_of(one), place)
        old = fields_of(delta.get("function_call"))
        if old:
            self._add_call({"index": 0, "function": old}, 0)
        partials: list[LlmResponse] = []
        if thought or more_thought:
            partials.append(partial_text(thought + more_thought, True))
        if text:
            partials.append(partial_text(text))
        return partials

    def _add_call(self, delta: dict[str, Any], place: int) -> None:
        """Add a piece of a call. Servers differ in whether they number calls, and how well."""
        function = fields_of(delta.get("function"))
        name, given = text_of(function.get("name")), text_of(delta.get("id"))
        index = delta.get("index")
        key = index if isinstance(index, int) else place
        call = self._by_index.get(key)
        new = bool(name and given and call is not None and call.id and given != call.id)
        if call is None or new:
            call = self._by_index[key] = _Call()
            self._calls.append(call)
        call.id, call.name = call.id or given, call.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # against the format, but what some servers send
            call.arguments.append(json.dumps(arguments))
        else:
            call.arguments.append(text_of(arguments))
        call.signature = _signature(delta) or call.signature

    def _parts(self, reason: types.FinishReason) -> list[types.Part]:
        parts = self._thoughts.parts()
        if text := "".join(self._texts):
            parts.append(types.Part(text=text))
        parts += self._media
        if reason is types.FinishReason.SAFETY:
            return parts  # a call in an answer that was withheld is not to be made
        whole = reason is types.FinishReason.STOP
        calls = [call for call in self._calls if call.name or any(call.arguments)]
        return [*parts, *(_call_part(call, whole) for call in calls)]  # some servers add empty ones


def _call_part(call: _Call, whole: bool) -> types.Part:
    """Return a call as a part, with invalid arguments if they were cut off."""
    arguments = "".join(call.arguments)
    args = call_args(arguments)
    if not whole and not arguments.strip():
        args = {INVALID_ARGS_KEY: arguments}
    made = types.FunctionCall(
        id=call.id or f"call_{_clock.new_id().replace('-', '')[:24]}", name=call.name, args=args
    )
    signature = signature_bytes(call.signature) if call.signature else None
    return types.Part(function_call=made, thought_signature=signature)


def _signature(delta: dict[str, Any]) -> str:
    """Return the signature of a call, where Google's endpoint or LiteLLM puts it."""
    own = fields_of(delta.get("provider_specific_fields"))
    google = fields_of(fields_of(delta.get("extra_content")).get("google"))
    return text_of(own.get("thought_signature")) or text_of(google.get("thought_signature"))


def _content(content: object) -> tuple[str, str]:
    """Return text and thoughts of a message's content, which some servers send in pieces."""
    if isinstance(content, str):
        return content, ""
    text = thought = ""
    for one in items_of(content):
        piece = fields_of(one)
        text += text_of(piece.get("text"))
        thinking = items_of(piece.get("thinking"))
        thought += "".join(text_of(fields_of(x).get("text")) for x in thinking)
    return text, thought


def _media(delta: dict[str, Any]) -> list[types.Part]:
    """Return the images and sound that a model made."""
    parts: list[types.Part] = []
    for one in items_of(delta.get("images")):
        url = text_of(fields_of(fields_of(one).get("image_url")).get("url"))
        head, comma, data = url.partition(",")
        if comma and head.startswith("data:"):
            kind = head.removeprefix("data:").partition(";")[0]
            parts.append(types.Part.from_bytes(data=_decode_media(data), mime_type=kind))
    audio = fields_of(delta.get("audio"))
    if data := text_of(audio.get("data")):
        parts.append(types.Part.from_bytes(data=_decode_media(data), mime_type="audio/wav"))
    return parts


def _decode_media(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except binascii.Error as error:
        raise BadAnswer("media that are not base64") from error
