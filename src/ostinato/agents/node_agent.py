"""NodeAgent: a workflow, or another node, where an agent is expected: as root, as a sub-agent.

The runner makes one of a root that is no agent, shell agents of such sub-agents.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, cast

from pydantic import SkipValidation

from .. import types
from .._aclosing import Aclosing
from ..context.invocation import InvocationContext
from ..context.node import BaseNode
from ..errors import AgentConfigError
from ..events.event import Event
from ..sessions.event_log import END_OF_AGENT
from ..workflow.node_run import NodeRun
from ..workflow.past import forget_ends, keep_ends, mark_end, past_of
from ..workflow.schedule import execute
from .base_agent import BaseAgent


class NodeAgent(BaseAgent):
    """Runs a node; the hooks of agents are for the agents within it.

    Attributes:
      root_node: the node.
    """

    root_node: SkipValidation[Any]

    @classmethod
    def of(cls, node: BaseNode) -> NodeAgent:
        """Return an agent that runs a node."""
        return cls(name=node.name, description=node.description, root_node=node)

    def find_agent(self, name: str) -> BaseAgent | None:
        """Return this agent also for the name of an agent within its graph: it leads there."""
        if self.name == name:
            return self
        return self if any(one.name == name for one in within(self.root_node)) else None

    def clone(self, update: Any = None) -> Any:
        """Return a copy without parent, which runs the same node."""
        return super().clone(update)

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Refuse.

        Raises:
          AgentConfigError: always.
        """
        raise AgentConfigError(
            f"Workflow {self.root_node.name!r} has no live runs: its nodes run one after another, "
            "and none of them talks with the user all the time. Use run_async, or let a live agent "
            "call agents."
        )
        yield

    async def _run_hooked(
        self,
        parent_context: InvocationContext,
        run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        ctx = self._create_invocation_context(parent_context)
        if ctx.ports.resume is not None and self._has_ended(ctx, ctx.ports.resume):
            return
        async with Aclosing(run(ctx)) as events:
            async for event in events:
                yield event

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        node: BaseNode = self.root_node
        path = _path(ctx, node, self.name)
        run = NodeRun(node, path, ctx, _message(ctx), node.name, [path])
        async with Aclosing(execute(run)) as events:
            async for event in events:
                yield event
        if run.interrupts:
            await keep_ends(ctx)
            return
        if self.parent_agent is None and not ctx.node_path:
            forget_ends(ctx)
            return
        mark_end(ctx, path, run.route, run.output)
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)


def as_agent(node: Any) -> Any:
    """Return a node as an agent; anything else as it is."""
    if isinstance(node, BaseNode) and not isinstance(node, BaseAgent):
        return NodeAgent.of(node)
    return node


def as_agents(nodes: Any) -> Any:
    """Return a list in which nodes are agents, for the field `sub_agents`."""
    if isinstance(nodes, (list, tuple)):
        return [as_agent(one) for one in cast(Sequence[Any], nodes)]
    return nodes


def within(node: BaseNode) -> Iterator[BaseNode]:
    """Yield a node and all that it is made of, agents' sub-agents too."""
    left, seen = [node], set[int]()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        left += one.nodes_within
        if isinstance(one, BaseAgent):
            left += one.sub_agents
        if isinstance(one, NodeAgent):
            left.append(one.root_node)


def _path(ctx: InvocationContext, node: BaseNode, agent: str) -> str:
    """Return where the node runs: the run that was interrupted, or a new one."""
    above = f"{ctx.node_path}/{node.name}" if ctx.node_path else node.name
    past = past_of(ctx)
    newest = past.newest.get(above, 0)
    run = past.runs.get(f"{above}@{newest}")
    ended = run is not None and run.finished is not None and not _owes_end(ctx, agent, newest)
    if newest == 0 or ended:
        newest = past.newest[above] = newest + 1
    return f"{above}@{newest}"


def _owes_end(ctx: InvocationContext, agent: str, runs: int) -> bool:
    """Tell whether the event is missing that ends the last of an agent's runs.

    The mark that its node ended may have been stored before it, with the event of an agent beside
    it: the process died between the two.
    """
    if not ctx.is_resumable or not ctx.ports.resumed:
        return False
    records = ctx.log.invocation(ctx.invocation_id)
    return sum(r.author == agent and bool(r.kinds & END_OF_AGENT) for r in records) < runs


def _message(ctx: InvocationContext) -> types.Content | None:
    """Return the message that the invocation began with, which an answer does not replace."""
    if not ctx.ports.resumed:
        return ctx.user_content
    log = ctx.log
    for index in range(log.start_of(ctx.invocation_id) or 0, len(log.records)):
        record = log.records[index]
        if record.invocation_id == ctx.invocation_id and record.author == "user":
            return record.event().content
    return ctx.user_content
