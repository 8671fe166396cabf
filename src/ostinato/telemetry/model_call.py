"""ModelCall: what is noted of a call of a model, in its span and in OpenTelemetry's metrics. The
flow makes one where somebody records.
"""

from __future__ import annotations

import json
import os
from typing import Any

from .. import _clock, types
from ..models.converted import Converted
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .messages import as_message
from .metrics import count_call, is_counted
from .recorder import RECORDERS
from .redaction import redacted
from .tracing import Span, is_exported, made_span, span

# OpenTelemetry's own switch; contents do not leave the process without it.
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def captures_content() -> bool:
    """Tell whether contents go into exported spans."""
    return os.environ.get(_CAPTURE, "").lower() in ("true", "span_only", "span_and_event")


def keeps_content() -> bool:
    """Tell whether a recorder of this machine keeps contents."""
    return any(recorder.wants_content for recorder in RECORDERS)


_texts: Converted[str] = Converted()


class _NoCall:
    """A call that nobody records or counts."""

    __slots__ = ()

    def resume(self) -> None:
        """Nothing to make current."""

    def suspend(self) -> None:
        """Nothing to take back."""

    def note(self, response: LlmResponse) -> None:
        """Nothing to note."""

    def end(self, error: BaseException | None = None) -> None:
        """Nothing to end."""


_NO_CALL = _NoCall()


def model_call(llm_request: LlmRequest, **attributes: Any) -> ModelCall | _NoCall:
    """Begin to record a call of a model, where somebody records spans or reads metrics.

    Args:
      llm_request: what is sent.
      **attributes: of its span.
    """
    recorded = span("chat", llm_request.model or "", **attributes)
    if isinstance(recorded, Span):
        return ModelCall(recorded, llm_request)
    if is_counted():  # metrics alone: its attributes are their labels
        return ModelCall(made_span("chat", llm_request.model or "", **attributes), llm_request)
    return _NO_CALL


class ModelCall:
    """Notes on one call.

    Args:
      recorded: its span.
      llm_request: what is sent.
    """

    def __init__(self, recorded: Span, llm_request: LlmRequest) -> None:
        self._span = recorded
        self.resume, self.suspend = recorded.resume, recorded.suspend
        self._first = self._ended = False
        self._started = _clock.now()
        if keeps_content():
            record, config = recorded.record, llm_request.config
            record.contents = [_texts.of(c, _as_text) for c in llm_request.contents]
            settings = config.model_dump(mode="json", by_alias=True, exclude_none=True)
            system, tools = settings.pop("systemInstruction", None), settings.pop("tools", None)
            for kind, value in (("system", system), ("tools", tools), ("config", settings)):
                if value:
                    record.texts[kind] = _json(redacted(value))
        if is_exported() and captures_content():
            messages = [as_message(content) for content in llm_request.contents]
            recorded.set_raw("gen_ai.input.messages", _json(redacted(messages)))
            system = llm_request.config.system_instruction
            if isinstance(system, str):
                said = [{"type": "text", "content": redacted(system)}]
                recorded.set_raw("gen_ai.system_instructions", _json(said))

    def note(self, response: LlmResponse) -> None:
        """Take note of a response; the complete one ends the call, before anybody acts on it."""
        if not self._first:
            self._first = True
            self._span.set(time_to_first_chunk=_clock.now() - self._started)
        if response.partial:
            return
        usage = response.usage_metadata
        if usage is not None:
            self._span.set(
                input_tokens=usage.prompt_token_count,
                output_tokens=usage.candidates_token_count,
                cached_tokens=usage.cached_content_token_count,
                reasoning_tokens=usage.thoughts_token_count,
            )
        reason = response.finish_reason
        self._span.set(
            response_model=response.model_version,
            finish_reasons=[reason.value.lower()] if reason is not None else None,
            error_code=response.error_code,
        )
        if response.content is not None and keeps_content():
            self._span.record.texts["response"] = _as_text(response.content)
        if response.content is not None and is_exported() and captures_content():
            said = _json(redacted([as_message(response.content)]))
            self._span.set_raw("gen_ai.output.messages", said)
        self.end()

    def end(self, error: BaseException | None = None) -> None:
        """End the span and count the call, once."""
        if not self._ended:
            self._ended = True
            self._span.end(error)
            count_call(self._span.record.attributes, _clock.now() - self._started, error)


def note_tool(recorded: Span, args: dict[str, Any], response: dict[str, Any]) -> None:
    """Keep a tool's arguments and result where contents are recorded."""
    if keeps_content():
        recorded.record.texts["arguments"] = _json(redacted(args))
        recorded.record.texts["result"] = _json(redacted(response))
    if is_exported() and captures_content():
        recorded.set_raw("gen_ai.tool.call.arguments", _json(redacted(args)))
        recorded.set_raw("gen_ai.tool.call.result", _json(redacted(response)))


def _as_text(content: types.Content) -> str:
    return _json(redacted(content.model_dump(mode="json", by_alias=True, exclude_none=True)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
