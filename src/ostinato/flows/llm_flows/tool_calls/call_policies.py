"""The policies on an agent's calls: those of the run, and those of the agent's toolsets."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from ....context.invocation import InvocationContext
from ....context.readonly import ReadonlyContext
from ....tools import policy
from ....tools.base_toolset import BaseToolset

if TYPE_CHECKING:
    from ....tools.policy.gate import PolicyGate


def restricts_calls(ctx: InvocationContext) -> bool:
    """Return whether a policy may decide on calls of the agent."""
    return ctx.services.policy is not None or bool(_find_restricting(ctx))


def _find_restricting(ctx: InvocationContext) -> Sequence[BaseToolset]:
    found: list[BaseToolset] = []
    tools: Any = getattr(ctx.agent, "tools", None)
    for tool in cast("list[Any]", tools) if type(tools) is list else ():
        # Most tools are functions; others may be mocks.
        if type(tool) is not FunctionType and getattr(tool, "restricts_calls", False) is True:
            found.append(tool)  # noqa: PERF401 - no call for each turn
    return found


async def find_gate(ctx: InvocationContext) -> PolicyGate | Any:
    """Return what decides on a call, or None if no policy is about it.

    Args:
      ctx: the run.
    """
    gate: Any = ctx.services.policy
    for toolset in _find_restricting(ctx):
        for one in await toolset.get_call_policies(ReadonlyContext(ctx)):
            if gate is None:
                gate = policy.PolicyGate((one,), policy.PolicyLedger(ctx.session_service))
            else:
                gate = gate.with_policy(one)
    return gate
