"""Exporters to Google Cloud, as hooks for `maybe_set_otel_providers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._log import get_logger
from .._optional import need
from .setup import OTelHooks

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

logger = get_logger(__name__)

_TRACES = "https://telemetry.googleapis.com/v1/traces"
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def get_gcp_exporters(
    enable_cloud_tracing: bool = False,
    enable_cloud_metrics: bool = False,
    enable_cloud_logging: bool = False,
    google_auth: tuple[Any, str] | None = None,
) -> OTelHooks:
    """Return hooks that export to Google Cloud.

    Args:
      enable_cloud_tracing: export spans to Cloud Trace.
      enable_cloud_metrics: export metrics to Cloud Monitoring.
      enable_cloud_logging: export log records to Cloud Logging.
      google_auth: credentials and project; by default what the environment offers.

    Returns:
      The hooks; empty where nothing is enabled, or where no project is known.

    Raises:
      MissingExtraError: a package is not installed.
      NotImplementedError: metrics or logs are to be exported.
    """
    hooks = OTelHooks()
    if enable_cloud_metrics or enable_cloud_logging:
        raise NotImplementedError(
            "Ostinato exports no metrics and logs to Google Cloud by itself. Send them to an "
            "OpenTelemetry collector by OTEL_EXPORTER_OTLP_ENDPOINT, or hand the exporters of "
            "opentelemetry-exporter-gcp-monitoring and opentelemetry-exporter-gcp-logging to "
            "maybe_set_otel_providers() yourself."
        )
    if not enable_cloud_tracing:
        return hooks
    credentials, project = google_auth or need("google.auth", extra="vertex").default(_SCOPES)
    if not project:
        logger.warning("No Google Cloud project is known, so no spans are exported to it.")
        return hooks
    session = need("google.auth.transport.requests", extra="vertex").AuthorizedSession(credentials)
    http = need("opentelemetry.exporter.otlp.proto.http.trace_exporter", extra="otel")
    exporter = http.OTLPSpanExporter(
        endpoint=_TRACES, session=session, headers={"x-goog-user-project": project}
    )
    export = need("opentelemetry.sdk.trace.export", extra="otel")
    hooks.span_processors.append(export.BatchSpanProcessor(exporter))
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
