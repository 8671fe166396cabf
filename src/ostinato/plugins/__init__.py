"""Plugins: hooks around whole runs, for every agent of an app."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.plugins.base_plugin import BasePlugin as BasePlugin
    from ostinato.plugins.plugin_manager import PluginManager as PluginManager

__getattr__, __dir__, __all__ = attach(__name__)
