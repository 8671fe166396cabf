"""Plugins that a server adds to every app, by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..plugins.base_plugin import BasePlugin
from .failure import SetupError


def make_plugins(names: Sequence[str]) -> list[BasePlugin]:
    """Return the plugins that dotted names refer to.

    Args:
      names: dotted names of instances, or of classes, which get `name` as in google-adk.

    Raises:
      SetupError: a name cannot be imported, or does not refer to a plugin.
    """
    return [_make_plugin(name) for name in names]


def _make_plugin(name: str) -> BasePlugin:
    module, _, attribute = name.rpartition(".")
    try:
        found: Any = getattr(import_module(module), attribute)
        if isinstance(found, type) and issubclass(found, BasePlugin):
            found = found(name=name)
    except Exception as error:  # boundary: the plugin is the user's code
        raise SetupError(
            f"The plugin {name!r} cannot be created: {type(error).__name__}: {error}. Name a class "
            "or an instance, such as my_package.plugins.MyPlugin."
        ) from error
    if not isinstance(found, BasePlugin):
        raise SetupError(f"{name!r} is not a plugin; its class has to derive from BasePlugin.")
    return found
