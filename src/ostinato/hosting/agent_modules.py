"""Loader of an agent from a module that is on the import path, as google-adk's tests name it."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

from ..agents.node_agent import as_agent
from ..apps.app import App
from ..compat.alias import arm
from ..context.node import BaseNode
from ..errors import InputValidationError
from .setup_error import SetupError

_AGENT = "agent"


async def load_module_agent(name: str) -> Any:
    """Return the App or the root agent of a module.

    Args:
      name: dotted name of a module that ends in `.agent` or has a member `agent`; that has `app`,
        `root_agent` or `get_agent_async`.

    Raises:
      ImportError: the module cannot be imported.
      InputValidationError: the module has no agent.
    """
    module = import_agent_module(name)
    app = getattr(module, "app", None)
    if isinstance(app, App):
        return app
    root = getattr(module, "root_agent", None)
    if root is None and hasattr(module, "get_agent_async"):
        made = module.get_agent_async()
        made = await made if inspect.isawaitable(made) else made
        root = made[0] if isinstance(made, tuple) else made  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(root, BaseNode):
        raise InputValidationError(
            f"The module {module.__name__!r} has no agent: define root_agent, app or "
            "get_agent_async."
        )
    return as_agent(root)


def import_agent_module(name: str) -> ModuleType:
    """Import a module, and return it or its member `agent`.

    Args:
      name: dotted name.

    Raises:
      ImportError: the module cannot be imported.
      InputValidationError: it neither ends in `.agent` nor has a member `agent`.
    """
    arm()
    module = import_module(name)
    inner = getattr(module, _AGENT, None)
    if isinstance(inner, ModuleType):
        return inner
    if name.endswith(f".{_AGENT}") or inner is not None:
        return module if inner is None else inner
    raise InputValidationError(
        f"The module {name!r} has no member 'agent', and its name does not end in '.agent'. Name "
        f"the module with root_agent, such as '{name}.agent'."
    )


def find_reset_function(module: ModuleType) -> Any:
    """Return the function `reset_data` of an agent's module, or None.

    Args:
      module: the module.

    Raises:
      SetupError: `reset_data` is not a function.
    """
    found = getattr(module, "reset_data", None)
    if found is not None and not callable(found):
        raise SetupError(f"reset_data in {module.__name__} must be a function.")
    return found
