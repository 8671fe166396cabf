"""Settings for prompts and answers in OpenTelemetry's spans and logs."""

from __future__ import annotations

import os
from enum import Enum
from typing import Literal

from pydantic import BaseModel, ConfigDict

ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"
ADK_TELEMETRY_IGNORE_RUN_CONFIG = "ADK_TELEMETRY_IGNORE_RUN_CONFIG"
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = (
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)
OTEL_SEMCONV_STABILITY_OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
_EXPERIMENTAL = "gen_ai_latest_experimental"


class ContentCapturingMode(Enum):
    """Where contents are recorded: nowhere, in log records, in spans, or in both."""

    NO_CONTENT = "NO_CONTENT"
    EVENT_ONLY = "EVENT_ONLY"
    SPAN_ONLY = "SPAN_ONLY"
    SPAN_AND_EVENT = "SPAN_AND_EVENT"


_IN_LOGS = (ContentCapturingMode.EVENT_ONLY, ContentCapturingMode.SPAN_AND_EVENT)
_IN_SPANS = (ContentCapturingMode.SPAN_ONLY, ContentCapturingMode.SPAN_AND_EVENT)


class TelemetryConfig(BaseModel):
    """Which contents are recorded; a field that is None is read from the environment.

    With `ADK_TELEMETRY_IGNORE_RUN_CONFIG=true` an operator overrides the fields.

    Attributes:
      genai_semconv_stability_opt_in: whether to use OpenTelemetry's experimental GenAI
        conventions; else by `OTEL_SEMCONV_STABILITY_OPT_IN`.
      capture_message_content: where contents are recorded; else by
        `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    genai_semconv_stability_opt_in: Literal["stable", "experimental"] | None = None
    capture_message_content: ContentCapturingMode | None = None

    @property
    def should_use_experimental_genai_semconv(self) -> bool:
        """True for the experimental conventions."""
        if self.genai_semconv_stability_opt_in is None or _is_config_ignored():
            return _EXPERIMENTAL in os.environ.get(OTEL_SEMCONV_STABILITY_OPT_IN, "").split(",")
        return self.genai_semconv_stability_opt_in == "experimental"

    @property
    def resolved_content_capturing_mode(self) -> ContentCapturingMode:
        """Where contents are recorded."""
        return self._given_mode or _mode_of_environment()

    @property
    def content_capturing_mode_value(self) -> str:
        """The mode as a text; empty for none."""
        mode = self.resolved_content_capturing_mode
        return "" if mode is ContentCapturingMode.NO_CONTENT else mode.value

    @property
    def should_add_content_to_logs(self) -> bool:
        """True if log records hold contents."""
        return self.resolved_content_capturing_mode in _IN_LOGS

    @property
    def should_add_content_to_experimental_spans(self) -> bool:
        """True if spans by the experimental conventions hold contents."""
        return self.resolved_content_capturing_mode in _IN_SPANS

    @property
    def should_add_content_to_legacy_spans(self) -> bool:
        """True if `trace_call_llm` and its like record contents: unless switched off."""
        given = self._given_mode
        if given is not None:
            return given in _IN_SPANS
        return os.environ.get(ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS, "true").lower() in ("true", "1")

    @property
    def _given_mode(self) -> ContentCapturingMode | None:
        return None if _is_config_ignored() else self.capture_message_content


def _is_config_ignored() -> bool:
    return os.environ.get(ADK_TELEMETRY_IGNORE_RUN_CONFIG, "").lower() in ("true", "1")


def _mode_of_environment() -> ContentCapturingMode:
    given = os.environ.get(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, "").upper()
    if given in ("TRUE", "1"):
        return ContentCapturingMode.EVENT_ONLY
    known = ContentCapturingMode.__members__
    return known.get(given, ContentCapturingMode.NO_CONTENT)
