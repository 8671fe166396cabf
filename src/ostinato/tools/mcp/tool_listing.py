"""The tools of one MCP server as an agent's tools: sorted, with names that models can call."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

from ..._log import get_logger
from ..._optional import need
from ..base_tool import is_reserved_name
from .connection_params import EXTRA
from .mcp_tool import McpTool, read_schema

_log = get_logger(__name__)

_OWN_TOOL = "load_mcp_resource"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_CHECKED_AT_ONCE = 10
_LONGEST_SHOWN = 300  # characters of the server's text in a log
# A check takes a third of a millisecond for each object of a schema; for a list of objects that
# have to differ, it grows with the square.
MAX_NODES = 5_000
_MAX_OBJECTS = 500
_LARGE = 200  # nodes of a schema that is checked in a thread


async def list_tools(
    raw_tools: Iterable[Any],
    make_tool: Callable[[Any, str], McpTool],
    server: str,
    prefix: str,
    redact: Callable[[str], str],
) -> Sequence[McpTool]:
    """Return a server's tools in the order of their names; each that is left out is logged.

    Left out are tools with a reserved or repeated name, or with arguments that are not valid JSON
    Schema: with one of these a provider would refuse the whole request. So are those whose schema
    has more than `MAX_NODES` objects and lists. A check takes milliseconds, so other tasks run in
    between.

    Args:
      raw_tools: the server's descriptions.
      make_tool: makes a tool of a description and the name that the model calls it by.
      server: the server's name for the log.
      prefix: what the toolset puts before names.
      redact: returns what the server said without the secrets that it was sent.
    """
    found: dict[str, McpTool] = {}
    for number, raw in enumerate(sorted(raw_tools, key=lambda raw: raw.name), 1):
        if number % _CHECKED_AT_ONCE == 0:
            await asyncio.sleep(0)
        name = fit_name(raw.name, prefix)
        fault = _find_fault(raw, name, found)
        if not fault:
            schema = read_schema(raw)
            fault, nodes = _measure_schema(schema)
            if not fault and nodes > _LARGE:
                fault = await asyncio.to_thread(_find_schema_fault, schema)
            elif not fault:
                fault = _find_schema_fault(schema)
        if fault:
            shown = redact(repr(raw.name))[:_LONGEST_SHOWN]
            told = redact(fault)[:_LONGEST_SHOWN]
            _log.warning("MCP server %s: its tool %s is left out: %s.", server, shown, told)
            continue
        found[name] = make_tool(raw, name)
    return tuple(found[name] for name in sorted(found))


def fit_name(name: str, prefix: str = "") -> str:
    """Return a name in the form that all providers take: letters, digits, `_` and `-`, at most 64.

    Args:
      name: the server's name of the tool.
      prefix: what the toolset puts before it, with an underscore.
    """
    room = _LONGEST_NAME - (len(prefix) + 1 if prefix else 0)
    return _UNFIT.sub("_", name)[: max(room, 1)]


def _find_fault(raw: Any, name: str, found: dict[str, McpTool]) -> str:
    """Return why a tool cannot be offered; empty if it can."""
    if not raw.name:
        return "it has no name"
    if is_reserved_name(name) or name == _OWN_TOOL:
        return "the runtime reserves this name"
    if name in found:
        # The name that models take is not shown: cut and fitted, a secret in it is not recognised.
        return "another tool of the server has the same name for models already"
    return ""


def _measure_schema(schema: dict[str, Any]) -> tuple[str, int]:
    """Return why a schema is too large to be checked, empty if it is not, and its nodes."""
    nodes, pending = 0, [cast("Any", schema)]
    while pending:
        one: Any = pending.pop()
        nodes += 1
        if nodes > MAX_NODES:
            return f"its arguments have more than {MAX_NODES:,} objects and lists", nodes
        inner = cast("Iterable[Any]", one.values() if isinstance(one, dict) else one)
        found: list[Any] = [each for each in inner if isinstance(each, dict | list)]
        if isinstance(one, list) and len(found) > _MAX_OBJECTS:
            return f"its arguments have a list of more than {_MAX_OBJECTS:,} objects", nodes
        pending += found
    return "", nodes


def _find_schema_fault(schema: dict[str, Any]) -> str:
    """Return why the schema of a tool's arguments is invalid; empty if it is valid."""
    if schema.get("type") != "object":
        return f"its arguments are of type {schema.get('type')!r}, not 'object'"
    try:
        fault = _check_schema(json.dumps(schema, sort_keys=True))
    except RecursionError:
        return "its arguments nest too deeply"
    return fault or _find_lost_reference(schema, schema)


@lru_cache(maxsize=4_096)
def _check_schema(text: str) -> str:
    """Return why a text is not valid JSON Schema; empty if it is.

    A list that is read again, or by another connection, has mostly the same schemas.
    """
    schema: Any = json.loads(text)
    validators = need("jsonschema.validators", extra=EXTRA)
    try:
        validators.validator_for(schema).check_schema(schema)
    except need("jsonschema", extra=EXTRA).SchemaError as error:
        return f"its arguments are not valid JSON Schema ({error.message})"
    return ""


def _find_lost_reference(value: Any, root: dict[str, Any]) -> str:
    """Return the fault of a reference that leads out of the schema or nowhere; else empty."""
    pending = [value]
    while pending:
        one: Any = pending.pop()
        if isinstance(one, list):
            pending += one
        if not isinstance(one, dict):
            continue
        target: Any = one.get("$ref")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(target, str) and not _leads_somewhere(target, root):
            return f"its arguments refer to {target!r}, which the schema does not hold"
        pending += one.values()  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return ""


def _leads_somewhere(reference: str, root: Any) -> bool:
    if not reference.startswith("#"):
        return False
    if not reference.startswith("#/"):
        return True  # the root itself, or an anchor
    place = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and key.isdecimal() and int(key) < len(place):  # pyright: ignore[reportUnknownArgumentType]
            place = place[int(key)]  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(place, dict) and key in place:
            place = place[key]  # pyright: ignore[reportUnknownVariableType]
        else:
            return False
    return True
