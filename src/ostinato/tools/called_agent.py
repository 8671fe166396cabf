"""Runs of an agent within a call, in the same session; task and single-turn tools use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .. import types
from .._aclosing import Aclosing
from ..context._ports import AgentLike
from ..context.delegation import in_scope, is_last_word, make_delegated_context
from ..context.invocation import InvocationContext
from ..errors import AgentConfigError, CallerError, StoreError

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class _Waiting:
    __slots__ = ()

    def __repr__(self) -> str:
        return "WAITING"


WAITING: Final = _Waiting()
"""Result of a tool whose call waits for the user: the flow leaves the call open, ends the run, and
runs the call again when the user has answered."""


async def run_called_agent(
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
      AgentConfigError: no runner takes the agent's events.
    """
    context = tool_context.get_invocation_context()
    call_id = tool_context.function_call_id or ""
    relay = context.run_state.relays.get(call_id)
    if relay is None:
        raise AgentConfigError(
            f"Agent {tool_context.agent_name!r} called agent {agent.name!r} of mode "
            f"{getattr(agent, 'mode', None)!r} outside of a run that takes its events. Run it with "
            "a Runner, or use AgentTool."
        )
    inner = make_delegated_context(context, agent, call_id, told)
    try:
        async with Aclosing(in_scope(agent.run_async(inner), call_id)) as events:
            async for event in events:
                if inner.run_path and is_last_word(event, call_id):
                    info = event.node_info
                    info.message_as_output, info.output_for = True, [info.path]
                await relay.send(event)
    except (CallerError, StoreError):
        raise
    except Exception as error:  # boundary: raised again; the run may continue without the agent
        close = context.services.close_cut_calls
        if close is not None and inner.branch != context.branch:
            for event in close(inner, error, "", branch=inner.branch or ""):
                await relay.send(event)
        raise
    return inner
