"""Recording of one model call, in its span and in OpenTelemetry's metrics."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .. import _clock, types
from .._secrets import is_secret_name, redact_text
from ..models.converted import Converted
from ..models.http.observers import ObservedAnswer, set_answer_observer
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .recorder import NOT_ASKED, RECORDERS
from .tracing import Span, is_exported, made_span, span

# OpenTelemetry's own switch; contents do not leave the process without it.
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_HIDDEN = "***"
_ROLES = {"model": "assistant"}  # by the names of OpenTelemetry's conventions


def captures_content(telemetry: Any = None) -> bool:
    """Return whether contents go into exported spans.

    Args:
      telemetry: the run's TelemetryConfig; the environment decides if it is None.
    """
    if telemetry is not None:
        return telemetry.should_add_content_to_experimental_spans
    return os.environ.get(_CAPTURE, "").lower() in ("true", "span_only", "span_and_event")


def keeps_content() -> bool:
    """Return whether an installed recorder keeps contents."""
    return any(recorder.wants_content for recorder in RECORDERS)


_texts: Converted[str] = Converted()


class _NoCall:
    """A call that is neither recorded nor counted."""

    __slots__ = ()

    def resume(self) -> None:
        """Do nothing."""

    def suspend(self) -> None:
        """Do nothing."""

    def begin(self, llm_request: LlmRequest) -> None:
        """Do nothing."""

    def note(self, response: LlmResponse) -> None:
        """Do nothing."""

    def end(self, error: BaseException | None = None) -> None:
        """Do nothing."""


NO_CALL = _NoCall()


def model_call(llm_request: LlmRequest, telemetry: Any = None, **attributes: Any) -> AnyCall:
    """Open the span of a model call, if spans are recorded or metrics are read.

    Args:
      llm_request: what will be sent; the hooks may still change it.
      telemetry: the run's TelemetryConfig, or None.
      **attributes: of its span.
    """
    recorded = span("chat", llm_request.model or "", **attributes)
    if isinstance(recorded, Span):
        return ModelCall(recorded, telemetry)
    if is_counted():  # metrics alone: its attributes are their labels
        made = made_span("chat", llm_request.model or "", **attributes)
        return ModelCall(made, telemetry)
    return NO_CALL


class ModelCall:
    """The record of one call.

    Args:
      recorded: its span, which the hooks around the call see as the current one.
      telemetry: the run's TelemetryConfig, or None.
    """

    def __init__(self, recorded: Span, telemetry: Any = None) -> None:
        self._span, self._telemetry = recorded, telemetry
        self.resume, self.suspend = recorded.resume, recorded.suspend
        self._first = self._ended = self._is_cached = False
        self._started: float | None = None
        self._seconds: float | None = None

    def begin(self, llm_request: LlmRequest) -> None:
        """Record the final request, and start the clock."""
        recorded = self._span
        self._started = _clock.now()
        set_answer_observer(self._note_answer)
        # An app that manages its context wants to see what that does to the provider's cache.
        self._is_cached = llm_request.cache_config is not None or llm_request.trimmed is not None
        if llm_request.model:
            recorded.rename(llm_request.model)
        if keeps_content():
            record, config = recorded.record, llm_request.config
            record.contents = [_texts.of(c, _as_text) for c in llm_request.contents]
            settings = config.model_dump(mode="json", by_alias=True, exclude_none=True)
            system, tools = settings.pop("systemInstruction", None), settings.pop("tools", None)
            for kind, value in (("system", system), ("tools", tools), ("config", settings)):
                if value:
                    record.texts[kind] = _to_json(redact_value(value))
        if self._exports_content():
            messages = [as_message(content) for content in llm_request.contents]
            recorded.set_raw("gen_ai.input.messages", _to_json(redact_value(messages)))
            system = llm_request.config.system_instruction
            if isinstance(system, str):
                said = [{"type": "text", "content": redact_value(system)}]
                recorded.set_raw("gen_ai.system_instructions", _to_json(said))

    def _exports_content(self) -> bool:
        return is_exported() and captures_content(self._telemetry)

    def _note_answer(self, answer: ObservedAnswer) -> None:
        """Keep the provider's id of the request; the last attempt's counts."""
        if answer.request_id:
            self._span.set(request_id=answer.request_id)

    def note(self, response: LlmResponse) -> None:
        """Record a response; the complete one stops the clock."""
        seconds = _clock.now() - (self._started or 0.0)
        if not self._first:
            self._first = True
            self._span.set(time_to_first_chunk=seconds)
        if response.partial:
            return
        self._seconds = seconds
        usage = response.usage_metadata
        if usage is not None:
            self._span.set(
                input_tokens=usage.prompt_token_count,
                output_tokens=usage.candidates_token_count,
                cached_tokens=usage.cached_content_token_count,
                reasoning_tokens=usage.thoughts_token_count,
            )
            if self._is_cached and usage.prompt_token_count:
                hits = (usage.cached_content_token_count or 0) / usage.prompt_token_count
                self._span.set(cache_hit_rate=round(hits, 4))
        reason = response.finish_reason
        self._span.set(
            response_model=response.model_version,
            finish_reasons=[reason.value.lower()] if reason is not None else None,
            error_code=response.error_code,
        )
        if response.content is not None and keeps_content():
            self._span.record.texts["response"] = _as_text(response.content)
        if response.content is not None and self._exports_content():
            said = _to_json(redact_value([as_message(response.content)]))
            self._span.set_raw("gen_ai.output.messages", said)

    def end(self, error: BaseException | None = None) -> None:
        """End the span, and count the call if the model was asked; once."""
        if self._ended:
            return
        self._ended = True
        set_answer_observer(None)
        if self._started is None:
            self._span.end(error, NOT_ASKED)
            return
        self._span.end(error)
        seconds = self._seconds
        if seconds is None:
            seconds = _clock.now() - self._started
        count_call(self._span.record.attributes, seconds, error)


AnyCall = ModelCall | _NoCall


def note_tool(
    recorded: Span, args: dict[str, Any], response: dict[str, Any], telemetry: Any = None
) -> None:
    """Record a tool's arguments and result if contents are recorded.

    Args:
      recorded: the span of the call.
      args: the arguments.
      response: the result.
      telemetry: the run's TelemetryConfig, or None.
    """
    if keeps_content():
        recorded.record.texts["arguments"] = _to_json(redact_value(args))
        recorded.record.texts["result"] = _to_json(redact_value(response))
    if is_exported() and captures_content(telemetry):
        recorded.set_raw("gen_ai.tool.call.arguments", _to_json(redact_value(args)))
        recorded.set_raw("gen_ai.tool.call.result", _to_json(redact_value(response)))


def _as_text(content: types.Content) -> str:
    return _to_json(redact_value(content.model_dump(mode="json", by_alias=True, exclude_none=True)))


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)


_SCOPE = "ostinato"
_LABELS = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
)
_DURATION = "gen_ai.client.operation.duration"
_TOKENS = "gen_ai.client.token.usage"
_FIRST = "gen_ai.client.operation.time_to_first_chunk"

# The instruments of one meter provider; another provider gets its own.
_made: dict[int, dict[str, Any]] = {}


def is_counted() -> bool:
    """Return whether the program reads metrics with OpenTelemetry."""
    return _get_instruments() is not None


def count_call(attributes: dict[str, Any], seconds: float, error: BaseException | None) -> None:
    """Record duration, tokens and time to the first chunk of a model call.

    Args:
      attributes: the attributes of its span.
      seconds: how long it took.
      error: what it raised.
    """
    instruments = _get_instruments()
    if instruments is None:
        return
    labels = {name: attributes[name] for name in _LABELS if name in attributes}
    if error is not None:
        labels["error.type"] = type(error).__name__
    instruments[_DURATION].record(seconds, labels)
    for kind in ("input", "output"):
        tokens = attributes.get(f"gen_ai.usage.{kind}_tokens")
        if tokens is not None:
            instruments[_TOKENS].record(tokens, {**labels, "gen_ai.token.type": kind})
    first = attributes.get("gen_ai.response.time_to_first_chunk")
    if first is not None:
        instruments[_FIRST].record(first, labels)


def _get_instruments() -> dict[str, Any] | None:
    """Return the instruments, or None if the program reads no metrics."""
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is None:
        return None
    provider = metrics.get_meter_provider()
    if type(provider).__name__ == "_ProxyMeterProvider":  # the API's default records nothing
        return None
    made = _made.get(id(provider))
    if made is None:
        meter = provider.get_meter(_SCOPE)
        made = _made[id(provider)] = {
            _DURATION: meter.create_histogram(_DURATION, "s", "Duration of model calls"),
            _TOKENS: meter.create_histogram(_TOKENS, "{token}", "Tokens of model calls"),
            _FIRST: meter.create_histogram(_FIRST, "s", "Time to the first chunk of model calls"),
        }
    return made


def as_message(content: types.Content) -> dict[str, Any]:
    """Return a content as a message of OpenTelemetry's GenAI conventions: role and parts."""
    parts = [_part_record(part) for part in content.parts or []]
    role = content.role or "user"
    if parts and all(part["type"] == "tool_call_response" for part in parts):
        role = "tool"
    return {"role": _ROLES.get(role, role), "parts": parts}


def _part_record(part: types.Part) -> dict[str, Any]:
    call, answer = part.function_call, part.function_response
    if call is not None:
        return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.args}
    if answer is not None:
        return {"type": "tool_call_response", "id": answer.id, "response": answer.response}
    if part.inline_data is not None:
        return {"type": "blob", "mime_type": part.inline_data.mime_type}
    if part.file_data is not None:
        return {"type": "uri", "uri": part.file_data.file_uri}
    return {"type": "reasoning" if part.thought else "text", "content": part.text or ""}


def redact_value(value: Any) -> Any:
    """Return JSON with the values of secret names, and what looks like a key, replaced by `***`.

    Args:
      value: any JSON; it is not changed.
    """
    if isinstance(value, str):
        return redact_text(value, _HIDDEN)
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, Any], value).items()
        return {
            key: _HIDDEN if _is_secret(key, inner) else redact_value(inner) for key, inner in pairs
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [redact_value(inner) for inner in cast(Sequence[Any], value)]
    return value


def _is_secret(key: str, value: Any) -> bool:
    """Return whether a value is hidden: text under a secret's name."""
    return isinstance(value, str) and is_secret_name(key)
