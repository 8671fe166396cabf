"""Endpoints that tell how the server does: alive, ready, which version."""

from __future__ import annotations

import platform

from pydantic import BaseModel

from ..errors import StoreError
from ..running.store_access import durable_store
from ..version import __version__
from .endpoint import Call, Endpoint
from .problems import Problem


class Health(BaseModel):
    """How it does; `ok` where it does well."""

    status: str


class Version(BaseModel):
    """What answers."""

    version: str
    language: str
    language_version: str
    package: str


async def health(call: Call) -> Health:
    """Say that the process lives."""
    return Health(status="ok")


async def ready(call: Call) -> Health:
    """Say whether requests may come."""
    host = call.host
    if host.draining:
        raise Problem(503, "Draining", "This server is about to end.")
    durable = durable_store(host.services.sessions)
    if durable is not None and durable.shared:
        try:
            await durable.open_leases(limit=1)
        except StoreError as error:
            raise Problem(503, "StoreError", "The session store does not answer.") from error
    return Health(status="ok")


async def version(call: Call) -> Version:
    """Say what answers."""
    return Version(
        version=__version__,
        language="python",
        language_version=platform.python_version(),
        package="ostinato",
    )


ENDPOINTS = (
    Endpoint("GET", "/health", "Whether the process lives", health, answer=Health, open=True),
    Endpoint(
        "GET",
        "/health/ready",
        "Whether requests may come; false as soon as the server is told to end",
        ready,
        answer=Health,
        problems=(503,),
        open=True,
    ),
    Endpoint("GET", "/version", "What answers", version, answer=Version),
)
