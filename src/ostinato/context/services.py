"""RunServices: the services that the runner provides to one invocation; constant during its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..events.event import Event
from .budget import BudgetUsage
from .deps import NOT_GIVEN

if TYPE_CHECKING:
    from ..sessions.store.durable_store import CallChanges, JournalRow
    from ._ports import ChecksCalls, ClosesCutCalls, Commit, GatesNodeCalls, Schedule, Spawn
    from .context_policy import ContextPolicy


async def _no_commit(
    events: Sequence[Event],
    rows: Sequence[JournalRow] = (),
    changes: CallChanges | None = None,
) -> None:
    """Commit nothing: there is no runner."""


class RunServices:
    """Services of one invocation, shared by all its contexts.

    Attributes:
      spawn: runs another agent in a session of its own, for AgentTool.
      schedule: runs a workflow node, for `Context.run_node`.
      commit: stores events and journal rows, in one transaction if the store has them.
      tool_errors: what a tool's exception does: `raise` or `feedback`.
      sends_client_secrets: whether requests for credentials contain the OAuth2 client's secret.
      budget_usage: the usage of the invocation's budget, or None without a budget.
      is_nested: whether it runs within another run of the session, whose calls are still open.
      deps: deps for tools, instructions and callbacks, or `NOT_GIVEN`.
      policy: decides on tool calls before they run; None without a policy.
      context_policy: limits on tool results in requests; None without limits.
      node_gate: what the tool calls of workflow nodes pass; None if they run at once.
      close_cut_calls: returns events that close the calls of agents in a workflow node whose
        attempt failed; takes the context, the error and the node's path.
    """

    __slots__ = (
        "budget_usage",
        "close_cut_calls",
        "commit",
        "context_policy",
        "deps",
        "is_nested",
        "node_gate",
        "policy",
        "schedule",
        "sends_client_secrets",
        "spawn",
        "tool_errors",
    )

    def __init__(
        self,
        *,
        spawn: Spawn | None = None,
        schedule: Schedule | None = None,
        commit: Commit | None = None,
        tool_errors: str = "raise",
        sends_client_secrets: bool = False,
        budget_usage: BudgetUsage | None = None,
        is_nested: bool = False,
        deps: Any = NOT_GIVEN,
        policy: ChecksCalls | None = None,
        context_policy: ContextPolicy | None = None,
        node_gate: GatesNodeCalls | None = None,
        close_cut_calls: ClosesCutCalls | None = None,
    ) -> None:
        self.commit: Commit = commit or _no_commit
        self.spawn = spawn
        self.schedule = schedule
        self.tool_errors = tool_errors
        self.sends_client_secrets = sends_client_secrets
        self.budget_usage = budget_usage
        self.is_nested = is_nested
        self.deps = deps
        self.policy = policy
        self.context_policy = context_policy
        self.node_gate = node_gate
        self.close_cut_calls = close_cut_calls

    @property
    def has_runner(self) -> bool:
        """Whether a runner stores the commits; a context made by hand has none."""
        return self.commit is not _no_commit
