"""Exporters to Google Cloud, as hooks for `maybe_set_otel_providers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._log import get_logger
from .._optional import need
from .setup import OTelHooks

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

logger = get_logger(__name__)

_SERVER = "https://telemetry.googleapis.com/v1"
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_OTLP = "opentelemetry.exporter.otlp.proto.http"


def get_gcp_exporters(
    enable_cloud_tracing: bool = False,
    enable_cloud_metrics: bool = False,
    enable_cloud_logging: bool = False,
    google_auth: tuple[Any, str] | None = None,
) -> OTelHooks:
    """Return hooks that export to Google Cloud, over its OpenTelemetry interface.

    Args:
      enable_cloud_tracing: export spans to Cloud Trace.
      enable_cloud_metrics: export metrics to Cloud Monitoring.
      enable_cloud_logging: export log records to Cloud Logging.
      google_auth: credentials and project; by default what the environment offers.

    Returns:
      The hooks; empty where nothing is enabled, or where no project is known.

    Raises:
      MissingExtraError: a package is not installed.
    """
    hooks = OTelHooks()
    if not (enable_cloud_tracing or enable_cloud_metrics or enable_cloud_logging):
        return hooks
    credentials, project = google_auth or need("google.auth", extra="vertex").default(_SCOPES)
    if not project:
        logger.warning("No Google Cloud project is known, so nothing is exported to it.")
        return hooks

    def make_exporter(signal: str, module: str, name: str) -> Any:
        session = need("google.auth.transport.requests", extra="vertex")
        return getattr(need(f"{_OTLP}.{module}", extra="otel"), name)(
            endpoint=f"{_SERVER}/{signal}",
            session=session.AuthorizedSession(credentials),
            headers={"x-goog-user-project": project},
        )

    if enable_cloud_tracing:
        exporter = make_exporter("traces", "trace_exporter", "OTLPSpanExporter")
        export = need("opentelemetry.sdk.trace.export", extra="otel")
        hooks.span_processors.append(export.BatchSpanProcessor(exporter))
    if enable_cloud_metrics:
        exporter = make_exporter("metrics", "metric_exporter", "OTLPMetricExporter")
        export = need("opentelemetry.sdk.metrics.export", extra="otel")
        hooks.metric_readers.append(export.PeriodicExportingMetricReader(exporter))
    if enable_cloud_logging:
        exporter = make_exporter("logs", "_log_exporter", "OTLPLogExporter")
        export = need("opentelemetry.sdk._logs.export", extra="otel")
        hooks.log_record_processors.append(export.BatchLogRecordProcessor(exporter))
    return hooks


def get_gcp_resource(project_id: str | None = None) -> Resource:
    """Return what names this process in Google Cloud.

    Args:
      project_id: of Google Cloud; `OTEL_RESOURCE_ATTRIBUTES` goes before it.
    """
    resources: Any = need("opentelemetry.sdk.resources", extra="otel")
    named = {"gcp.project_id": project_id} if project_id else {}
    found = resources.Resource(attributes=named).merge(resources.OTELResourceDetector().detect())
    return found
