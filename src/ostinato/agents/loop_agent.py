"""LoopAgent: repeats its sub-agents until one escalates."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import field_validator

from .._aclosing import Aclosing
from ..context.invocation import InvocationContext
from ..events.event import Event
from .base_agent import BaseAgent, BaseAgentState, ConfigType, is_paused
from .node_agent import as_agents

if TYPE_CHECKING:
    from .loop_agent_config import LoopAgentConfig


class LoopAgentState(BaseAgentState):
    """Checkpoint of a LoopAgent.

    Attributes:
      current_sub_agent: name of the sub-agent that runs.
      times_looped: completed rounds.
    """

    current_sub_agent: str = ""
    times_looped: int = 0


class LoopAgent(BaseAgent):
    """Repeats its sub-agents until `max_iterations` rounds or an escalation (FEATURES row 76).

    Attributes:
      max_iterations: maximum number of rounds; None for no limit.
    """

    config_type: ClassVar[Any] = ConfigType("LoopAgentConfig")
    max_iterations: int | None = None

    @classmethod
    def _parse_config(
        cls, config: "LoopAgentConfig", config_abs_path: str, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        return kwargs | {"max_iterations": config.max_iterations}

    _take_nodes = field_validator("sub_agents", mode="before")(as_agents)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        state = self._load_agent_state(ctx, LoopAgentState)
        resuming = state is not None
        looped, start = self._get_start_state(state)
        escalated = pausing = False
        while not escalated and (not self.max_iterations or looped < self.max_iterations):
            for sub_agent in self.sub_agents[start:]:
                if not resuming:
                    state = LoopAgentState(current_sub_agent=sub_agent.name, times_looped=looped)
                    ctx.set_agent_state(self.name, agent_state=state)
                    if ctx.is_resumable:
                        yield self._create_agent_state_event(ctx)
                resuming = False
                async with Aclosing(sub_agent.run_async(ctx)) as events:
                    async for event in events:
                        yield event
                        escalated |= bool(event.actions.escalate)
                        pausing |= ctx.should_pause_invocation(event)
                if ctx.run_state.resume is not None:
                    escalated |= ctx.run_state.resume.take_escalation(ctx.branch)
                if pausing or is_paused(ctx):
                    return
                if escalated:
                    break
            start = 0
            looped += 1
            # Sub-agents start each round without the checkpoints of the last one.
            ctx.reset_sub_agent_states(self.name)
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)

    def _get_start_state(self, agent_state: LoopAgentState | None) -> tuple[int, int]:
        """Return completed rounds and the index of the sub-agent to start with."""
        if agent_state is None:
            return 0, 0
        names = [agent.name for agent in self.sub_agents]
        name = agent_state.current_sub_agent
        return agent_state.times_looped, names.index(name) if name in names else 0
