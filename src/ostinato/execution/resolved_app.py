"""The app of a runner, given or made of an agent or node."""

from __future__ import annotations

from typing import Any, cast

from ..agents.base_agent import BaseAgent
from ..apps.app import App
from ..errors import AgentConfigError
from ..plugins.base_plugin import BasePlugin
from ..workflow.nodes import as_node


def resolve_app(
    app: App | None,
    app_name: str | None,
    agent: BaseAgent | None,
    plugins: list[BasePlugin] | None,
    node: Any = None,
) -> App:
    """Return a runner's app, made of the agent or node if none is given.

    Raises:
      AgentConfigError: neither app nor agent is given, or both are.
    """
    if node is not None:
        if app is not None or agent is not None:
            raise AgentConfigError("Only one of app, agent, or node may be provided.")
        agent = cast(BaseAgent, as_node(node))
        app_name = app_name or agent.name
    if app is not None:
        if agent is not None:
            raise AgentConfigError("Only one of app, agent, or node may be provided.")
        if plugins is not None:
            raise AgentConfigError(
                "When app is provided, plugins should not be provided. Give them to the App."
            )
        return app
    if agent is None:
        raise AgentConfigError("One of app, agent, or node must be provided.")
    if not app_name:
        raise AgentConfigError("app_name is required when agent is provided without app.")
    if isinstance(agent, type) or not (hasattr(agent, "name") or hasattr(agent, "run_async")):
        raise AgentConfigError(f"agent takes an agent or a workflow; got {agent!r:.80}.")
    # Not validated here: an invalid app name, such as a folder's, is checked by the session store.
    return App.model_construct(name=app_name, root_agent=agent, plugins=plugins or [])
