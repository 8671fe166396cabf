"""NodeAgent: a workflow or another node as an agent, for the root and for sub-agents.

The runner wraps a root that is not an agent, shell agents wrap such sub-agents.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from pydantic import SkipValidation

from .. import types
from .._aclosing import Aclosing
from .._lists import to_list
from ..context.invocation import InvocationContext
from ..context.node import BaseNode
from ..errors import AgentConfigError
from ..events.event import Event
from ..sessions.log.event_log import END_OF_AGENT
from ..workflow.node_run import NodeRun
from ..workflow.past import forget_end_marks, mark_end, read_past, store_end_marks
from ..workflow.schedule import execute_node
from .base_agent import BaseAgent


class NodeAgent(BaseAgent):
    """Runs a node; only the agents within it have hooks.

    Attributes:
      root_node: the node.
    """

    root_node: SkipValidation[Any]

    @classmethod
    def of(cls, node: BaseNode) -> NodeAgent:
        """Return an agent that runs a node."""
        return cls(name=node.name, description=node.description, root_node=node)

    def find_agent(self, name: str) -> BaseAgent | None:
        """Return this agent for its own name and for those of the agents within its graph."""
        if self.name == name:
            return self
        return self if any(one.name == name for one in iterate_nodes(self.root_node)) else None

    def clone(self, update: Any = None) -> Any:
        """Return a copy without parent, which runs the same node."""
        return super().clone(update)

    def check_live(self) -> None:
        """Refuse.

        Raises:
          AgentConfigError: always.
        """
        raise AgentConfigError(
            f"Workflow {self.root_node.name!r} does not support live runs, because none of its "
            "nodes talks with the user all the time. Use run_async, or let a live agent call "
            "agents."
        )

    async def _run_with_hooks(
        self,
        parent_context: InvocationContext,
        run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        ctx = self._create_invocation_context(parent_context)
        if ctx.run_state.resume is not None and self._has_ended(ctx, ctx.run_state.resume):
            return
        async with Aclosing(run(ctx)) as events:
            async for event in events:
                yield event

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        node: BaseNode = self.root_node
        path = _find_run_path(ctx, node, self.name)
        run = NodeRun(node, path, ctx, _find_first_message(ctx), node.name, [path])
        async with Aclosing(execute_node(run)) as events:
            async for event in events:
                yield event
        if run.interrupts:
            await store_end_marks(ctx)
            return
        if self.parent_agent is None and not ctx.node_path:
            forget_end_marks(ctx)
            return
        mark_end(ctx, path, run.route, run.output)
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)


class ForeignAgent(BaseAgent):
    """Runs a root that is not a BaseAgent, such as a mock; its events stay unchanged.

    Attributes:
      root: the object; its `run_async` gets the invocation's context.
    """

    root: SkipValidation[Any]

    @classmethod
    def of(cls, root: Any) -> ForeignAgent:
        """Return an agent that runs an object, with the object's name if that is valid."""
        name = getattr(root, "name", None)
        if not isinstance(name, str) or not name.isidentifier() or name == "user":
            name = "agent"
        return cls(name=name, root=root)

    async def _run_with_hooks(
        self,
        parent_context: InvocationContext,
        run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        if run == self._run_live_impl:
            self.check_live()
        async for event in self.root.run_async(
            parent_context.model_copy(update={"agent": self.root})
        ):
            yield event


def as_root(root: Any) -> Any:
    """Return an agent for the runner: `root` itself, or an agent that wraps a node or a mock."""
    if not issubclass(type(root), BaseNode) and callable(getattr(root, "run_async", None)):
        return ForeignAgent.of(root)
    return as_agent(root)


def as_agent(node: Any) -> Any:
    """Return a node as an agent; anything else unchanged."""
    if isinstance(node, BaseNode) and not isinstance(node, BaseAgent):
        return NodeAgent.of(node)
    return node


def as_agents(nodes: Any) -> Any:
    """Return a list with its nodes as agents, for the field `sub_agents`."""
    return [as_agent(one) for one in to_list(nodes, "sub_agents", "agents")]


def iterate_nodes(node: BaseNode) -> Iterator[BaseNode]:
    """Yield a node and all nodes and sub-agents within it."""
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


def _find_run_path(ctx: InvocationContext, node: BaseNode, agent: str) -> str:
    """Return the path of the node's run: the interrupted one, or a new one."""
    above = f"{ctx.node_path}/{node.name}" if ctx.node_path else node.name
    past = read_past(ctx)
    newest = past.newest.get(above, 0)
    run = past.runs.get(f"{above}@{newest}")
    ended = run is not None and run.finished is not None and not _is_end_missing(ctx, agent, newest)
    if newest == 0 or ended:
        newest = past.newest[above] = newest + 1
    return f"{above}@{newest}"


def _is_end_missing(ctx: InvocationContext, agent: str, runs: int) -> bool:
    """Return whether the log lacks the event that ends an agent's last run.

    The mark of its node's end may have been stored earlier, with the event of a parallel agent,
    before the process died.
    """
    if not ctx.is_resumable or not ctx.run_state.is_resumed:
        return False
    records = ctx.log.invocation(ctx.invocation_id)
    return sum(r.author == agent and bool(r.kinds & END_OF_AGENT) for r in records) < runs


def _find_first_message(ctx: InvocationContext) -> types.Content | None:
    """Return the first message of the invocation, even if an answer resumed it."""
    if not ctx.run_state.is_resumed:
        return ctx.user_content
    log = ctx.log
    for index in range(log.start_of(ctx.invocation_id) or 0, len(log.records)):
        record = log.records[index]
        if record.invocation_id == ctx.invocation_id and record.author == "user":
            return record.event().content
    return ctx.user_content
