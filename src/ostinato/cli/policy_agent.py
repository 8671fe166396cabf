"""What of a policy fits nothing of an agent tree: tool names, agent names and argument pointers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, cast

from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent, iterate_nodes
from ..tools.agent_tool import AgentTool
from ..tools.base_tool import BaseTool
from ..tools.base_toolset import BaseToolset
from ..tools.function_tool import FunctionTool
from ..tools.policy.conditions import ANY_ITEM, split_pointer
from ..tools.policy.policy import Policy
from ..tools.policy.rule import Rule, fits
from ..tools.policy.tool_source import describe_source

# Toolsets that list their tools without a connection.
_LOCAL = frozenset(("OpenAPIToolset", "SkillToolset", "EnvironmentToolset", "BigQueryToolset"))
_OF_RUNTIME = ("transfer_to_agent", "read_result", "search_tools")
_SHOWN = 12
_DEEPEST = 12  # levels of a schema, which may refer to itself


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool of an agent; the schema of its arguments is None if it is unknown."""

    agent: str
    name: str
    source: str = ""
    schema: dict[str, Any] | None = None


@dataclass(slots=True)
class AgentFindings:
    """What a check of a policy against an agent tree found.

    Attributes:
      faults: rules and pointers that fit nothing, one line each.
      unchecked: ids of the rules that may be about tools which are unknown here.
      unknown: the toolsets whose tools only a server or the running program tells.
    """

    faults: list[str] = field(default_factory=list[str])
    unchecked: list[str] = field(default_factory=list[str])
    unknown: list[str] = field(default_factory=list[str])


async def check_agent(policy: Policy, root: BaseAgent) -> AgentFindings:
    """Compare the rules of a policy with the tools of an agent tree; nothing runs or connects.

    Args:
      policy: the policy.
      root: the root agent.
    """
    found = AgentFindings()
    tools: list[_Tool] = []
    toolsets: list[tuple[str, str]] = []  # agent and class of those whose tools are unknown
    names: dict[str, None] = {}
    for agent in _iterate_agents(root):
        names[agent.name] = None
        await _add_tools(agent, tools, toolsets)
    found.unknown = [f"{kind} of agent {agent!r}" for agent, kind in dict.fromkeys(toolsets)]
    for rule in policy.rules:
        agents = [name for name in names if fits(rule.agent, name)]
        if not agents:
            found.faults.append(f"rule {rule.id!r} fits no agent; there are: {_join_names(names)}")
            continue
        mine = [one for one in tools if one.agent in agents and fits(rule.tool, one.name)]
        is_open = any(agent in agents for agent, _ in toolsets)
        if not mine and not fits(rule.tool, _find_runtime_name(rule)):
            if is_open:
                found.unchecked.append(rule.id)
            else:
                known = dict.fromkeys(one.name for one in tools if one.agent in agents)
                found.faults.append(f"rule {rule.id!r} fits no tool{_suggest(rule.tool, known)}")
            continue
        faults = _find_pointer_faults(rule, mine)
        if is_open and faults:
            found.unchecked.append(rule.id)
        elif faults:
            found.faults += faults
    return found


def _find_runtime_name(rule: Rule) -> str:
    """Return the first name of a tool of the runtime that a rule fits, or a name that none has."""
    return next((name for name in _OF_RUNTIME if fits(rule.tool, name)), "")


def _iterate_agents(root: BaseAgent) -> Iterator[BaseAgent]:
    """Yield the agents of a tree, those in graphs and those that run as tools included."""
    left: list[BaseAgent] = [root]
    seen: set[int] = set()
    while left:
        agent = left.pop(0)
        if id(agent) in seen:
            continue
        seen.add(id(agent))
        yield agent
        left += agent.sub_agents
        if isinstance(agent, NodeAgent):
            left += [one for one in iterate_nodes(agent.root_node) if isinstance(one, BaseAgent)]
        if isinstance(agent, LlmAgent):
            inner = [tool.agent for tool in agent.tools if isinstance(tool, AgentTool)]
            left += [one for one in inner if isinstance(one, BaseAgent)]


async def _add_tools(agent: BaseAgent, tools: list[_Tool], toolsets: list[tuple[str, str]]) -> None:
    """Add the tools of one agent, and its toolsets whose tools are unknown."""
    if isinstance(agent, NodeAgent):
        nodes = [getattr(one, "tool", None) for one in iterate_nodes(agent.root_node)]
        tools += [_read_tool(agent.name, one) for one in nodes if isinstance(one, BaseTool)]
    if not isinstance(agent, LlmAgent):
        return
    for one in cast("Sequence[Any]", agent.tools):
        if isinstance(one, BaseToolset):
            listed = await _list_toolset(one)
            if listed is None:
                toolsets.append((agent.name, type(one).__name__))
            tools += [_read_tool(agent.name, tool) for tool in listed or ()]
        else:
            tool = one if isinstance(one, BaseTool) else FunctionTool(one)
            tools.append(_read_tool(agent.name, tool))
    tools += [_Tool(agent.name, name) for name in agent.delegates]


async def _list_toolset(toolset: BaseToolset) -> list[BaseTool] | None:
    """Return the tools of a toolset that needs no connection; None of any other."""
    if _LOCAL.isdisjoint(kind.__name__ for kind in type(toolset).__mro__):
        return None
    try:
        return await toolset.get_tools_with_prefix()
    except Exception:  # boundary: a toolset may need a run to list its tools
        return None


def _read_tool(agent: str, tool: BaseTool) -> _Tool:
    declaration = tool._get_declaration()  # pyright: ignore[reportPrivateUsage]
    schema: Any = None if declaration is None else declaration.parameters_json_schema
    if schema is None and declaration is not None and declaration.parameters is not None:
        schema = declaration.parameters.model_dump(mode="json", by_alias=True, exclude_none=True)
    if schema is None and isinstance(tool, FunctionTool):
        schema = {"properties": {}}
    known = cast("dict[str, Any]", schema) if isinstance(schema, dict) else None
    return _Tool(agent, tool.name, describe_source(tool, {}), known)


def _find_pointer_faults(rule: Rule, tools: Sequence[_Tool]) -> list[str]:
    """Return the argument pointers of a rule that point to nothing in any tool that it fits."""
    mine = [one for one in tools if fits(rule.source, one.source)]
    if not mine or any(one.schema is None for one in mine):
        return []
    summed = rule.limit.sum if rule.limit is not None else None
    pointers = dict.fromkeys((*rule.args, *rule.same, *((summed,) if summed else ())))
    faults: list[str] = []
    for pointer in pointers:
        steps = split_pointer(pointer)
        if any(_may_hold(one.schema or {}, one.schema or {}, steps) for one in mine):
            continue
        taken = dict.fromkeys(key for one in mine for key in (one.schema or {})["properties"])
        what = f"tool {mine[0].name!r}" if len(mine) == 1 else f"any of {len(mine)} tools"
        faults.append(
            f"rule {rule.id!r}: {pointer!r} is no argument of {what}{_suggest(steps[:1], taken)}"
        )
    return faults


def _may_hold(schema: Any, root: Mapping[str, Any], steps: Sequence[str], depth: int = 0) -> bool:
    """Return whether values of a schema may have a value at these steps."""
    if not steps or not isinstance(schema, dict) or depth > _DEEPEST:
        return True
    fields = cast("dict[str, Any]", schema)
    reference = fields.get("$ref")
    if isinstance(reference, str):
        named = cast("dict[str, Any]", root.get("$defs") or {}).get(reference.rpartition("/")[2])
        return _may_hold(named, root, steps, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(fields.get(key), list):
            choices = cast("list[Any]", fields[key])
            return any(_may_hold(one, root, steps, depth + 1) for one in choices)
    kind = str(fields.get("type", "")).lower()
    if kind == "array" or "items" in fields:
        is_item = steps[0] == ANY_ITEM or steps[0].isdecimal()
        return is_item and _may_hold(fields.get("items"), root, steps[1:], depth + 1)
    known = fields.get("properties")
    if isinstance(known, dict):
        below = cast("dict[str, Any]", known)
        if steps[0] in below:
            return _may_hold(below[steps[0]], root, steps[1:], depth + 1)
        return bool(fields.get("additionalProperties"))
    return kind not in ("integer", "number", "boolean", "null")


def _suggest(wanted: Sequence[str], known: Mapping[str, None]) -> str:
    """Return what there is instead, with the name that was probably meant first."""
    close = [name for one in wanted for name in get_close_matches(one, known, 1)]
    return f"; there are: {_join_names(dict.fromkeys((*close, *known)))}"


def _join_names(names: Mapping[str, None]) -> str:
    shown = [*names][:_SHOWN]
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*shown, *more]) or "none"
