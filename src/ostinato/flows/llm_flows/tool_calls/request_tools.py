"""Tools that only a request has: what the runtime, toolsets and callbacks add to an agent's own.

A person may be asked about a call of such a tool, too, and the answer comes without a request.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from ....context.context import Context
from ....context.invocation import InvocationContext
from ....context.readonly import ReadonlyContext
from ....models.llm_request import LlmRequest
from ....tools.base_tool import BaseTool
from ....tools.base_toolset import BaseToolset
from ..agent_transfer import find_transfer_tool
from ..model_call.model_hooks import EventDraft, run_before_model_hooks
from .tool_bundle import arrange_tools, is_request_exposed, toolsets_of


def find_runtime_tools(
    ctx: InvocationContext, agent: Any, listed: Sequence[BaseTool]
) -> dict[str, BaseTool]:
    """Return an agent's tools with those that the runtime adds to them, by name.

    Args:
      ctx: the run.
      agent: the agent.
      listed: its own tools.
    """
    policy, is_live = ctx.services.context_policy, ctx.live_request_queue is not None
    arranged = arrange_tools([*listed], policy, agent.name, is_live=is_live)
    transfer = find_transfer_tool(agent)
    added = [] if transfer is None else [transfer]
    return {tool.name: tool for tool in (*added, *arranged, *listed)}


def may_add_tools(ctx: InvocationContext, agent: Any) -> bool:
    """Return whether something adds tools to an agent's requests that only a request tells of.

    Args:
      ctx: the run.
      agent: the agent.
    """
    if is_request_exposed(ctx, agent):
        return True
    return any(
        type(toolset).process_llm_request is not BaseToolset.process_llm_request
        for toolset in toolsets_of(agent.tools)
    )


async def find_answered_tools(ctx: InvocationContext, names: Set[str]) -> dict[str, BaseTool]:
    """Return the tools of the run's agent by name, for calls that a person has answered.

    Args:
      ctx: the run.
      names: names of the tools. If the agent itself lacks one, those that only a request has are
        among the result.
    """
    listed = await ctx.agent.canonical_tools(ReadonlyContext(ctx))
    found: dict[str, BaseTool] = {tool.name: tool for tool in listed}
    return found if names <= found.keys() else await _find_request_tools(ctx, listed)


async def _find_request_tools(
    ctx: InvocationContext, listed: Sequence[BaseTool]
) -> dict[str, BaseTool]:
    """Return all tools that a request has, without sending one; the hooks before it run for that.

    Args:
      ctx: the run.
      listed: the agent's own tools.
    """
    request, context = LlmRequest(), Context(ctx)
    for toolset in toolsets_of(ctx.agent.tools):
        await toolset.process_llm_request(tool_context=context, llm_request=request)
    known = find_runtime_tools(ctx, ctx.agent, listed)
    for tool in known.values():
        await tool.process_llm_request(tool_context=context, llm_request=request)
    await run_before_model_hooks(ctx, request, EventDraft(ctx))
    added: dict[str, Any] = request.tools_dict
    return {**known, **added}
