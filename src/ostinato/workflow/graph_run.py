"""GraphRun: takes one run of a graph from START to where nothing is left to do, or to wait for.

While one node is ready it runs in place; where several are, each gets a lane. What an interrupted
run had done is taken from the log first, in the order in which it was done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from heapq import heappop, heappush
from typing import Any

from .._aclosing import Aclosing
from .._adk_mode import follows_adk
from .._log import get_logger
from ..context.invocation import InvocationContext
from ..errors import CallerError, NodeError, StoreError
from ..events.event import Event
from .graph import Graph, Stop
from .lanes import Lanes
from .node_run import NodeRun
from .past import read_past
from .schedule import execute_node

logger = get_logger(__name__)

_Ready = tuple[Stop, NodeRun]


class GraphRun:
    """One run of a graph.

    Args:
      graph: the graph.
      run: the run of the node whose graph it is.
      limit: how many nodes run at once; any number where None.
    """

    def __init__(self, graph: Graph, run: NodeRun, limit: int | None) -> None:
        self._graph = graph
        self._run = run
        self._limit = limit or None
        self._ready: deque[_Ready] = deque()
        self._done: list[tuple[float, int, _Ready]] = []  # ends that the log tells, by their place
        self._pushed = 0
        self._counts: dict[str, int] = {}
        self._joins: dict[str, dict[str, tuple[Any, str | None]]] = {}
        self._outputs: dict[str, Any] = {}
        self._past = read_past(run.invocation).runs

    async def run_events(self, graph_input: Any) -> AsyncGenerator[Event, None]:
        """Run the graph and yield its events; the output goes to the run of its node.

        Raises:
          NodeError: two last nodes gave an output, or a route leads nowhere.
          Exception: what a node raised; those beside it are cancelled.
        """
        start = self._graph.start
        self._start_targets(start.always, start.node.name, graph_input, self._run.invocation.branch)
        state = self._run.invocation.run_state
        if state.is_resumed:
            state.order_writes()  # what is left of several nodes may be one
        while True:
            while self._done:
                self._record_end(*heappop(self._done)[2])
            if not self._ready:
                break
            if len(self._ready) == 1:
                stop, run = self._ready.popleft()
                async with Aclosing(execute_node(run)) as events:
                    async for event in events:
                        yield event
                self._record_end(stop, run)
            else:
                async with Aclosing(self._side_by_side()) as events:
                    async for event in events:
                        yield event
        self._give_output()

    async def _side_by_side(self) -> AsyncGenerator[Event, None]:
        """Run what is ready, and what becomes ready meanwhile, in lanes; until all have ended.

        Each node that acts on an answer does so: the error of another node is raised after it, and
        a node that has failed before runs after it, because it may be bound to fail again.
        """
        self._run.invocation.run_state.order_writes()
        lanes = Lanes[str]()
        running: dict[str, _Ready] = {}
        acting = {run.path for _, run in self._ready if run.has_answer()}
        held = self._hold_failed(acting) if acting else []
        error: BaseException | None = None
        try:
            while True:
                while self._done:
                    self._record_end(*heappop(self._done)[2])
                while self._ready and error is None and self._has_room(lanes):
                    stop, run = self._ready.popleft()
                    running[run.path] = (stop, run)
                    lanes.start_lane(run.path, execute_node(run))
                if not len(lanes):
                    self._ready.extend(held)
                    return
                step = await lanes.next_step()
                if step.event is not None:
                    yield step.event
                    continue
                acting.discard(step.key)
                ended = running.pop(step.key)
                if step.error is None:
                    self._record_end(*ended)
                error = error or step.error
                if error is not None and not (acting and _may_wait(error)):
                    raise error
        finally:
            await lanes.aclose()

    def _hold_failed(self, acting: set[str]) -> list[_Ready]:
        """Take the nodes that failed before from those that are ready, but for acting ones."""
        held = [
            (stop, run)
            for stop, run in self._ready
            if run.path not in acting and run.past is not None and run.past.errors
        ]
        paths = {run.path for _, run in held}
        self._ready = deque(one for one in self._ready if one[1].path not in paths)
        return held

    def _has_room(self, lanes: Lanes[str]) -> bool:
        return self._limit is None or len(lanes) < self._limit

    def _record_end(self, stop: Stop, run: NodeRun) -> None:
        """Record the end of a node's run and start what follows."""
        if run.interrupts:
            self._run.interrupts |= run.interrupts
            return
        if stop.node.wait_for_output and not run.has_output:
            return
        if stop.last:
            if run.has_output:
                self._outputs[stop.node.name] = run.output
            return
        targets = stop.find_targets(run.route)
        if targets is None:
            problem = (
                f"Node {run.path} gave the route {run.route!r}, and no edge takes it. There are "
                f"{list(stop.by_route)}; add an edge for it, or one for DEFAULT_ROUTE."
            )
            if not follows_adk():
                raise NodeError(problem)
            logger.warning("%s The graph ends there.", problem)
            return
        self._start_targets(targets, stop.node.name, run.output, run.invocation.branch)

    def _start_targets(
        self, targets: list[Stop], source: str, value: Any, branch: str | None
    ) -> None:
        for target in targets:
            if target.joins:
                self._join_branch(target, source, value, branch)
                continue
            run_id = self._next_number(target)
            own = branch
            if len(targets) > 1:
                segment = f"{target.node.name}@{run_id}"
                own = f"{branch}.{segment}" if branch else segment
            self._add_run(target, run_id, value, own)

    def _join_branch(self, target: Stop, source: str, value: Any, branch: str | None) -> None:
        name = target.node.name
        arrived = self._joins.setdefault(name, {})
        arrived[source] = (value, branch)
        if len(arrived) < len(target.before):
            return
        del self._joins[name]
        inputs = {one: arrived[one][0] for one in target.before}
        branches = [arrived[one][1] for one in target.before]
        self._add_run(target, self._next_number(target), inputs, _common_branch(branches))

    def _next_number(self, stop: Stop) -> int:
        number = self._counts[stop.node.name] = self._counts.get(stop.node.name, 0) + 1
        return number

    def _add_run(self, stop: Stop, run_id: int, value: Any, branch: str | None) -> None:
        parent, node = self._run, stop.node
        path = f"{parent.path}/{node.name}@{run_id}"
        run = NodeRun(
            node,
            path,
            _on_branch(parent.invocation, branch),
            value,
            parent.author,
            [path, *parent.output_for] if stop.last else [path],
            parent,
        )
        past = self._past.get(path)
        if past is not None and past.finished is not None and run.is_over() and not past.waiting:
            run.output, run.has_output, run.route = past.output, past.has_output, past.route
            self._pushed += 1
            heappush(self._done, (past.finished, self._pushed, (stop, run)))
        else:
            self._ready.append((stop, run))

    def _give_output(self) -> None:
        if self._run.interrupts or not self._outputs:
            return
        if len(self._outputs) > 1:
            raise NodeError(
                f"Workflow {self._run.node.name}: multiple terminal nodes produced output "
                f"({len(self._outputs)}): {', '.join(self._outputs)}. A workflow must have at most "
                "one terminal output; join them, or let all but one give none."
            )
        self._run.deliver_output(next(iter(self._outputs.values())))


def _may_wait(error: BaseException) -> bool:
    """Return whether a node's error may be raised later: it does not end the whole run."""
    return isinstance(error, Exception) and not isinstance(error, CallerError | StoreError)


def _on_branch(invocation: InvocationContext, branch: str | None) -> InvocationContext:
    if branch == invocation.branch:
        return invocation
    return invocation.model_copy(update={"branch": branch})


def _common_branch(branches: list[str | None]) -> str | None:
    """Return the branch that several have grown from."""
    ways = [branch.split(".") if branch else [] for branch in branches]
    shared: list[str] = []
    for parts in zip(*ways, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared) or None
