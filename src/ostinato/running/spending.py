"""Counting again what an invocation that goes on has used of its budget."""

from __future__ import annotations

from typing import Any

from ..agents.base_agent import BaseAgent
from ..context.budget import Spending
from ..sessions.event_log import EventLog

# Calls that ask the user for something are no tools.
_REQUESTS = "adk_request_"


def count_again(
    spending: Spending, log: EventLog, invocation_id: str, root_agent: BaseAgent
) -> None:
    """Count the tokens and tool calls that the log holds of an invocation.

    What agents used that AgentTool had run to their end is not in the log.

    Args:
      spending: where to count.
      log: the session's events.
      invocation_id: the invocation; a new one has no events.
      root_agent: the agent tree, which knows the models.
    """
    run: set[str | None] = set()
    answered: set[str | None] = set()
    for record in log.invocation(invocation_id):
        answered.update(call_id for call_id, _ in record.responses)
        if record.author == "user":
            continue
        run.update(call_id for call_id, name in record.calls if not name.startswith(_REQUESTS))
        answered |= record.long_running  # it ran, whoever answers it
        agent: Any = root_agent.find_agent(record.author)
        model = getattr(agent, "canonical_model", None)
        spending.count(record.event().usage_metadata, model.model if model is not None else "")
    spending.tool_calls += len(run & answered)
