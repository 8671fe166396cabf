"""Routes of A2A: each app's card, and the SDK's own routes behind this server's limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Message, Receive

from ..._optional import need
from ...a2a.wire import EXTRA
from ...errors import MissingExtraError
from ..bodies import read_json
from ..endpoint import Call, Endpoint
from ..host import Host
from ..later import Later, unspoken
from ..problems import Problem, log_problem, on_problem, problem_of
from .card import card
from .handler import APP, Handler

_PROTOCOL = "A2A"
_CARD = "/.well-known/agent-card.json"
_PARSE, _INVALID = -32700, -32600

Answers = Callable[[Request], Awaitable[Response]]


async def agent_card(call: Call) -> dict[str, Any]:
    """Tell other agents what an app is and where it is spoken to."""
    try:
        need("a2a", extra=EXTRA)
    except MissingExtraError as error:
        raise unspoken(_PROTOCOL, error) from error
    app = await call.host.agents.get(call.path["app"])
    return card(app, call.request, call.host.settings)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/a2a/{app}" + _CARD,
        "Tell other agents what an app is (A2A)",
        agent_card,
        answer=dict[str, Any],
        problems=(404, 503),
    ),
)


class _Contexts:
    """Tells the handler which app is meant."""

    def __init__(self) -> None:
        common = need("a2a.server.routes.common", extra=EXTRA)
        self._default: Any = common.DefaultServerCallContextBuilder()

    def build(self, request: Request) -> Any:
        """Return the context of a call."""
        context = self._default.build(request)
        context.state[APP] = request.path_params["app"]
        return context


def routes(host: Host, prefix: str) -> list[BaseRoute]:
    """Return the routes of the protocol's methods."""
    base = f"{prefix}/a2a/{{app}}"

    async def make() -> ASGIApp:
        return await asyncio.to_thread(_router, host, base)

    methods = Later(_PROTOCOL, make)
    return [Route(base, methods), Route(base + "/{method:path}", methods)]


def _router(host: Host, base: str) -> Router:
    """Return the SDK's own routes.

    Raises:
      MissingExtraError: the SDK is not installed.
    """
    handler = Handler(host)
    contexts = _Contexts()
    rpc = need("a2a.server.routes.jsonrpc_routes", extra=EXTRA).create_jsonrpc_routes(
        handler, base, context_builder=contexts
    )
    rest = need("a2a.server.routes.rest_routes", extra=EXTRA).create_rest_routes(
        handler, context_builder=contexts, path_prefix=base
    )
    found: list[BaseRoute] = [
        *(_guarded(one, _rpc_error) for one in rpc),
        # What is no Route is for tenants, which there are none of here.
        *(_guarded(one, on_problem) for one in rest if isinstance(one, Route)),
    ]
    return Router(found, redirect_slashes=False)


def _guarded(
    route: Route, on_error: Callable[[Request, Exception], Awaitable[Response]]
) -> BaseRoute:
    """Return a route of the SDK that reads bodies within the server's limits."""
    inner = cast(Answers, route.endpoint)

    async def answer(request: Request) -> Response:
        host: Host = request.app.state.host
        settings = host.settings
        try:
            await host.agents.get(request.path_params["app"])
            if request.method == "POST":
                body = await read_json(request, settings.max_upload, settings.request_timeout)
                request = Request(request.scope, _replayed(json.dumps(body).encode()))
            return await inner(request)
        except Exception as error:  # boundary: whatever is wrong with a request is an answer
            return await on_error(request, error)

    return Route(route.path, answer, methods=list(route.methods or ()))


def _replayed(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _rpc_error(request: Request, error: Exception) -> Response:
    """Answer a request that never reached the SDK, in JSON-RPC's words."""
    log_problem(request, error)
    problem = problem_of(error)
    code = _PARSE if isinstance(error, Problem) and problem.kind == "InvalidJson" else _INVALID
    told = {"code": code, "message": problem.message or "The request cannot be answered."}
    status = 200 if code == _PARSE else problem.status
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, status)
