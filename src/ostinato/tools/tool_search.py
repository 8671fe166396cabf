"""search_tools: lets the model find the tools that it was not told of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from .. import types
from ..models.llm_request import LlmRequest
from ..sessions.log.event_log import REWIND, EventLog, EventRecord, visible_records
from .base_tool import BaseTool, is_plain_tool
from .model_mistake import wrong_arguments
from .tool_ranking import ToolRanking

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

NAME = "search_tools"
MAX_FOUND = 4
"""Tools that one search returns."""
MAX_TOLD = 9
"""Deferred tools that a request declares; those found last."""
_DESCRIPTION = (
    "Search for further tools that you can call. Describe in a few words what you need to do, or "
    "give a tool's name; the tools found can be called from your next step on."
)
_PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What the tool should do."}},
    "required": ["query"],
}
_MAX_SUMMARY = 200


class ToolSearch(BaseTool):
    """Stands for an agent's deferred tools: finds them, and adds those found to requests.

    If the model's provider has a search of its own (`ModelCapabilities.tool_search`), requests
    declare all deferred tools to it, and this one does not appear. Elsewhere, what was found is
    read from the session's log, so that it outlasts a resume and another process. Found tools are
    declared after all others, in the order in which they were found: the declarations before them
    stay the same.

    Args:
      deferred: the tools, of which no two have the same name.
    """

    repeatable = True
    keeps_result = True

    def __init__(self, deferred: Sequence[BaseTool]) -> None:
        super().__init__(name=NAME, description=_DESCRIPTION)
        self._deferred = {tool.name: tool for tool in deferred}
        self._ranking: ToolRanking | None = None

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=NAME, description=_DESCRIPTION, parameters_json_schema=_PARAMETERS
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the names and descriptions of the tools that fit best.

        Args:
          args: `query`.
          tool_context: the context of the call.
        """
        query = args.get("query")
        if not isinstance(query, str) or not query.strip():
            return wrong_arguments(self.name, ["query: expected words that describe a tool"])
        if self._ranking is None:
            self._ranking = ToolRanking(list(self._deferred.values()))
        found = self._ranking.find(query, MAX_FOUND)
        if not found:
            return {"tools": [], "message": "No tool fits; try other words for what it does."}
        return {
            "tools": [
                {"name": tool.name, "description": (tool.description or "")[:_MAX_SUMMARY]}
                for tool in found
            ]
        }

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add this tool, and the deferred tools that were found.

        Args:
          tool_context: context of the step.
          llm_request: the request, changed in place.
        """
        model = tool_context.get_invocation_context().agent.canonical_model
        if len(self._deferred) <= model.capabilities.tool_search:
            await self._declare_all(tool_context, llm_request)
            return
        llm_request.append_tools([self])
        found = [self._deferred[n] for n in _list_found(tool_context) if n in self._deferred]
        for tool in found[-MAX_TOLD:]:
            await tool.process_llm_request(tool_context=tool_context, llm_request=llm_request)
        for tool in found[:-MAX_TOLD]:  # no longer declared, but a call of it still runs
            llm_request.tools_dict.setdefault(tool.name, tool)

    async def _declare_all(self, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Declare the deferred tools for the provider's own search."""
        tools = self._deferred.values()
        llm_request.append_tools([one for one in tools if is_plain_tool(one)])
        for tool in tools:
            if not is_plain_tool(tool):
                await tool.process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.deferred_tools |= self._deferred.keys()


def defer_tools(tools: list[BaseTool]) -> list[BaseTool]:
    """Return an agent's tools with one search in place of those that are deferred.

    Args:
      tools: the agent's tools; the same list if none is deferred.
    """
    deferred = [tool for tool in tools if tool.defer is True]
    if not deferred:
        return tools
    return [*[tool for tool in tools if tool.defer is not True], ToolSearch(deferred)]


class _FoundTools:
    """The names that an agent's searches have found, in the order of their last finding.

    It reads each record of the log once; a rewind makes it start over.
    """

    __slots__ = ("_cursor", "_names")

    def __init__(self) -> None:
        self._cursor = 0
        self._names: dict[str, None] = {}

    def update(self, log: EventLog, agent: str, scope: str | None) -> list[str]:
        """Add what the new records found, and return all names."""
        new = log.records[self._cursor :]
        if any([record.kinds & REWIND for record in new]):
            self._names, new = {}, visible_records(log)
        self._cursor = len(log.records)
        for record in new:
            if record.responses and record.author == agent and record.scope == scope:
                self._add(record)
        return list(self._names)

    def _add(self, record: EventRecord) -> None:
        if all([name != NAME for _, name in record.responses]):
            return
        for answer in record.event().get_function_responses():
            found: Any = (answer.response or {}).get("tools")
            if answer.name != NAME or not isinstance(found, list):
                continue
            for one in cast("list[Any]", found):
                name: Any = cast("dict[str, Any]", one).get("name") if isinstance(one, dict) else ""
                if not isinstance(name, str) or name in [*self._names][-MAX_TOLD:]:
                    continue  # still declared: it keeps its place
                self._names.pop(name, None)
                self._names[name] = None


def _list_found(tool_context: ToolContext) -> list[str]:
    ctx = tool_context.get_invocation_context()
    key = ("found_tools", ctx.agent.name, ctx.isolation_scope)
    found: _FoundTools | None = ctx.log.views.get(key)
    if found is None:
        found = ctx.log.views[key] = _FoundTools()
    return found.update(ctx.log, ctx.agent.name, ctx.isolation_scope)
