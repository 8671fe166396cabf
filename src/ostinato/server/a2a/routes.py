"""Routes of A2A: each app's agent card, and the SDK's routes within this server's limits."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Message, Receive

from ..._optional import need
from ...a2a.wire import EXTRA
from ...agents.base_agent import BaseAgent
from ...agents.node_agent import as_agent
from ...errors import MissingExtraError
from ...version import __version__
from ..agents import ServedApp
from ..bodies import check_part_count, read_json
from ..endpoint import Call, Endpoint
from ..host import Host
from ..idempotency import refuse_key
from ..lazy_app import LazyApp, missing_protocol
from ..problems import Problem, log_problem, on_problem, problem_of, rpc_error
from ..settings import ServerSettings
from .handler import APP, A2aHandler

_PROTOCOL = "A2A"
_CARD = "/.well-known/agent-card.json"
_PARSE, _INVALID = -32700, -32600
_BAD_REQUESTS = ("Failed to parse request params", "Failed to validate base JSON-RPC request")
"""What the SDK logs, as errors with a traceback, of requests that a client has got wrong."""
_MODES = ["text/plain"]

Answers = Callable[[Request], Awaitable[Response]]


async def get_agent_card(call: Call) -> dict[str, Any]:
    """Return the agent card of an app."""
    try:
        need("a2a", extra=EXTRA)
    except MissingExtraError as error:
        raise missing_protocol(_PROTOCOL, error) from error
    app = await call.host.agents.get_app(call.path["app"])
    return build_card(app, call.request, call.host.settings)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/a2a/{app}" + _CARD,
        "Tell other agents what an app is (A2A)",
        get_agent_card,
        answer=dict[str, Any],
    ),
)


def build_card(app: ServedApp, request: Request, settings: ServerSettings) -> dict[str, Any]:
    """Return the agent card of an app, with addresses that are based on the request's URL."""
    root = as_agent(app.runner.agent)
    base = f"{str(request.base_url).rstrip('/')}{settings.url_prefix.rstrip('/')}/a2a/{app.name}"
    found: dict[str, Any] = {
        "name": app.name,
        "description": root.description or f"The agent {root.name}.",
        "version": __version__,
        "supportedInterfaces": [
            {"url": base, "protocolBinding": kind, "protocolVersion": "1.0"}
            for kind in ("JSONRPC", "HTTP+JSON")
        ],
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": [*_MODES, "application/json", "image/*", "audio/*", "application/pdf"],
        "defaultOutputModes": _MODES,
        "skills": [_build_skill(one) for one in (root, *root.sub_agents)],
    }
    if settings.tokens:
        scheme = {"httpAuthSecurityScheme": {"scheme": "bearer"}}
        found["securitySchemes"] = {"token": scheme}
        found["securityRequirements"] = [{"schemes": {"token": {"list": []}}}]
    return found


def _build_skill(agent: BaseAgent) -> dict[str, Any]:
    return {
        "id": agent.name,
        "name": agent.name,
        "description": agent.description or f"The agent {agent.name}.",
        "tags": ["agent"],
    }


def _is_of_server(record: logging.LogRecord) -> bool:
    """Return whether the log keeps a record: the SDK warns of a bad request in a line beside."""
    return record.msg not in _BAD_REQUESTS


class _ContextBuilder:
    """Passes the app's name to the handler in the SDK's call context."""

    def __init__(self) -> None:
        common = need("a2a.server.routes.common", extra=EXTRA)
        self._default: Any = common.DefaultServerCallContextBuilder()

    def build(self, request: Request) -> Any:
        """Return the context of a call; the SDK calls it."""
        context = self._default.build(request)
        context.state[APP] = request.path_params["app"]
        return context


def make_routes(host: Host, prefix: str) -> list[BaseRoute]:
    """Return the routes of the protocol's methods."""
    base = f"{prefix}/a2a/{{app}}"

    async def make_app() -> ASGIApp:
        return await asyncio.to_thread(_make_router, host, base)

    methods = LazyApp(_PROTOCOL, make_app)
    return [Route(base, methods), Route(base + "/{method:path}", methods)]


def _make_router(host: Host, base: str) -> Router:
    """Return a router of the SDK's routes.

    Raises:
      MissingExtraError: the SDK is not installed.
    """
    handler = A2aHandler(host)
    contexts = _ContextBuilder()
    rpc = need("a2a.server.routes.jsonrpc_routes", extra=EXTRA).create_jsonrpc_routes(
        handler, base, context_builder=contexts
    )
    need("a2a.server.routes.jsonrpc_dispatcher", extra=EXTRA).logger.addFilter(_is_of_server)
    rest = need("a2a.server.routes.rest_routes", extra=EXTRA).create_rest_routes(
        handler, context_builder=contexts, path_prefix=base
    )
    found: list[BaseRoute] = [
        *(_limit_route(one, _rpc_error) for one in rpc),
        # The other routes are for tenants, which this server does not have.
        *(_limit_route(one, on_problem) for one in rest if isinstance(one, Route)),
    ]
    return Router(found, redirect_slashes=False)


def _limit_route(
    route: Route, on_error: Callable[[Request, Exception], Awaitable[Response]]
) -> BaseRoute:
    """Return a route of the SDK that applies the server's limits to bodies."""
    inner = cast(Answers, route.endpoint)

    async def answer_request(request: Request) -> Response:
        host: Host = request.app.state.host
        settings = host.settings
        try:
            refuse_key(request.method, request.headers)
            await host.agents.get_app(request.path_params["app"])
            if request.method == "POST":
                body = await read_json(request, settings.max_upload, settings.request_timeout)
                check_part_count(_message_of(body), settings.max_parts)
                request = Request(request.scope, _replay_body(json.dumps(body).encode()))
            return await inner(request)
        except Exception as error:  # boundary: every error becomes a response
            return await on_error(request, error)

    return Route(route.path, answer_request, methods=list(route.methods or ()))


def _message_of(body: Any) -> Any:
    """Return the message of a request, of JSON-RPC or REST, or None."""
    for name in ("params", "message"):
        if isinstance(body, dict):
            fields = cast("dict[str, Any]", body)
            body = fields.get(name, fields if name == "params" else None)
    return body


def _replay_body(body: bytes) -> Receive:
    async def receive_body() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_body


async def _rpc_error(request: Request, error: Exception) -> Response:
    """Return the JSON-RPC error of a request that failed before it reached the SDK."""
    log_problem(request, error)
    problem = problem_of(error)
    code = _PARSE if isinstance(error, Problem) and problem.kind == "InvalidJson" else _INVALID
    status = 200 if code == _PARSE else problem.status
    return rpc_error(code, problem.message or "The request cannot be answered.", status)
