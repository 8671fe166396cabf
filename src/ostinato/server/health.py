"""Endpoints for monitoring: liveness, readiness, metrics and version."""

from __future__ import annotations

import asyncio
import platform
from typing import Protocol, runtime_checkable

from pydantic import BaseModel
from starlette.responses import Response

from .._log import outage_log_of
from ..errors import StoreError
from ..execution.store_access import durable_store
from ..telemetry.prometheus import CONTENT_TYPE
from ..version import __version__
from .endpoint import Call, Endpoint
from .problems import Problem


class Health(BaseModel):
    """How it does; `ok` where it does well."""

    status: str


@runtime_checkable
class ProbedStore(Protocol):
    """A store with an immediate check, while its other operations retry for some time."""

    async def probe(self) -> None:
        """Raise StoreError if the store does not answer."""
        ...


class Version(BaseModel):
    """What answers."""

    version: str
    language: str
    language_version: str
    package: str


async def get_health(call: Call) -> Health:
    """Report that the process is alive."""
    return Health(status="ok")


async def get_readiness(call: Call) -> Health:
    """Report whether the server accepts requests."""
    host = call.host
    if host.leaving:
        raise Problem(503, "Draining", "This server is shutting down.")
    durable = durable_store(host.services.sessions)
    if durable is not None and durable.shared:
        outage = outage_log_of(durable)
        try:
            if isinstance(durable, ProbedStore):
                await durable.probe()
            else:
                await durable.open_leases(limit=1)
            outage.note_answer()
        except StoreError as error:
            outage.note_failure(error)
            raise Problem(503, "StoreError", "The session store does not answer.") from error
    return Health(status="ok")


async def get_metrics(call: Call) -> Response:
    """Return the metrics of this server's processes for Prometheus."""
    counts, durable = call.host.metrics, durable_store(call.host.services.sessions)
    if counts is None:
        raise Problem(404, "NotFoundError", "This server serves no metrics (--metrics).")
    if durable is not None:
        try:
            waiting = len(await durable.waiting_places(limit=1000))
            counts.set_total("ostinato_sessions_waiting", waiting)
        except StoreError as error:  # the other metrics are returned anyway
            outage_log_of(durable).note_failure(error)
    call.host.count_totals()
    text = await asyncio.to_thread(counts.render)
    return Response(text, headers={"content-type": CONTENT_TYPE})


async def get_version(call: Call) -> Version:
    """Return the versions of the server."""
    return Version(
        version=__version__,
        language="python",
        language_version=platform.python_version(),
        package="ostinato",
    )


ENDPOINTS = (
    Endpoint("GET", "/health", "Whether the process lives", get_health, answer=Health, open=True),
    Endpoint(
        "GET",
        "/health/ready",
        "Whether requests may come; false as soon as the server is told to end",
        get_readiness,
        answer=Health,
        open=True,
    ),
    Endpoint(
        "GET",
        "/metrics",
        "Count requests, runs, tokens and failures, in Prometheus's text format (--metrics)",
        get_metrics,
        media="text/plain",
        answer=str,
    ),
    Endpoint("GET", "/version", "What answers", get_version, answer=Version),
)
