"""Endpoint of an app's graph: its agents and workflow nodes, and the ways between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, cast

from .._log import get_logger
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.loop_agent import LoopAgent
from ..agents.node_agent import NodeAgent, as_agent
from ..agents.parallel_agent import ParallelAgent
from ..agents.sequential_agent import SequentialAgent
from ..context.model_prices import AS_OF, CURRENCY, LIST_PRICES
from ..context.node import BaseNode
from ..hosting.stand_in import llm_agents
from ..models.base_llm import BaseLlm
from ..tools.agent_tool import AgentTool
from ..workflow.nodes import DEFAULT_ROUTE, START, JoinNode, ParallelWorker, ToolNode
from ..workflow.workflow import edges_within
from .agents import ServedApp
from .apps import describe_agent
from .endpoint import Call, Endpoint
from .runs import WireRecord

logger = get_logger(__name__)

_MOST = 500  # nodes; what is beyond them is left out

Kind = Literal[
    "agent", "sequence", "loop", "parallel", "workflow", "start", "join", "worker", "tool", "node"
]
Way = Literal["next", "route", "again", "transfer", "call"]


class GraphTool(WireRecord):
    """A tool of an agent.

    Attributes:
      name, description: as the model sees them.
      parameters: JSON schema of its arguments; None if it has none.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class GraphNode(WireRecord):
    """An agent or a workflow node.

    Attributes:
      id: its path in the graph, unique.
      name: its name.
      kind: what it is; `node` is a function or a class of the developer's.
      group: id of the sequence, loop, parallel agent or workflow that it is part of.
      description: what it does.
      model: name of its model.
      is_live: whether its model can hold a live conversation.
      tools: its tools.
    """

    id: str
    name: str
    kind: Kind
    group: str | None = None
    description: str = ""
    model: str | None = None
    is_live: bool = False
    tools: list[GraphTool] = []


class GraphEdge(WireRecord):
    """A way from one node to another of the same group.

    Attributes:
      source, target: ids of the nodes.
      kind: `next` in any case; `route` for certain outputs; `again` of a loop; `transfer` to a
        sub-agent; `call` of an agent as a tool.
      label: the routes.
    """

    source: str
    target: str
    kind: Way = "next"
    label: str = ""


class AppGraph(WireRecord):
    """The agents and workflow nodes of an app.

    Attributes:
      root: id of the root.
      complete: false if the graph has more nodes than are listed.
    """

    root: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    complete: bool = True


class ModelPrice(WireRecord):
    """Prices of a model per million tokens."""

    input: float
    output: float
    cached: float | None = None


class Prices(WireRecord):
    """What models cost.

    Attributes:
      as_of: date of the list prices, YYYY-MM-DD.
      currency: currency of the list prices.
      prices: the list prices, by model.
      own: prices in the app's budget, by model; they replace the list prices if there are any.
    """

    as_of: str
    currency: str
    prices: dict[str, ModelPrice]
    own: dict[str, ModelPrice]


class _GraphBuilder:
    def __init__(self) -> None:
        self.nodes: dict[str, GraphNode] = {}
        self.edges: list[GraphEdge] = []
        self._ids: dict[tuple[int, str | None], str] = {}

    async def add(self, one: BaseNode, above: str, group: str | None) -> str:
        """Add a node with all that it is made of, and return its id."""
        if isinstance(one, NodeAgent):
            one = cast(BaseNode, one.root_node)
        known = self._ids.get((id(one), group))
        if known is not None or len(self.nodes) >= _MOST:
            return known or ""
        key = f"{above}/{one.name}" if above else one.name
        while key in self.nodes:
            key += "'"
        self._ids[id(one), group] = key
        self.nodes[key] = GraphNode(
            id=key, name=one.name, kind=_kind_of(one), group=group, description=one.description
        )
        if isinstance(one, LlmAgent):
            await self._describe(cast("LlmAgent[Any]", one), self.nodes[key])
        if isinstance(one, BaseAgent):
            await self._add_agents(cast(BaseAgent, one), key, group)
        else:
            await self._add_nodes(one, key)
        return key

    async def _describe(self, agent: LlmAgent, node: GraphNode) -> None:
        try:
            model = agent.canonical_model
            node.model = model.model
            node.is_live = type(model).connect is not BaseLlm.connect
            info = await describe_agent(agent)
        except Exception as error:  # boundary: a toolset may be out of reach
            logger.warning("The tools of agent %s cannot be listed: %s", agent.name, error)
            return
        node.tools = [
            GraphTool(
                name=one["name"],
                description=one.get("description") or "",
                parameters=one.get("parametersJsonSchema") or one.get("parameters"),
            )
            for tool in info.tools
            for one in tool.get("functionDeclarations", ())
        ]

    async def _add_agents(self, agent: BaseAgent, key: str, group: str | None) -> None:
        if isinstance(agent, SequentialAgent | LoopAgent | ParallelAgent):
            inner = [await self.add(one, key, key) for one in agent.sub_agents]
            if not isinstance(agent, ParallelAgent):
                for source, target in pairwise(inner):
                    self._connect(source, target)
            if isinstance(agent, LoopAgent) and inner:
                self._connect(inner[-1], inner[0], "again")
            return
        for one in agent.sub_agents:
            self._connect(key, await self.add(one, key, group), "transfer")
        for tool in getattr(agent, "tools", ()):
            if isinstance(tool, AgentTool):
                inside = as_agent(cast(Any, tool.agent))
                self._connect(key, await self.add(inside, key, group), "call")

    async def _add_nodes(self, one: BaseNode, key: str) -> None:
        ids: dict[int, str] = {}
        for edge in edges_within(one):
            for end in (edge.from_node, edge.to_node):
                if id(end) not in ids:
                    ids[id(end)] = await self.add(end, key, key)
            routes = None if edge.from_node is START else edge.routes
            label = ", ".join("otherwise" if r == DEFAULT_ROUTE else str(r) for r in routes or ())
            ends = ids[id(edge.from_node)], ids[id(edge.to_node)]
            self._connect(*ends, "next" if routes is None else "route", label)
        if not ids:
            for inner in one.nodes_within:
                await self.add(inner, key, key)

    def _connect(self, source: str, target: str, kind: Way = "next", label: str = "") -> None:
        if source and target:
            self.edges.append(GraphEdge(source=source, target=target, kind=kind, label=label))


def _kind_of(one: BaseNode) -> Kind:
    kinds: tuple[tuple[Any, Kind], ...] = (
        (LoopAgent, "loop"),
        (SequentialAgent, "sequence"),
        (ParallelAgent, "parallel"),
        (BaseAgent, "agent"),
        (JoinNode, "join"),
        (ToolNode, "tool"),
        (ParallelWorker, "worker"),
    )
    if one is START:
        return "start"
    if one.runs_graph:
        return "workflow"
    for cls, kind in kinds:
        if isinstance(one, cls):
            return kind
    return "node"


async def get_graph(call: Call) -> AppGraph:
    """Return the graph of an app's agents and workflow nodes."""
    app = await call.host.agents.get_app(call.path["app"])
    graph = _GraphBuilder()
    root = await graph.add(as_agent(app.runner.agent), "", None)
    nodes = list(graph.nodes.values())
    return AppGraph(root=root, nodes=nodes, edges=graph.edges, complete=len(nodes) < _MOST)


def name_models(app: ServedApp) -> dict[str, str]:
    """Return the model names of an app's agents, by agent."""
    found: dict[str, str] = {}
    for agent in llm_agents(as_agent(app.runner.agent)):
        named = agent.named_model
        found[agent.name] = named if isinstance(named, str) else getattr(named, "model", "")
    return found


async def get_prices(call: Call) -> Prices:
    """Return what an app's models cost: the list prices, and those of its budget."""
    app = await call.host.agents.get_app(call.path["app"])
    budget = app.runner.app.budget
    own = {} if budget is None else budget.prices
    return Prices(
        as_of=AS_OF,
        currency=CURRENCY,
        prices={name: ModelPrice(**price._asdict()) for name, price in LIST_PRICES.items()},
        own={name: ModelPrice(**price.model_dump()) for name, price in own.items()},
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/apps/{app}/graph",
        "Return the graph of an app's agents and workflow nodes",
        get_graph,
        answer=AppGraph,
    ),
    Endpoint(
        "GET",
        "/apps/{app}/prices",
        "Tell what an app's models cost",
        get_prices,
        answer=Prices,
    ),
)
