"""Where a tool comes from, and what it takes for missing arguments, as rules see it."""

from __future__ import annotations

from typing import Any, cast

from ..base_tool import BaseTool
from .conditions import read_key

# By name, because the classes are costly to import for programs without them.
_KINDS = {
    "McpTool": "mcp",
    "LoadMcpResourceTool": "mcp",
    "RestApiTool": "openapi",
    "GoogleApiTool": "openapi",
    "AgentTool": "agent",
    "TaskTool": "agent",
}
_TRANSFER = "TransferToAgentTool"
_RUNTIME = frozenset(("FinishTaskTool", "SetModelResponseTool"))


def is_own_of_runtime(tool: BaseTool) -> bool:
    """Return whether a tool only hands an agent's result to the runtime; no rule is about it."""
    kind = type(tool)
    return kind.__name__ in _RUNTIME and kind.__module__.startswith(_PACKAGE)


def describe_source(tool: BaseTool, args: dict[str, Any]) -> str:
    """Return where a tool comes from, such as `mcp:files/read_file`; see `Rule.source`.

    Args:
      tool: the tool.
      args: the call's arguments; a transfer goes to the agent that they name.
    """
    names = [kind.__name__ for kind in type(tool).__mro__]
    if _TRANSFER in names:
        return f"agent:{args.get('agent_name', '')}"
    origin: Any = tool.find_origin(args)
    if origin is not None and isinstance(getattr(origin, "kind", None), str):
        return write_source(origin.kind, origin.source, origin.operation)
    kind = next((_KINDS[name] for name in names if name in _KINDS), "function")
    return write_source(kind, tool.name if kind == "agent" else "", "")


def write_source(kind: str, source: str, operation: str) -> str:
    """Return a source as one text: `KIND:SOURCE/OPERATION`, without what is empty."""
    if kind == "function":
        return kind
    return f"{kind}:{source}/{operation}" if operation else f"{kind}:{source}"


def read_defaults(tool: BaseTool) -> dict[str, Any]:
    """Return what a tool declares to take for missing arguments, by name."""
    declaration = tool._get_declaration()  # pyright: ignore[reportPrivateUsage]
    schema: Any = None if declaration is None else declaration.parameters_json_schema
    fields = read_key(schema, "properties")
    if not isinstance(fields, dict):
        return {}
    known = cast("dict[str, Any]", fields)
    return {
        name: cast("dict[str, Any]", field)["default"]
        for name, field in known.items()
        if isinstance(field, dict) and "default" in field
    }


_PACKAGE = __name__.partition(".")[0] + "."
