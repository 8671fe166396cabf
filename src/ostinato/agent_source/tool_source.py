"""The tools of a file as expressions of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..agent_files.file_reading import enter_field
from ..agent_files.references import AgentRefConfig
from ..tools.agent_tool import AgentTool, AgentToolConfig
from ..tools.base_tool import BaseTool
from ..tools.example_tool import ExampleTool, ExampleToolConfig
from ..tools.tool_configs import ToolArgsConfig, ToolConfig, arguments_for
from ..tools.tool_resolving import check_without_class, find_named_tool, is_tool_class
from .layout import Expression, Item, call_source
from .source_names import Names
from .source_values import argument_list, value_source

_ARGS = ("ostinato.tools.tool_configs", "ToolArgsConfig")


def tool_source(
    config: ToolConfig,
    names: Names,
    agent: Callable[[AgentRefConfig], str],
    file: Callable[[], str],
) -> Expression:
    """Return the expression that makes a tool.

    Args:
      config: the tool's settings.
      names: the program's names.
      agent: writes the agent that a reference names, and returns its variable.
      file: returns the name of the constant that holds the path of the present file.

    Raises:
      AgentFileError: there is no such tool.
    """
    with enter_field("name"):
        found = find_named_tool(config.name)
        dotted = "." in config.name
        name = (
            names.use_dotted(config.name)
            if dotted
            else names.import_name("ostinato.tools", config.name)
        )
    if not is_tool_class(found):
        check_without_class(found, config)
        if config.args is None:
            return name
        return call_source(name, [Item(_args_source(config.args, names))])
    args = config.args or ToolArgsConfig()
    with enter_field("args"):
        if _made_by(found, AgentTool):
            return _agent_tool(name, args, agent)
        if _made_by(found, ExampleTool):
            return _example_tool(name, args, names)
        if _made_by(found, BaseTool):
            return call_source(name, _argument_items(found, args, names))
    return call_source(f"{name}.from_config", [Item(_args_source(args, names)), Item(file())])


def _made_by(found: Any, cls: type[BaseTool]) -> bool:
    return found.from_config.__func__ is cls.from_config.__func__


def _args_source(args: ToolArgsConfig, names: Names) -> Expression:
    return call_source(names.import_name(*_ARGS), argument_list(args.model_extra or {}, names))


def _agent_tool(
    name: str, args: ToolArgsConfig, agent: Callable[[AgentRefConfig], str]
) -> Expression:
    settings = AgentToolConfig.model_validate(args.model_dump())
    with enter_field("agent"):
        items = [Item(agent(settings.agent), "agent=")]
    options = ("skip_summarization", "include_plugins")
    items += [
        Item(str(getattr(settings, option)), f"{option}=")
        for option in options
        if option in settings.model_fields_set
    ]
    return call_source(name, items)


def _example_tool(name: str, args: ToolArgsConfig, names: Names) -> Expression:
    examples = ExampleToolConfig.model_validate(args.model_dump()).examples
    if isinstance(examples, str):
        return call_source(name, [Item(names.use_dotted(examples), "examples=")])
    return call_source(name, [Item(value_source(examples, names), "examples=")])


def _argument_items(cls: type[Any], args: ToolArgsConfig, names: Names) -> list[Item]:
    """Return the arguments of a class; what stands for a function is that function's name."""
    said = args.model_extra or {}
    items: list[Item] = []
    for name, value in arguments_for(cls, args).items():
        is_code = isinstance(said[name], str) and said[name] is not value
        source = names.use_dotted(said[name]) if is_code else value_source(value, names)
        items.append(Item(source, f"{name}="))
    return items
