"""Agent cards: what another agent has to know of an app."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from ...agents.base_agent import BaseAgent
from ...version import __version__
from ..agents import ServedApp
from ..settings import ServerSettings

_MODES = ["text/plain"]


def card(app: ServedApp, request: Request, settings: ServerSettings) -> dict[str, Any]:
    """Return the card of an app.

    Args:
      app: the app.
      request: asks for it; the addresses are as it reached the server.
      settings: the server's.
    """
    root = app.runner.agent
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
        "skills": [_skill(one) for one in (root, *root.sub_agents)],
    }
    if settings.token is not None:
        scheme = {"httpAuthSecurityScheme": {"scheme": "bearer"}}
        found["securitySchemes"] = {"token": scheme}
        found["securityRequirements"] = [{"schemes": {"token": {"list": []}}}]
    return found


def _skill(agent: BaseAgent) -> dict[str, Any]:
    return {
        "id": agent.name,
        "name": agent.name,
        "description": agent.description or f"The agent {agent.name}.",
        "tags": ["agent"],
    }
