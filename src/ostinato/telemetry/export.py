"""Export of spans and metrics, configured by OpenTelemetry's environment variables.

The commands `serve`, `web` and `worker` call `start_export`; a program that embeds Ostinato sets
its own providers. This module chooses the exporters; the SDK reads all other variables itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Literal

from .._log import get_logger
from .._optional import need
from ..errors import AgentConfigError, MissingExtraError
from .tracing import is_exported

logger = get_logger(__name__)

Signal = Literal["traces", "metrics"]

_SIGNALS: tuple[Signal, ...] = ("traces", "metrics")
_EXTRA = "otel"
_SERVICE = "ostinato"
_CLASSES = {"traces": ("trace_exporter", "OTLPSpanExporter")}
_CLASSES["metrics"] = ("metric_exporter", "OTLPMetricExporter")
_CONSOLE = {
    "traces": ("opentelemetry.sdk.trace.export", "ConsoleSpanExporter"),
    "metrics": ("opentelemetry.sdk.metrics.export", "ConsoleMetricExporter"),
}
_PROTOCOLS = {"http/protobuf": "http", "grpc": "grpc"}


def start_export() -> Callable[[], None]:
    """Set up the exporters that the environment asks for.

    Returns:
      A function that sends what is left and ends the export; it may block for the exporters'
      timeout.

    Raises:
      MissingExtraError: a package that an exporter needs is not installed.
      AgentConfigError: a variable has an unknown value.
    """
    if _read_variable("OTEL_SDK_DISABLED").lower() == "true":
        return _do_nothing
    wanted = {signal: _exporter_names(signal) for signal in _SIGNALS}
    if not any(wanted.values()) or is_exported():
        return _do_nothing
    ends: list[Callable[[], None]] = []
    try:
        resource = _make_resource()
        if wanted["traces"]:
            ends.append(_export_traces(wanted["traces"], resource))
        if wanted["metrics"]:
            ends.append(_export_metrics(wanted["metrics"], resource))
    except MissingExtraError as error:
        # An endpoint alone may be meant for other programs of the machine.
        if _read_variable("OTEL_TRACES_EXPORTER") or _read_variable("OTEL_METRICS_EXPORTER"):
            raise
        logger.warning("An OTLP endpoint is set, but nothing is exported: %s", error)

    def end() -> None:
        for one in ends:
            one()

    return end


def check_export() -> None:
    """Check what `start_export` reads, without exporting.

    Raises:
      MissingExtraError: a package that an exporter named by a variable needs is not installed.
      AgentConfigError: a variable has an unknown value.
    """
    for signal in _SIGNALS:
        for name in _exporter_names(signal):
            try:
                _exporter_class(signal, name)
            except MissingExtraError:
                if _read_variable(f"OTEL_{signal.upper()}_EXPORTER"):
                    raise


def _do_nothing() -> None:
    return None


def _read_variable(name: str) -> str:
    return os.environ.get(name, "").strip()


def _exporter_names(signal: Signal) -> list[str]:
    """Return the names of a signal's exporters; OTLP if only its endpoint is given.

    Raises:
      AgentConfigError: one is not known.
    """
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    given = _read_variable(variable)
    if not given:
        endpoint = _read_variable("OTEL_EXPORTER_OTLP_ENDPOINT") or _read_variable(
            f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
        )
        return ["otlp"] if endpoint else []
    names = [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in names if name not in ("otlp", "console", "none")]
    if unknown:
        raise AgentConfigError(
            f"{variable}={given}: {unknown[0]!r} is not supported; write otlp, console or none."
            + (" For Prometheus use --metrics." if unknown[0] == "prometheus" else "")
        )
    return [name for name in names if name != "none"]


def _make_exporter(signal: Signal, name: str) -> Any:
    kind = _exporter_class(signal, name)
    return kind(out=sys.stderr) if name == "console" else kind()


def _exporter_class(signal: Signal, name: str) -> Any:
    if name == "console":
        module, kind = _CONSOLE[signal]
        return getattr(need(module, extra=_EXTRA), kind)
    variable = f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL"
    protocol = (
        _read_variable(variable) or _read_variable("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    )
    if protocol not in _PROTOCOLS:
        raise AgentConfigError(
            f"The OTLP protocol {protocol!r} is not supported; write http/protobuf, or grpc with "
            "the package opentelemetry-exporter-otlp-proto-grpc."
        )
    module, kind = _CLASSES[signal]
    path = f"opentelemetry.exporter.otlp.proto.{_PROTOCOLS[protocol]}.{module}"
    return getattr(need(path, extra=_EXTRA), kind)


def _make_resource() -> Any:
    """Return the resource of this process; its service name is `ostinato` unless set."""
    resources = need("opentelemetry.sdk.resources", extra=_EXTRA)
    named = _read_variable("OTEL_SERVICE_NAME") or "service.name=" in _read_variable(
        "OTEL_RESOURCE_ATTRIBUTES"
    )
    return resources.Resource.create({} if named else {"service.name": _SERVICE})


def _export_traces(names: list[str], resource: Any) -> Callable[[], None]:
    trace = need("opentelemetry.trace", extra=_EXTRA)
    sdk = need("opentelemetry.sdk.trace", extra=_EXTRA)
    export = need("opentelemetry.sdk.trace.export", extra=_EXTRA)
    provider = sdk.TracerProvider(resource=resource)
    for name in names:
        provider.add_span_processor(export.BatchSpanProcessor(_make_exporter("traces", name)))
    trace.set_tracer_provider(provider)
    logger.info("Spans are exported by OpenTelemetry (%s).", ", ".join(names))
    return provider.shutdown


def _export_metrics(names: list[str], resource: Any) -> Callable[[], None]:
    metrics = need("opentelemetry.metrics", extra=_EXTRA)
    sdk = need("opentelemetry.sdk.metrics", extra=_EXTRA)
    export = need("opentelemetry.sdk.metrics.export", extra=_EXTRA)
    readers = [
        export.PeriodicExportingMetricReader(_make_exporter("metrics", name)) for name in names
    ]
    provider = sdk.MeterProvider(metric_readers=readers, resource=resource)
    metrics.set_meter_provider(provider)
    return provider.shutdown
