"""What an MCP tool's annotations decide: the policy for calls in doubt, and confirmations.

Annotations are hints of the server. They make Ostinato more careful, and less only where the server
says that a tool may run again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ...context.context import Context
from ...events.tool_origin import ToolPolicy
from ..base_tool import InDoubt
from ..function.function_signature import CONTEXT_PARAMETER, find_context_parameter

ANNOTATIONS_PARAMETER = "annotations"

Condition: TypeAlias = "bool | Callable[..., Any]"
Conditions: TypeAlias = "Condition | Mapping[str, Condition]"


def read_annotations(mcp_tool: Any) -> dict[str, Any]:
    """Return a tool's annotations by their names in the protocol, such as `readOnlyHint`."""
    annotations = getattr(mcp_tool, "annotations", None)
    dump = getattr(annotations, "model_dump", None)
    found: Any = dump(by_alias=True, exclude_none=True) if callable(dump) else annotations
    return dict(found) if isinstance(found, Mapping) else {}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def choose_in_doubt(annotations: Mapping[str, Any], *, asks: bool = False) -> InDoubt:
    """Return the policy for a call whose process died while it ran.

    Args:
      annotations: as `read_annotations` returns them.
      asks: whether a person confirms the tool's calls.

    Returns:
      `rerun` for tools that only read or may run again, `ask` for destructive ones and those that a
      person confirms, and `at_most_once` for all others.
    """
    if annotations.get("readOnlyHint") is True or annotations.get("idempotentHint") is True:
        return "rerun"
    return "ask" if asks or annotations.get("destructiveHint") is True else "at_most_once"


def choose_policy(in_doubt: InDoubt, annotations: Mapping[str, Any], *, asks: bool) -> ToolPolicy:
    """Return what a person is told about repeated calls of a tool.

    Args:
      in_doubt: the policy for a call whose process died.
      annotations: as `read_annotations` returns them.
      asks: whether a person confirms the tool's calls.
    """
    if asks or in_doubt != "rerun":
        return "ask" if asks else in_doubt
    if annotations.get("readOnlyHint") is True:
        return "read_only"
    return "idempotent" if annotations.get("idempotentHint") is True else "rerun"


def condition_of(conditions: Conditions, names: Iterable[str]) -> Condition:
    """Return the condition of one tool; a mapping has one for each name, and none for others.

    Args:
      conditions: the setting.
      names: the names of the tool: the server's, and those by which models call it. If the mapping
        has several of them, the one that asks counts.
    """
    if isinstance(conditions, bool) or callable(conditions):
        return conditions
    found = [conditions[name] for name in names if name in conditions]
    return next((one for one in found if one is not False), False)


async def needs_confirmation(
    condition: Condition,
    args: Mapping[str, Any],
    annotations: Mapping[str, Any],
    tool_context: Context,
) -> bool:
    """Return whether a call has to be confirmed.

    Args:
      condition: a bool; or a function, plain or async, that takes those of the call's arguments
        that it names, the tool context, and `annotations`.
      args: the call's arguments.
      annotations: the tool's.
      tool_context: the call's context.
    """
    if not callable(condition):
        return bool(condition)
    values: dict[str, Any] = {ANNOTATIONS_PARAMETER: dict(annotations), **args}
    values[find_context_parameter(condition) or CONTEXT_PARAMETER] = tool_context
    parameters = inspect.signature(condition).parameters
    if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        values = {name: value for name, value in values.items() if name in parameters}
    decided = condition(**values)
    return bool(await decided if inspect.isawaitable(decided) else decided)
