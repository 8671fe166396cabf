"""SequentialAgent: runs its sub-agents one after another."""

from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from pydantic import field_validator

from .._aclosing import Aclosing
from ..context.invocation import InvocationContext, ensure_live_state
from ..events.event import Event
from .base_agent import BaseAgent, BaseAgentState, ConfigType, is_paused
from .node_agent import as_agents


class SequentialAgentState(BaseAgentState):
    """Checkpoint of a SequentialAgent.

    Attributes:
      current_sub_agent: name of the sub-agent that runs.
    """

    current_sub_agent: str = ""


class SequentialAgent(BaseAgent):
    """Runs its sub-agents in order (Spec 1 §2, FEATURES row 74)."""

    config_type: ClassVar[Any] = ConfigType("SequentialAgentConfig")
    _take_nodes = field_validator("sub_agents", mode="before")(as_agents)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        state = self._load_agent_state(ctx, SequentialAgentState)
        resuming, pausing = state is not None, False
        for sub_agent in self.sub_agents[self._get_start_index(state) :]:
            if not resuming:
                state = SequentialAgentState(current_sub_agent=sub_agent.name)
                ctx.set_agent_state(self.name, agent_state=state)
                if ctx.is_resumable:
                    yield self._create_agent_state_event(ctx)
            resuming = False
            async with Aclosing(sub_agent.run_async(ctx)) as events:
                async for event in events:
                    yield event
                    pausing |= ctx.should_pause_invocation(event)
            if pausing or is_paused(ctx):
                return
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the sub-agents live in order; the model of each signals when its task is done."""
        self.check_live()
        live_state = ensure_live_state(ctx)
        for sub_agent in self.sub_agents:
            live_state.task_agents |= {sub_agent.name}
            async with Aclosing(sub_agent.run_live(ctx)) as events:
                async for event in events:
                    yield event
            if ctx.live_request_queue is not None and ctx.live_request_queue.closed:
                return

    def check_live(self) -> None:
        """Raise NotImplementedError if a sub-agent does not support live runs."""
        for sub_agent in self.sub_agents:
            sub_agent.check_live()

    def _get_start_index(self, agent_state: SequentialAgentState | None) -> int:
        """Return the index of the sub-agent to start with; the first if the tree has changed."""
        names = [agent.name for agent in self.sub_agents]
        if agent_state is None or agent_state.current_sub_agent not in names:
            return 0
        return names.index(agent_state.current_sub_agent)
