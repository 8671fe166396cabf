"""The policies on an agent's calls: those of the run, and those of the agent's toolsets."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ....context.invocation import InvocationContext
from ....context.readonly import ReadonlyContext
from ....tools import policy
from ....tools.base_toolset import BaseToolset
from ....tools.function.function_signature import copy_arguments

if TYPE_CHECKING:
    from ....tools.policy.gate import PolicyGate


def find_restricting(ctx: InvocationContext) -> Sequence[BaseToolset]:
    """Return the toolsets of the agent that may decide on its calls."""
    agent: Any = ctx.agent
    try:
        tools: Any = agent.tools
    except AttributeError:  # an agent of another kind
        return ()
    found: list[BaseToolset] = []
    tool: Any
    for tool in tools if tools.__class__ is list else ():  # the agent may be a mock
        # Most tools are functions; others may be mocks.
        if type(tool) is FunctionType:
            continue
        if getattr(tool, "restricts_calls", False) is True or (
            (key := getattr(tool, "restricting_key", ""))
            and isinstance(key, str)
            and ctx.session.state.get(key + ctx.agent.name)
        ):
            found.append(tool)
    return found


async def find_gate(ctx: InvocationContext, toolsets: Sequence[BaseToolset]) -> PolicyGate | Any:
    """Return what decides on a call, or None if no policy is about it.

    Args:
      ctx: the run.
      toolsets: what `find_restricting` has found.
    """
    gate: Any = ctx.services.policy
    for toolset in toolsets:
        for one in await toolset.get_call_policies(ReadonlyContext(ctx)):
            if gate is None:
                gate = policy.PolicyGate((one,), policy.PolicyLedger(ctx.session_service))
            else:
                gate = gate.with_policy(one)
    return gate


async def check_call(
    gate: PolicyGate | Any, run: Any, in_doubt: str, refusal: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return the response that a policy gives in place of a tool's result; None to run the tool.

    A callback may have kept the arguments; what it changes from here on reaches neither rules nor
    tool.

    Args:
      gate: what `find_gate` has found.
      run: the call that runs; its arguments are replaced by a copy.
      in_doubt: what to say of a call that may have taken effect before a crash; else empty.
      refusal: the response to a call that a person has rejected; None without one.
    """
    run.args = copy_arguments(run.args)
    return await gate.check(
        run.ctx, run.call, run.tool, run.args, run.context, in_doubt=in_doubt, refusal=refusal
    )
