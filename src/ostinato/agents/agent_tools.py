"""AgentTools: the tool objects of one LlmAgent, created once from its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._aborted_tool import ABORTS, as_tool_error
from .._log import get_logger
from ..context.readonly import ReadonlyContext
from ..errors import AgentConfigError
from ..tools.base_tool import BaseTool
from ..tools.base_toolset import BaseToolset
from ..tools.finish_task_tool import FinishTaskTool
from ..tools.function_tool import FunctionTool
from ..tools.single_turn_tool import SingleTurnTool
from ..tools.stored_result import READ_RESULT
from ..tools.task_tool import TaskTool
from ..tools.tool_search import NAME as SEARCH_TOOLS

logger = get_logger(__name__)


class AgentTools:
    """Creates the tool objects of one agent and keeps them for later runs."""

    __slots__ = (
        "_checked",
        "_finish_tool",
        "_function_tools",
        "_sub_agent_tools",
        "_warned",
        "_wrapped_tools",
    )

    def __init__(self) -> None:
        self._warned: set[tuple[str, str]] = set()
        self._checked: list[BaseTool] = []
        self._function_tools: dict[int, FunctionTool] = {}
        self._wrapped_tools: dict[int, tuple[BaseTool, BaseTool]] = {}
        self._sub_agent_tools: dict[str, TaskTool | SingleTurnTool] = {}
        self._finish_tool: FinishTaskTool | None = None

    async def list_tools(
        self, agent: Any, ctx: ReadonlyContext | None, make_agent: Callable[..., Any]
    ) -> list[BaseTool]:
        """Return the agent's tools: functions wrapped, toolsets expanded.

        A tool of a toolset never replaces another tool, because a server or a document chose its
        name: it is left out with a warning. Of the developer's own tools with one name, requests
        tell the model of the last, as in google-adk.

        Args:
          agent: the agent.
          ctx: the context that toolsets filter by.
          make_agent: creates an agent for a tool that requests cannot combine with others.
        """
        tools: list[BaseTool] = []
        offered: list[tuple[BaseTool, BaseToolset]] = []
        for tool in agent.tools:
            wrapped = self._function_tools.get(id(tool))
            if wrapped is not None and wrapped.func is tool:
                tools.append(wrapped)
            elif isinstance(tool, BaseTool):
                is_alone = tool.wants_own_agent and len(agent.tools) > 1
                tools.append(self._wrap_in_agent(tool, make_agent) if is_alone else tool)
            elif isinstance(tool, BaseToolset):
                listed = await _list_toolset(tool, ctx, agent.name)
                offered += [(one, tool) for one in listed]
                tools += listed
            else:
                wrapped = self._function_tools[id(tool)] = FunctionTool(tool)
                tools.append(wrapped)
        if agent.mode == "task":
            tools.append(agent.finish_tool)
        for sub_agent in agent.delegates.values():
            tools.append(self._wrap_sub_agent(sub_agent))
        if not offered:
            if tools != self._checked:
                self._checked = [*tools]
                self._warn_of_repeated(agent.name, tools)
            return tools
        try:
            names = {tool.name for tool in tools}
        except AttributeError:
            _refuse_strange_tools(offered)
            raise
        added = _names_added(tools, ctx) & names
        if len(names) == len(tools) and not added:
            return tools
        return self._drop_repeated(tools, offered, agent.name, added)

    def _drop_repeated(
        self,
        tools: list[BaseTool],
        offered: Sequence[tuple[BaseTool, BaseToolset]],
        agent: str,
        added: set[str],
    ) -> list[BaseTool]:
        """Return the tools without those of toolsets whose names are taken.

        Toolsets have no tool of a name in `added`, the names of tools that the runtime adds.
        """
        sources = {id(tool): toolset for tool, toolset in offered}
        chosen = {tool.name: tool for tool in tools if id(tool) not in sources}
        for tool, toolset in offered:
            if tool.name in added:
                self._warn_of_omitted(agent, tool.name, _describe_toolset(toolset), "the runtime")
                continue
            kept = chosen.setdefault(tool.name, tool)
            if kept is not tool:
                other = sources.get(id(kept))
                owner = "the agent itself" if other is None else _describe_toolset(other)
                self._warn_of_omitted(agent, tool.name, _describe_toolset(toolset), owner)
        kept_tools = {
            id(tool): tool
            for tool in tools
            if id(tool) not in sources or chosen.get(tool.name) is tool
        }
        return [*kept_tools.values()]

    def _warn_of_repeated(self, agent: str, tools: list[BaseTool]) -> None:
        """Log that only the last of the agent's own tools of one name is offered."""
        names = [tool.name for tool in tools]
        if len(set(names)) == len(names):
            return
        for name in {name for name in names if names.count(name) > 1}:
            self._warn_once(
                (name, ""),
                f"Agent {agent!r} has several tools named {name!r}; the model is offered the last "
                "one only. Rename the others.",
            )

    def _warn_of_omitted(self, agent: str, name: str, source: str, owner: str) -> None:
        """Log that a toolset's tool is left out, because its name is taken."""
        self._warn_once(
            (name, source),
            f"Agent {agent!r}: the tool {name!r} of {source} is left out, because {owner} has a "
            "tool of that name. Give the toolset a tool_name_prefix or a tool_filter.",
        )

    def _warn_once(self, about: tuple[str, str], text: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            logger.warning("%s", text)

    def get_finish_tool(self, output_schema: Any) -> FinishTaskTool:
        """Return the tool that finishes a task with an output of this schema."""
        tool = self._finish_tool
        if tool is None or tool.output_schema is not output_schema:
            tool = self._finish_tool = FinishTaskTool(output_schema)
        return tool

    def _wrap_in_agent(self, tool: BaseTool, make_agent: Callable[..., Any]) -> BaseTool:
        """Return the agent tool for a tool that requests cannot combine with others."""
        kept = self._wrapped_tools.get(id(tool))
        if kept is None or kept[0] is not tool:
            kept = self._wrapped_tools[id(tool)] = (tool, tool.in_own_agent(make_agent))
        return kept[1]

    def _wrap_sub_agent(self, agent: Any) -> BaseTool:
        """Return the tool that calls a sub-agent of mode `task` or `single_turn`."""
        wanted = TaskTool if agent.mode == "task" else SingleTurnTool
        tool = self._sub_agent_tools.get(agent.name)
        if type(tool) is not wanted or tool.agent is not agent:
            tool = self._sub_agent_tools[agent.name] = wanted(agent)
        return tool


async def _list_toolset(
    toolset: BaseToolset, ctx: ReadonlyContext | None, agent: str
) -> list[BaseTool]:
    """Return the tools of a toolset; none, with a warning, if it cannot list them."""
    try:
        try:
            tools = await toolset.get_tools_with_prefix(ctx)
        except ABORTS as abort:
            raise as_tool_error(abort, f"Toolset {type(toolset).__name__}") from abort
    except Exception as error:  # boundary: a server that is down must not stop the agent
        logger.warning(
            "Agent %r runs without the tools of its toolset %s, which cannot list them: %s: %s",
            agent,
            type(toolset).__name__,
            type(error).__name__,
            error,
        )
        return []
    return tools


def _refuse_strange_tools(offered: Sequence[tuple[BaseTool, BaseToolset]]) -> None:
    """Raise AgentConfigError for what a toolset has returned in place of a tool."""
    for tool, toolset in offered:
        if not hasattr(tool, "name"):
            raise AgentConfigError(
                f"get_tools of toolset {type(toolset).__name__} returned {tool!r:.80}, which is "
                "not a BaseTool. Wrap a function in FunctionTool."
            )


def _names_added(tools: Sequence[BaseTool], ctx: ReadonlyContext | None) -> set[str]:
    """Return the names of the tools that the runtime adds to these in a run."""
    run: Any = getattr(ctx, "_invocation_context", None)
    names: set[str] = set()
    # Sets, since a call for each of a thousand tools would cost more than the rest of a turn.
    if getattr(run, "live_request_queue", None) is None and True in {tool.defer for tool in tools}:
        names.add(SEARCH_TOOLS)
    if run is not None and run.services.context_policy is not None:
        names.add(READ_RESULT)
    return names


def _describe_toolset(toolset: BaseToolset) -> str:
    """Return the name of a toolset for messages: its class, and its server if it has one."""
    label: Any = getattr(toolset, "label", "")
    kind = type(toolset).__name__
    return f"{kind} {label}" if label and isinstance(label, str) else kind
