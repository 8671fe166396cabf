"""The server as an ASGI app: the table of endpoints behind the guard."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from . import approvals, apps, artifacts, health, live, memory, runs, session_events, sessions
from .endpoint import Endpoint
from .host import Host
from .openapi import document
from .problems import on_problem
from .security import Guard
from .settings import ServerSettings

ENDPOINTS: tuple[Endpoint, ...] = (
    *health.ENDPOINTS,
    *apps.ENDPOINTS,
    *runs.ENDPOINTS,
    *approvals.ENDPOINTS,
    *artifacts.ENDPOINTS,
    *memory.ENDPOINTS,
    *session_events.ENDPOINTS,
    *sessions.ENDPOINTS,
)


def make_app(settings: ServerSettings) -> Starlette:
    """Return the server for these settings.

    Raises:
      SetupError: a folder cannot be made.
      InputValidationError: the database's URL names none.
      MissingExtraError: what it needs is not installed.
    """
    host = Host.build(settings)
    prefix = settings.url_prefix.rstrip("/")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        await host.start()
        try:
            yield
        finally:
            await host.close()

    open_paths = frozenset(prefix + one.path for one in ENDPOINTS if one.open)
    app = Starlette(
        routes=[
            *(one.route(prefix) for one in ENDPOINTS),
            live.route(prefix),
            Route(f"{prefix}/openapi.json", _openapi, methods=["GET"]),
            *_page(settings, prefix),
        ],
        middleware=[Middleware(Guard, settings=settings, open_paths=open_paths)],
        exception_handlers={Exception: on_problem, 404: on_problem, 405: on_problem},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.host = host
    return app


@cache
def _document(prefix: str) -> dict[str, Any]:
    return document(ENDPOINTS, prefix)


async def _openapi(request: Request) -> Response:
    settings: ServerSettings = request.app.state.host.settings
    return JSONResponse(_document(settings.url_prefix.rstrip("/")))


def _page(settings: ServerSettings, prefix: str) -> list[BaseRoute]:
    """Return the routes of a built page, which asks where the server is."""
    if settings.ui is None:
        return []

    async def config(request: Request) -> Response:
        return JSONResponse({"backendUrl": prefix})

    async def to_page(request: Request) -> Response:
        return RedirectResponse(f"{prefix}/dev-ui/")

    return [
        Route(f"{prefix}/dev-ui/assets/config/runtime-config.json", config),
        Route(f"{prefix}/dev-ui", to_page),
        Route(f"{prefix}/", to_page),
        Mount(f"{prefix}/dev-ui", StaticFiles(directory=settings.ui, html=True)),
    ]
