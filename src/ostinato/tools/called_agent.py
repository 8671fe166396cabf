"""Running an agent within a call, in the same session: what the tools of called agents share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from .._aclosing import Aclosing
from ..context._ports import AgentLike
from ..context.delegation import delegated, in_scope
from ..context.invocation import InvocationContext
from ..errors import AgentConfigError

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


async def run_called(
    agent: AgentLike, told: types.Content, tool_context: ToolContext
) -> InvocationContext:
    """Run an agent to its end, or to where it waits for the user; its events are this run's.

    Args:
      agent: the agent.
      told: what it is told.
      tool_context: of the call.

    Returns:
      The context in which it ran.

    Raises:
      AgentConfigError: nobody takes the agent's events.
    """
    context = tool_context.get_invocation_context()
    call_id = tool_context.function_call_id or ""
    relay = context.ports.relays.get(call_id)
    if relay is None:
        raise AgentConfigError(
            f"Agent {tool_context.agent_name!r} called agent {agent.name!r} of mode "
            f"{getattr(agent, 'mode', None)!r} outside of a run that takes its events. Run it with "
            "a Runner, or use AgentTool."
        )
    inner = delegated(context, agent, call_id, told)
    async with Aclosing(in_scope(agent.run_async(inner), call_id)) as events:
        async for event in events:
            await relay.send(event)
    return inner
