"""The server as an ASGI app: the table of endpoints behind the guard."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from . import (
    adk_page,
    approvals,
    apps,
    artifacts,
    health,
    live,
    memory,
    page,
    runs,
    session_events,
    sessions,
    spans,
)
from .a2a import routes as a2a
from .agui import run as agui
from .endpoint import Endpoint
from .host import Host
from .mcp.transports import Http
from .openai import chat, responses
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
    *spans.ENDPOINTS,
    *chat.ENDPOINTS,
    *responses.ENDPOINTS,
    *agui.ENDPOINTS,
    *a2a.ENDPOINTS,
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
    mcp = Http(host)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        await host.start()
        try:
            yield
        finally:
            await mcp.close()
            await host.close()

    of_page = page.routes(prefix) if settings.page else []
    # The page's files hold nothing secret; it asks the person for the token itself.
    open_paths = frozenset(
        [
            *(prefix + one.path for one in ENDPOINTS if one.open),
            *(one.path for one in of_page if isinstance(one, Route)),
        ]
    )
    app = Starlette(
        routes=[
            *(one.route(prefix) for one in ENDPOINTS),
            live.route(prefix),
            Route(f"{prefix}/openapi.json", _openapi, methods=["GET"]),
            *a2a.routes(host, prefix),
            *mcp.routes(prefix),
            *of_page,
            *adk_page.routes(settings, prefix),
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
