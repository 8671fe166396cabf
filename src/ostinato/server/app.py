"""The server as an ASGI app: all endpoints behind the guard."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..cli.utils.base_agent_loader import BaseAgentLoader
from . import (
    adk_page,
    app_graph,
    approvals,
    apps,
    artifacts,
    effects,
    eval_routes,
    health,
    live_endpoint,
    page,
    runs,
    session_branches,
    session_endpoints,
    session_events,
    session_list,
    session_titles,
    spans,
    tracebacks,
    trial_runs,
    users,
)
from .a2a import routes as a2a
from .agui import agui_run
from .checks import check_settings
from .endpoint import Endpoint
from .host import Host
from .mcp.transports import McpEndpoint
from .openai import chat, responses
from .openapi import build_document
from .problems import on_problem
from .request_log import RequestLog
from .security import Guard
from .settings import ServerSettings

ENDPOINTS: tuple[Endpoint, ...] = (
    *health.ENDPOINTS,
    *apps.ENDPOINTS,
    *app_graph.ENDPOINTS,
    *runs.ENDPOINTS,
    *approvals.ENDPOINTS,
    *effects.ENDPOINTS,
    *artifacts.ENDPOINTS,
    *users.ENDPOINTS,
    *session_events.ENDPOINTS,
    *session_list.ENDPOINTS,
    *session_endpoints.ENDPOINTS,
    *session_branches.ENDPOINTS,
    *trial_runs.ENDPOINTS,
    *session_titles.ENDPOINTS,
    *spans.ENDPOINTS,
    *tracebacks.ENDPOINTS,
    *chat.ENDPOINTS,
    *responses.ENDPOINTS,
    *agui_run.ENDPOINTS,
    *a2a.ENDPOINTS,
)


def make_app(settings: ServerSettings) -> Starlette:
    """Return the server for these settings.

    Raises:
      SetupError: a setting is not valid, or a folder cannot be created.
      MissingExtraError: an extra that the settings need is not installed.
    """
    app = build_app(settings, Starlette)
    app.router.redirect_slashes = False
    app.router.routes.append(openapi_route(settings))
    return app


Lifespan = Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any] | None]]


def build_app(
    settings: ServerSettings,
    app_class: Callable[..., Starlette],
    *,
    loader: BaseAgentLoader | None = None,
    lifespan: Lifespan | None = None,
) -> Starlette:
    """Return the server as an app of another class, without its OpenAPI document.

    Args:
      settings: the settings.
      app_class: Starlette, or a class with the same parameters, such as FastAPI.
      loader: loads the agents instead of the settings' folder.
      lifespan: the program's lifespan, which runs within the server's own.

    Raises:
      SetupError: a setting is not valid, or a folder cannot be created.
      MissingExtraError: an extra that the settings need is not installed.
    """
    check_settings(settings)
    host = Host.from_settings(settings, loader)
    prefix = settings.url_prefix.rstrip("/")
    mcp = McpEndpoint(host)

    of_page = page.make_routes(prefix) if settings.page else []
    a2a_routes = a2a.make_routes(host, prefix) if settings.a2a else []
    # The page's files hold no secrets; the page asks the person for the token.
    open_paths = frozenset(
        [
            *(prefix + one.path for one in ENDPOINTS if one.open),
            *(one.path for one in of_page if isinstance(one, Route)),
        ]
    )
    app = app_class(
        routes=[
            *(one.make_route(prefix) for one in endpoints_of(settings)),
            live_endpoint.make_route(prefix),
            *a2a_routes,
            *mcp.make_routes(prefix),
            *of_page,
            *(eval_routes.make_routes(prefix) if settings.page else ()),
            *adk_page.make_routes(settings, prefix),
        ],
        middleware=[
            Middleware(RequestLog, access_log=settings.access_log, metrics=host.metrics),
            Middleware(Guard, settings=settings, open_paths=open_paths),
        ],
        exception_handlers={Exception: on_problem, HTTPException: on_problem},
        lifespan=_make_lifespan(host, mcp, lifespan),
    )
    app.state.host = host
    return app


def _make_lifespan(host: Host, mcp: McpEndpoint, program: Lifespan | None) -> Lifespan:
    """Return the server's lifespan, which contains the program's own."""

    @asynccontextmanager
    async def run_host(app: Starlette) -> AsyncGenerator[Mapping[str, Any] | None]:
        await host.start()
        try:
            if program is None:
                yield None
            else:
                async with program(app) as state:
                    yield state
        finally:
            await mcp.close()
            await host.close()

    return run_host


def endpoints_of(settings: ServerSettings) -> tuple[Endpoint, ...]:
    """Return the endpoints of a server with these settings."""
    left_out = () if settings.a2a else a2a.ENDPOINTS
    return tuple(one for one in ENDPOINTS if one not in left_out)


@cache
def _cached_document(endpoints: tuple[Endpoint, ...], prefix: str) -> dict[str, Any]:
    return build_document(endpoints, prefix)


def describe_server(settings: ServerSettings) -> dict[str, Any]:
    """Return the OpenAPI document of a server with these settings."""
    return _cached_document(endpoints_of(settings), settings.url_prefix.rstrip("/"))


def openapi_route(settings: ServerSettings) -> Route:
    """Return the route of the OpenAPI document."""

    async def answer_document(request: Request) -> Response:
        return JSONResponse(describe_server(settings))

    prefix = settings.url_prefix.rstrip("/")
    return Route(f"{prefix}/openapi.json", answer_document, methods=["GET"])
