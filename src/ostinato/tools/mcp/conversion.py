"""Conversion of Ostinato's tools to MCP's description of them."""

from __future__ import annotations

from typing import Any, cast

from ... import types
from ..._optional import need
from ..base_tool import BaseTool
from .connection_params import EXTRA

_LENGTHS = {"STRING": "Length", "ARRAY": "Items", "OBJECT": "Properties"}
_BOUNDS = {
    "STRING": ("pattern",),
    "NUMBER": ("minimum", "maximum"),
    "INTEGER": ("minimum", "maximum"),
    "OBJECT": ("required",),
}
_PLAIN = ("title", "description", "default", "enum", "format", "example")


def adk_to_mcp_tool_type(tool: BaseTool) -> Any:
    """Return a tool as `mcp.types.Tool`.

    Args:
      tool: the tool.
    """
    declaration = tool._get_declaration()  # pyright: ignore[reportPrivateUsage]
    schema: Any = None
    if declaration is not None:
        schema = declaration.parameters_json_schema
        if schema is None and declaration.parameters is not None:
            schema = gemini_to_json_schema(declaration.parameters)
    return need("mcp.types", extra=EXTRA).Tool(
        name=tool.name, description=tool.description, input_schema=schema or {"type": "object"}
    )


def gemini_to_json_schema(gemini_schema: types.Schema) -> dict[str, Any]:
    """Return a `types.Schema` as JSON Schema, with `null` for a schema without a type.

    Args:
      gemini_schema: the schema; google-genai's own is accepted.

    Raises:
      TypeError: it is not a schema.
    """
    given: Any = gemini_schema
    if not hasattr(given, "any_of") or not hasattr(given, "model_dump"):
        raise TypeError(f"gemini_to_json_schema takes a types.Schema, not {type(given).__name__}")
    kind = "" if given.type is None else str(getattr(given.type, "value", given.type))
    is_typed = kind not in ("", "TYPE_UNSPECIFIED")
    found: dict[str, Any] = {"type": kind.lower() if is_typed else "null"}
    if given.nullable is True:
        found["nullable"] = True
    for name in (*_PLAIN, *_BOUNDS.get(kind, ())):
        _copy_field(given, name, found, name)
    if kind in _LENGTHS:
        for bound in ("min", "max"):
            name = f"{bound}_{_LENGTHS[kind].lower()}"
            _copy_field(given, name, found, f"{bound}{_LENGTHS[kind]}")
    if kind == "ARRAY" and given.items is not None:
        found["items"] = gemini_to_json_schema(given.items)
    if kind == "OBJECT" and given.properties is not None:
        properties = cast("dict[str, types.Schema]", given.properties)
        found["properties"] = {k: gemini_to_json_schema(v) for k, v in properties.items()}
    if given.any_of is not None:
        found["anyOf"] = [gemini_to_json_schema(one) for one in given.any_of]
    return found


def _copy_field(schema: Any, name: str, found: dict[str, Any], into: str) -> None:
    value = getattr(schema, name, None)
    if value is not None:
        found[into] = value
