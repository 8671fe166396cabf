"""Telemetry: spans of runs, model calls and tool calls; free of cost when not recorded."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.telemetry.context import ContentCapturingMode as ContentCapturingMode
    from ostinato.telemetry.context import TelemetryConfig as TelemetryConfig
    from ostinato.telemetry.span_attributes import trace_call_llm as trace_call_llm
    from ostinato.telemetry.span_attributes import (
        trace_merged_tool_calls as trace_merged_tool_calls,
    )
    from ostinato.telemetry.span_attributes import trace_send_data as trace_send_data
    from ostinato.telemetry.span_attributes import trace_tool_call as trace_tool_call
    from ostinato.telemetry.span_attributes import tracer as tracer

__getattr__, __dir__, __all__ = attach(__name__)
