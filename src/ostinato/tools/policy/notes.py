"""What a policy decided on calls, on its way to the events of the calls' responses."""

from __future__ import annotations

from typing import Any

from ...context.invocation import InvocationContext


def record_decision(ctx: InvocationContext, call_id: str | None, note: dict[str, Any]) -> None:
    """Record a decision, which goes into the event of the call's response."""
    if ctx.run_state.policy_decisions is None:
        ctx.run_state.policy_decisions = {}
    ctx.run_state.policy_decisions[call_id or ""] = note
