"""The tools that a file names, made ready for an agent. Called by LlmAgent's `from_config`."""

from __future__ import annotations

import sys
from typing import Any

from ..agent_files.file_reading import FieldFault, enter_field, resolve_fully_qualified_name
from .base_tool import BaseTool
from .base_toolset import BaseToolset
from .tool_configs import ToolArgsConfig, ToolConfig


def resolve_tools(configs: list[ToolConfig], config_abs_path: str) -> list[Any]:
    """Return the functions, tools and toolsets that a file names.

    Args:
      configs: the settings of the tools.
      config_abs_path: the file that they are from.

    Raises:
      AgentFileError: a name is nothing, or no tool can be made with these arguments.
    """
    tools: list[Any] = []
    for index, config in enumerate(configs):
        with enter_field("tools", index):
            tools.append(_tool(config, config_abs_path))
    return tools


def find_named_tool(name: str) -> Any:
    """Return what a tool's name stands for: what comes with Ostinato, or a dotted name.

    Raises:
      FieldFault: no tool of that name comes with Ostinato.
      CodeReferenceError: the dotted name is nothing, or may not be named.
    """
    if "." in name:
        return resolve_fully_qualified_name(name)
    face = sys.modules[__package__ or ""]
    if name not in face.__all__:
        raise FieldFault(
            f"no tool {name!r} comes with Ostinato. A tool of your own is named with its module, "
            f"such as my_agent.tools.{name}."
        )
    return resolve_fully_qualified_name(f"{face.__name__}.{name}")


def is_tool_class(value: Any) -> bool:
    """Return whether a value is a class of tools or toolsets."""
    return isinstance(value, type) and issubclass(value, BaseTool | BaseToolset)


def check_without_class(found: Any, config: ToolConfig) -> None:
    """Refuse what is no class of tools, and neither a tool nor a function that makes one.

    Raises:
      FieldFault: `found` is not a tool, or a tool already.
    """
    if isinstance(found, BaseTool | BaseToolset):
        if config.args is not None:
            raise FieldFault(f"{config.name!r} is a tool already and takes no args.")
    elif not callable(found):
        raise FieldFault(f"{config.name!r} is of type {type(found).__name__}, which is no tool.")


def _tool(config: ToolConfig, config_abs_path: str) -> Any:
    with enter_field("name"):
        found = find_named_tool(config.name)
    if is_tool_class(found):
        with enter_field("args"):
            return found.from_config(config.args or ToolArgsConfig(), config_abs_path)
    check_without_class(found, config)
    if config.args is None:
        return found
    with enter_field("args"):
        made = found(config.args)
        if not (callable(made) or isinstance(made, BaseTool | BaseToolset)):
            raise FieldFault(
                f"with args {config.name!r} has to make a tool, but it gave "
                f"{type(made).__name__}. A function that is a tool itself takes no args here."
            )
        return made
