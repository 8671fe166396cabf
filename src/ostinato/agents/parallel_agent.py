"""ParallelAgent: runs its sub-agents concurrently, each on a branch of its own."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar

from pydantic import field_validator

from .._aclosing import Aclosing
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..workflow.lanes import Lanes
from .base_agent import BaseAgent, BaseAgentState, ConfigType, is_paused
from .node_agent import as_agents


class ParallelAgent(BaseAgent):
    """Runs its sub-agents concurrently; they do not see each other's events (FEATURES row 75)."""

    config_type: ClassVar[Any] = ConfigType("ParallelAgentConfig")
    _take_nodes = field_validator("sub_agents", mode="before")(as_agents)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        if self._load_agent_state(ctx, BaseAgentState) is None:
            ctx.reset_sub_agent_states(self.name)
            ctx.set_agent_state(self.name, agent_state=BaseAgentState())
            if ctx.is_resumable:
                yield self._create_agent_state_event(ctx)
        ctx.run_state.order_writes()
        runs: list[AsyncGenerator[Event, None]] = []
        for sub_agent in self.sub_agents:
            branch = _create_branch_ctx_for_sub_agent(self, sub_agent, ctx)
            runs.append(sub_agent.run_async(branch))
        async with Aclosing(_merge_agent_run(runs)) as events:
            async for event in events:
                yield event
        if is_paused(ctx):
            return
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)


def _create_branch_ctx_for_sub_agent(
    agent: BaseAgent, sub_agent: BaseAgent, invocation_context: InvocationContext
) -> InvocationContext:
    """Return a context whose branch is `parent.child` below the current one (FEATURES A.27 X5)."""
    suffix = f"{agent.name}.{sub_agent.name}"
    outer = invocation_context.branch
    branch = f"{outer}.{suffix}" if outer else suffix
    return invocation_context.model_copy(update={"branch": branch})


async def _merge_agent_run(
    agent_runs: Sequence[AsyncGenerator[Event, None]],
) -> AsyncGenerator[Event, None]:
    """Run generators concurrently and yield their events as they come.

    Each generator continues only after its event was consumed, so that an event is committed before
    its agent's next step. If one raises, the others are cancelled and closed.
    """
    lanes = Lanes[int]()
    for number, run in enumerate(agent_runs):
        lanes.start_lane(number, run)
    try:
        while len(lanes):
            step = await lanes.next_step()
            if step.event is not None:
                yield step.event
            elif step.error is not None:
                raise step.error
    finally:
        await lanes.aclose()
