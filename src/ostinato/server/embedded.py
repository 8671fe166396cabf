"""The app for a program that serves it itself: a FastAPI app, or Starlette without fastapi."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from ..cli.utils.base_agent_loader import BaseAgentLoader
from ..errors import MissingExtraError
from .app import Lifespan, build_app, describe_server, openapi_route
from .settings import ServerSettings

_OF_FASTAPI = frozenset(
    ("get", "put", "post", "delete", "options", "head", "patch", "trace", "api_route", "websocket")
) | {"include_router", "add_api_route", "exception_handler", "dependency_overrides", "openapi"}


class PlainApp(Starlette):
    """The server without FastAPI; attributes that only FastAPI has raise MissingExtraError."""

    def __init__(self, root_path: str = "", **parts: Any) -> None:
        self._root_path = root_path
        super().__init__(**parts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._root_path:
            scope["root_path"] = self._root_path
        await super().__call__(scope, receive, send)

    def __getattr__(self, name: str) -> Any:
        """Raise an error for an attribute that does not exist.

        Raises:
          MissingExtraError: FastAPI has the attribute.
          AttributeError: FastAPI does not have it either.
        """
        if name in _OF_FASTAPI:
            raise MissingExtraError(
                f"app.{name} needs FastAPI, but 'fastapi' is not installed, so this app is a "
                "Starlette app. Install it with: pip install fastapi. Or add routes with "
                "app.router.routes.append(starlette.routing.Route(...))."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def make_embedded_app(
    settings: ServerSettings,
    root_path: str,
    loader: BaseAgentLoader | None,
    lifespan: Lifespan | None,
) -> Starlette:
    """Return a server to which a program can add routes: a FastAPI app if fastapi is installed.

    Args:
      settings: the settings.
      root_path: the path under which a proxy serves it; requests may include it or not.
      loader: loads the agents instead of the settings' folder.
      lifespan: the program's lifespan.

    Raises:
      SetupError: a setting is not valid, or a folder cannot be created.
    """
    fast: Any = import_module("fastapi").FastAPI if find_spec("fastapi") else None

    def make_instance(**parts: Any) -> Starlette:
        return (fast or PlainApp)(root_path=root_path, **parts)

    app: Any = build_app(settings, make_instance, loader=loader, lifespan=lifespan)
    if fast is None:
        app.router.routes.append(openapi_route(settings))
        return app
    describe_own = app.openapi

    def describe_all() -> dict[str, Any]:
        return _merge_documents(describe_own(), describe_server(settings))

    app.openapi = describe_all
    return app


def _merge_documents(program: dict[str, Any], server: dict[str, Any]) -> dict[str, Any]:
    """Merge the OpenAPI document of the program's routes with the server's."""
    kinds = {**server["components"], **program.get("components", {})}
    components = {
        kind: {**server["components"].get(kind, {}), **program.get("components", {}).get(kind, {})}
        for kind in kinds
    }
    return {**program, "paths": {**server["paths"], **program["paths"]}, "components": components}
