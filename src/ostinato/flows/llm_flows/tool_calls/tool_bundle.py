"""An agent's plain tools, compiled once, and the checks for code that may edit a request."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from .... import types
from ....context.context_policy import ContextPolicy
from ....context.invocation import InvocationContext
from ....errors import AgentConfigError
from ....models.llm_request import LlmRequest
from ....tools.base_tool import BaseTool, is_plain_tool
from ....tools.base_toolset import BaseToolset
from ....tools.read_result_tool import READ_RESULT_TOOL
from ....tools.stored_result import READ_RESULT
from ....tools.tool_search import NAME as SEARCH_TOOLS
from ....tools.tool_search import defer_tools


class ToolBundle:
    """The plain tools at the head of an agent's list, with their declarations in one `types.Tool`.

    All requests share the declarations; `LlmRequest.append_tools` extends a copy.
    """

    __slots__ = ("_by_name", "_tool", "_tools")

    def __init__(self) -> None:
        self._tools: list[BaseTool] = []
        self._by_name: dict[str, BaseTool] = {}
        self._tool: types.Tool | None = None

    def add_plain(self, tools: list[BaseTool], llm_request: LlmRequest) -> int:
        """Add the plain tools at the head of `tools` and return their number."""
        count = len(self._tools)
        following = tools[count : count + 1]
        if self._tools != tools[:count] or (following and is_plain_tool(following[0])):
            self._compile(tools)
            count = len(self._tools)
        if self._tool is not None:
            present: list[Any] = list(llm_request.config.tools or [])
            if llm_request.tools_dict or present:
                llm_request.append_tools(self._tools)
            else:
                llm_request.config.tools = [self._tool]
                llm_request.tools_dict.update(self._by_name)
        return count

    def _compile(self, tools: list[BaseTool]) -> None:
        self._tools = []
        for tool in tools:
            if not is_plain_tool(tool):
                break
            self._tools.append(tool)
        request = LlmRequest()
        request.append_tools(self._tools)
        self._by_name = request.tools_dict
        self._tool = (request.config.tools or [None])[0]  # pyright: ignore[reportAttributeAccessIssue]


def arrange_tools(
    tools: list[BaseTool], policy: ContextPolicy | None, agent: str, *, is_live: bool = False
) -> list[BaseTool]:
    """Return an agent's tools with the tools that the runtime adds to them.

    Args:
      tools: the agent's tools; `search_tools` takes the place of those that are deferred.
      policy: the app's limits on results; `read_result` reads what they leave out.
      agent: the agent's name, for errors.
      is_live: whether the tools are for a live connection, which is told of all tools when it
        opens, so that none can be deferred.

    Raises:
      AgentConfigError: a tool of the agent has the name of one that the runtime adds, or a deferred
        one has the name of another tool.
    """
    is_deferred = not is_live and any([tool.defer is True for tool in tools])
    if policy is None and not is_deferred:
        return tools
    names = [tool.name for tool in tools]
    arranged = tools
    if is_deferred:
        _check_free(SEARCH_TOOLS, names, agent, "tools are deferred")
        _check_deferred(tools, agent)
        arranged = defer_tools(tools)
    if policy is None or not any(is_plain_tool(tool) for tool in tools):
        return arranged
    _check_free(READ_RESULT, names, agent, "the app has a ContextPolicy")
    return [READ_RESULT_TOOL, *arranged]


def _check_free(name: str, names: list[str], agent: str, reason: str) -> None:
    if name in names:
        raise AgentConfigError(
            f"Agent {agent!r} has a tool {name!r}, which is the name of a tool that the runtime "
            f"adds because {reason}. Give the agent's tool another name."
        )


def _check_deferred(tools: list[BaseTool], agent: str) -> None:
    """Refuse a deferred tool whose name another tool has: a call would run either of them.

    A tool may stand beside the deferred copy of itself that a toolset makes.
    """
    if len({tool.name for tool in tools}) == len(tools):
        return
    known: dict[str, set[int]] = {}
    for tool in tools:
        known.setdefault(tool.name, set()).add(id(tool.copied_from or tool))
    for tool in tools:
        if tool.defer is True and len(known[tool.name]) > 1:
            raise AgentConfigError(
                f"Agent {agent!r} has a deferred tool {tool.name!r} and another tool of this name. "
                "Give each its own name."
            )


def toolsets_of(tools: Sequence[Any]) -> list[BaseToolset]:
    """Return the toolsets among an agent's tools."""
    # Most tools are functions, for which the first check is cheaper.
    return [t for t in tools if type(t) is not FunctionType and isinstance(t, BaseToolset)]


def is_request_exposed(ctx: InvocationContext, agent: Any = None) -> bool:
    """Return whether foreign code sees the request and might edit it.

    Args:
      ctx: the run.
      agent: the agent whose request it is; None for that of the run.
    """
    agent, hooks = agent or ctx.agent, ctx.plugin_manager
    if agent.before_model_callback or agent.on_model_error_callback:
        return True
    if hooks.overrides("before_model_callback") or hooks.overrides("on_model_error_callback"):
        return True
    if agent.planner is not None and is_foreign(agent.planner):
        return True
    for tool in agent.tools:
        if type(tool) is not FunctionType and _is_request_editor(tool):
            return True
    return False


def is_foreign(thing: object) -> bool:
    """Return whether an object's class comes from outside of this package."""
    return not type(thing).__module__.startswith(_PACKAGE)


def _is_request_editor(tool: Any) -> bool:
    if isinstance(tool, BaseToolset):
        edit = getattr(type(tool), "process_llm_request", None)  # the class of a mock has none
        return edit is not BaseToolset.process_llm_request
    return isinstance(tool, BaseTool) and not is_plain_tool(tool) and is_foreign(tool)


_PACKAGE = __name__.partition(".")[0] + "."
