"""OpenTelemetry's providers for a program that has none: processors, readers and OTLP exporters."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._log import get_logger
from .._optional import need

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor

logger = get_logger(__name__)

_EXTRA = "otel"
_OTLP = "opentelemetry.exporter.otlp.proto.http"


@dataclass
class OTelHooks:
    """Processors and readers for OpenTelemetry's providers.

    Attributes:
      span_processors: of the tracer provider.
      metric_readers: of the meter provider.
      log_record_processors: of the logger provider.
    """

    span_processors: list[SpanProcessor] = field(default_factory=list["SpanProcessor"])
    metric_readers: list[MetricReader] = field(default_factory=list["MetricReader"])
    log_record_processors: list[Any] = field(default_factory=list[Any])


def maybe_set_otel_providers(
    otel_hooks_to_setup: Iterable[OTelHooks] | None = None,
    otel_resource: Resource | None = None,
) -> None:
    """Set OpenTelemetry's global providers of spans, metrics and logs.

    A provider is set if there is something for it: hooks, or the address of an OTLP collector in
    `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_{TRACES,METRICS,LOGS}_ENDPOINT`. One that
    is set already stays.

    Args:
      otel_hooks_to_setup: what the providers get beside OTLP exporters.
      otel_resource: what names this process; by default what the environment says.

    Raises:
      MissingExtraError: OpenTelemetry's SDK or exporter is not installed.
    """
    hooks = [*(otel_hooks_to_setup or ()), _otlp_hooks()]
    if not any(
        one.span_processors or one.metric_readers or one.log_record_processors for one in hooks
    ):
        return  # without the SDK, which may not be installed
    resource = otel_resource or need("opentelemetry.sdk.resources", extra=_EXTRA).Resource.create()
    spans = [one for hook in hooks for one in hook.span_processors]
    if spans and _is_free("opentelemetry.trace", "get_tracer_provider", "TracerProvider"):
        provider = need("opentelemetry.sdk.trace", extra=_EXTRA).TracerProvider(resource=resource)
        for processor in spans:
            provider.add_span_processor(processor)
        need("opentelemetry.trace", extra=_EXTRA).set_tracer_provider(provider)
    readers = [one for hook in hooks for one in hook.metric_readers]
    if readers and _is_free("opentelemetry.metrics", "get_meter_provider", "MeterProvider"):
        sdk = need("opentelemetry.sdk.metrics", extra=_EXTRA)
        need("opentelemetry.metrics", extra=_EXTRA).set_meter_provider(
            sdk.MeterProvider(metric_readers=readers, resource=resource)
        )
    records = [one for hook in hooks for one in hook.log_record_processors]
    if records and _is_free("opentelemetry._logs", "get_logger_provider", "LoggerProvider"):
        sdk = need("opentelemetry.sdk._logs", extra=_EXTRA)
        provider = sdk.LoggerProvider(resource=resource)
        for processor in records:
            provider.add_log_record_processor(processor)
        need("opentelemetry._logs", extra=_EXTRA).set_logger_provider(provider)


def _is_free(module: str, getter: str, kind: str) -> bool:
    """Return whether a global provider may be set; a logged warning says why not."""
    present: Any = getattr(need(module, extra=_EXTRA), getter)()
    if type(present).__name__ in (f"Proxy{kind}", f"_Proxy{kind}"):
        return True
    logger.warning("OpenTelemetry's %s is set already and stays; no hook was added to it.", kind)
    return False


def _otlp_hooks() -> OTelHooks:
    """Return exporters to the collectors that the environment names."""
    hooks = OTelHooks()
    if _has_endpoint("TRACES"):
        exporter = need(f"{_OTLP}.trace_exporter", extra=_EXTRA).OTLPSpanExporter()
        export = need("opentelemetry.sdk.trace.export", extra=_EXTRA)
        hooks.span_processors.append(export.BatchSpanProcessor(exporter))
    if _has_endpoint("METRICS"):
        exporter = need(f"{_OTLP}.metric_exporter", extra=_EXTRA).OTLPMetricExporter()
        export = need("opentelemetry.sdk.metrics.export", extra=_EXTRA)
        hooks.metric_readers.append(export.PeriodicExportingMetricReader(exporter))
    if _has_endpoint("LOGS"):
        exporter = need(f"{_OTLP}._log_exporter", extra=_EXTRA).OTLPLogExporter()
        export = need("opentelemetry.sdk._logs.export", extra=_EXTRA)
        hooks.log_record_processors.append(export.BatchLogRecordProcessor(exporter))
    return hooks


def _has_endpoint(signal: str) -> bool:
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return any(os.environ.get(name) for name in names)
