"""What is compiled once per agent about its tools, and who may edit a request."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ... import types
from ...context.invocation import InvocationContext
from ...models.llm_request import LlmRequest
from ...tools.base_tool import BaseTool
from ...tools.base_toolset import BaseToolset


def adds_itself_plainly(tool: BaseTool) -> bool:
    """Tell whether a tool only adds its declaration to a request."""
    return type(tool).process_llm_request is BaseTool.process_llm_request


class ToolBundle:
    """The plain tools at the head of an agent's list, with their declarations in one `types.Tool`.

    The declarations are shared by all requests; `LlmRequest.append_tools` extends a copy.
    """

    __slots__ = ("_by_name", "_tool", "_tools")

    def __init__(self) -> None:
        self._tools: list[BaseTool] = []
        self._by_name: dict[str, BaseTool] = {}
        self._tool: types.Tool | None = None

    def add_plain(self, tools: list[BaseTool], llm_request: LlmRequest) -> int:
        """Add the plain tools that `tools` begins with; return how many those are."""
        if self._tools != tools[: len(self._tools)] or (
            len(tools) > len(self._tools) and adds_itself_plainly(tools[len(self._tools)])
        ):
            self._compile(tools)
        if self._tool is not None:
            present: list[Any] = list(llm_request.config.tools or [])
            if llm_request.tools_dict or present:
                llm_request.append_tools(self._tools)
            else:
                llm_request.config.tools = [self._tool]
                llm_request.tools_dict.update(self._by_name)
        return len(self._tools)

    def _compile(self, tools: list[BaseTool]) -> None:
        self._tools = []
        for tool in tools:
            if not adds_itself_plainly(tool):
                break
            self._tools.append(tool)
        request = LlmRequest()
        request.append_tools(self._tools)
        self._by_name = request.tools_dict
        self._tool = (request.config.tools or [None])[0]  # pyright: ignore[reportAttributeAccessIssue]


def toolsets_of(tools: Sequence[Any]) -> list[BaseToolset]:
    """Return the toolsets among an agent's tools, of which most are plain functions."""
    return [t for t in tools if type(t) is not FunctionType and isinstance(t, BaseToolset)]


def hands_out_request(ctx: InvocationContext) -> bool:
    """Tell whether code that is not ours gets to see the request, and might edit its contents."""
    agent, hooks = ctx.agent, ctx.plugin_manager
    if agent.canonical_before_model_callbacks or agent.canonical_on_model_error_callbacks:
        return True
    if hooks.overrides("before_model_callback") or hooks.overrides("on_model_error_callback"):
        return True
    if agent.planner is not None and is_foreign(agent.planner):
        return True
    for tool in agent.tools:
        if type(tool) is not FunctionType and _edits_requests(tool):
            return True
    return False


def is_foreign(thing: object) -> bool:
    """Tell whether an object's class is not one of this package."""
    return not type(thing).__module__.startswith(_PACKAGE)


def _edits_requests(tool: Any) -> bool:
    if isinstance(tool, BaseToolset):
        return type(tool).process_llm_request is not BaseToolset.process_llm_request
    return isinstance(tool, BaseTool) and not adds_itself_plainly(tool) and is_foreign(tool)


_PACKAGE = __name__.partition(".")[0] + "."
