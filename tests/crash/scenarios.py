"""The programs that are killed: agent trees with scripted models, and what their users say.

What a model answers depends on its request alone, so that any process can go on with a talk. Each
effect is done by one call of one invocation, named by the call's argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.events import Event
from ostinato.events.event_actions import EventActions
from ostinato.events.request_input import RequestInput
from ostinato.models.llm_request import LlmRequest
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from ostinato.tools.agent_tool import AgentTool
from ostinato.workflow import START, FunctionNode, JoinNode, Workflow, node
from tests.crash.world import World
from tests.unit.flows.kit import check_paired

CONFIRM = "adk_request_confirmation"
ASKED = "do: "  # what a user's own words begin with


@dataclass(frozen=True)
class Say:
    """The user says something; several things at once where there are several texts."""

    texts: Sequence[str]
    delta: dict[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """The user answers a call of a tool by name."""

    tool: str
    response: dict[str, Any]


@dataclass(frozen=True)
class Leave:
    """A process with other agents leaves an invocation open, with which nobody goes on."""


Step = Say | Answer | Leave
Tree = Callable[["Tools"], Any]


@dataclass(frozen=True)
class Scenario:
    """A program.

    Attributes:
      name: its name.
      tree: makes its agents.
      steps: what its user does.
      resumable: whether its app is.
      lease_seconds: length of its leases.
      shared: whether it is about what only stores have that processes share.
    """

    name: str
    tree: Tree
    steps: Sequence[Step] = field(default_factory=lambda: [Say(["do: it"])])
    resumable: bool = False
    lease_seconds: float = 10.0
    shared: bool = False


class Tools:
    """Tools and models of a scenario in one process."""

    def __init__(self, world: World) -> None:
        self._world = world

    def agent(self, name: str, turns: Any, tools: Sequence[Any] = (), **options: Any) -> LlmAgent:
        """Return an agent whose model answers with `turns`, one after another in a talk."""

        async def answer(request: LlmRequest) -> Any:
            self._world.point(f"before model {name}")
            contents = request.contents
            try:
                check_paired(contents)
            except AssertionError as error:
                self._world.faults.add(f"calls and responses do not pair: {error}")
            said = _said(contents)
            if said < 0:  # the turn after the scenario
                turn: Any = "All right."
            elif callable(turns):
                turn = turns(contents)
            elif said < len(turns):
                turn = turns[said]
            else:
                self._world.faults.add(f"model {name} was asked {said + 1} times: {contents}")
                turn = "?"
            self._world.point(f"after model {name}")
            return turn

        model = FunctionModel(answer)
        return LlmAgent(name=name, description=name, model=model, tools=list(tools), **options)

    async def keyed(self, what: str, tool_context: ToolContext) -> dict[str, Any]:
        """Do something once."""
        self._world.pay(what, tool_context.idempotency_key)
        return {"done": what}

    async def outlast(self, what: str, tool_context: ToolContext) -> dict[str, Any]:
        """Do something that takes longer than a lease goes without being renewed."""
        self._world.pay(what, tool_context.idempotency_key)
        await self._world.point.passed("after renew")
        return {"done": what}

    async def unkeyed(self, what: str) -> dict[str, Any]:
        """Do something each time."""
        self._world.pay(what, None)
        return {"done": what}

    async def count(self, what: str, tool_context: ToolContext) -> dict[str, Any]:
        """Count in all scopes of the state."""
        self._world.pay(what, tool_context.idempotency_key)
        for key in ("count", "user:count", "app:count"):
            tool_context.state[key] = tool_context.state.get(key, 0) + 1
        tool_context.state["temp:count"] = "never stored"
        return {"count": tool_context.state["count"]}

    async def save(self, what: str, tool_context: ToolContext) -> dict[str, Any]:
        """Save a file."""
        self._world.pay(what, tool_context.idempotency_key)
        await tool_context.save_artifact(f"{what}.txt", types.Part(text=what))
        self._world.point("after save_artifact")
        return {"saved": what}

    async def leave(self, tool_context: ToolContext) -> dict[str, Any]:
        """Leave the loop."""
        tool_context.actions.escalate = True
        return {}

    async def order(self, what: str, tool_context: ToolContext) -> dict[str, Any]:
        """Order something that takes long."""
        self._world.pay(what, tool_context.idempotency_key)
        return {"status": "pending"}

    def node(self, what: str, output: Any = None) -> FunctionNode:
        """Return a node that does something once."""

        def work(ctx: Any, node_input: Any) -> Any:
            self._world.pay(f"{what} of {ctx.node_path}", ctx.idempotency_key)
            return what if output is None else output

        return FunctionNode(func=work, name=f"node_{what}")

    def silent(self, name: str) -> FunctionNode:
        """Return a node that says nothing."""

        def work(ctx: Any, node_input: Any) -> None:
            self._world.point(f"in node {name}")

        return FunctionNode(func=work, name=name)

    @property
    def confirmed(self) -> FunctionTool:
        return FunctionTool(self.keyed, require_confirmation=True)

    @property
    def long(self) -> LongRunningFunctionTool:
        return LongRunningFunctionTool(self.order)


def _said(contents: Sequence[types.Content]) -> int:
    """Return how often this agent's model has spoken since the user's last words; -1 after the
    scenario.
    """
    count = 0
    for content in reversed(contents):
        if content.role == "model":
            count += 1
        for part in content.parts or ():
            if part.text and part.text.startswith(ASKED):
                return count
            if part.text == "And now?":
                return -1
    return count


def responses(contents: Sequence[types.Content]) -> list[dict[str, Any]]:
    found = (p.function_response for c in contents for p in c.parts or ())
    return [response.response or {} for response in found if response is not None]


def _single(tools: Tools) -> BaseAgent:
    return tools.agent("root", [call("keyed", what="a"), "Done."], [tools.keyed])


def _unkeyed(tools: Tools) -> BaseAgent:
    turns = [call("unkeyed", what="a"), call("unkeyed", what="b"), "Done."]
    return tools.agent("root", turns, [tools.unkeyed])


def _parallel_tools(tools: Tools) -> BaseAgent:
    calls = [call("keyed", what="a"), call("unkeyed", what="b"), call("count", what="c")]
    return tools.agent("root", [calls, "Done."], [tools.keyed, tools.unkeyed, tools.count])


def _transfer(tools: Tools) -> BaseAgent:
    helper = tools.agent("helper", [call("keyed", what="b"), "Helped."], [tools.keyed])
    turns = [call("keyed", what="a"), call("transfer_to_agent", agent_name="helper")]
    return tools.agent("root", turns, [tools.keyed], sub_agents=[helper])


def _sequential(tools: Tools) -> BaseAgent:
    one = tools.agent("one", [call("keyed", what="a"), "First."], [tools.keyed], output_key="one")
    two = tools.agent("two", [call("unkeyed", what="b"), "Second."], [tools.unkeyed])
    three = tools.agent("three", ["Third."])
    return SequentialAgent(name="root", sub_agents=[one, two, three])


def _loop(tools: Tools) -> BaseAgent:
    turns = [
        *(call("count", what="a"), "Once."),
        *(call("count", what="b"), "Twice."),
        *(call("leave"), "Never said."),
    ]
    again = tools.agent("again", turns, [tools.count, tools.leave])
    last = tools.agent("last", ["So far.", "So far, too."])
    return LoopAgent(name="root", sub_agents=[again, last], max_iterations=5)


def _parallel_agents(tools: Tools) -> BaseAgent:
    one = tools.agent("one", [call("keyed", what="a"), "One."], [tools.keyed])
    two = tools.agent("two", [call("unkeyed", what="b"), "Two."], [tools.unkeyed])
    three = tools.agent("three", ["Three."], output_key="three")
    both = ParallelAgent(name="both", sub_agents=[one, two, three])
    return SequentialAgent(name="root", sub_agents=[both, tools.agent("last", ["Last."])])


def _agent_tool(tools: Tools) -> BaseAgent:
    inner_turns = [call("keyed", what="a"), call("count", what="b"), "Found."]
    inner = tools.agent("inner", inner_turns, [tools.keyed, tools.count])
    return tools.agent("root", [call("inner", request="do: find"), "Done."], [AgentTool(inner)])


def _confirmation(tools: Tools) -> BaseAgent:
    return tools.agent("root", [call("keyed", what="a"), "Done."], [tools.confirmed])


def _nested_confirmation(tools: Tools) -> BaseAgent:
    calls = [call("keyed", what="a"), call("unkeyed", what="b")]
    one = tools.agent("one", [calls, "One."], [tools.confirmed, tools.unkeyed])
    root = SequentialAgent(name="root", sub_agents=[one, tools.agent("two", ["Two."])])
    return root


def _long_running(tools: Tools) -> BaseAgent:
    def turns(contents: Sequence[types.Content]) -> Any:
        given = responses(contents)
        if not given:
            return [call("order", what="a"), call("unkeyed", what="b")]
        return "It is here." if any("box" in each for each in given) else "It is coming."

    return tools.agent("root", turns, [tools.long, tools.unkeyed])


def _state(tools: Tools) -> BaseAgent:
    def begin(callback_context: Any) -> None:
        callback_context.state["begun"] = callback_context.state.get("begun", 0) + 1

    turns = [call("count", what="a"), call("count", what="b"), "Counted."]
    return tools.agent("root", turns, [tools.count], output_key="said", before_agent_callback=begin)


def _artifacts(tools: Tools) -> BaseAgent:
    turns = [call("save", what="a"), [call("save", what="b"), call("save", what="c")], "Saved."]
    return tools.agent("root", turns, [tools.save])


def _hooks(tools: Tools) -> BaseAgent:
    async def before(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        tool_context.state["before"] = tool_context.state.get("before", 0) + 1

    async def after(tool: Any, args: dict[str, Any], tool_context: Any, tool_response: Any) -> Any:
        tool_context.state["after"] = tool_context.state.get("after", 0) + 1
        return {**tool_response, "after": True}

    return tools.agent(
        "root",
        [call("keyed", what="a"), call("unkeyed", what="b"), "Done."],
        [tools.keyed, tools.unkeyed],
        before_tool_callback=before,
        after_tool_callback=after,
    )


def _renewed(tools: Tools) -> BaseAgent:
    turns = [call("outlast", what="a"), call("keyed", what="b"), "Done."]
    return tools.agent("root", turns, [tools.outlast, tools.keyed])


def _queued(tools: Tools) -> BaseAgent:
    def turns(contents: Sequence[types.Content]) -> Any:
        texts = [p.text for c in contents for p in c.parts or () if p.text]
        word = [text for text in texts if text.startswith(ASKED)][-1].removeprefix(ASKED)
        return f"{word} is done." if _said(contents) else call("keyed", what=word)

    return tools.agent("root", turns, [tools.keyed])


def _task(tools: Tools) -> BaseAgent:
    def desk_turns(contents: Sequence[types.Content]) -> Any:
        turns = [
            *(call("keyed", what="a"), "Which?"),
            *(call("unkeyed", what="b"), call("finish_task", result="Found.")),
        ]
        return turns[sum(content.role == "model" for content in contents)]

    desk = tools.agent("desk", desk_turns, [tools.keyed, tools.unkeyed], mode="task")
    turns = [call("desk", request="do: find"), "Done."]
    return tools.agent("root", turns, sub_agents=[desk], output_key="said")


def _single_turns(tools: Tools) -> BaseAgent:
    one = tools.agent("one", [call("keyed", what="a"), "One."], [tools.keyed], mode="single_turn")
    two = tools.agent("two", [call("unkeyed", what="b"), "2."], [tools.unkeyed], mode="single_turn")
    calls = [call("one", request="do: 1"), call("count", what="c"), call("two", request="do: 2")]
    return tools.agent("root", [calls, "Done."], [tools.count], sub_agents=[one, two])


def _begin(node_input: str) -> Event:
    """Route the turn after the scenario past everything."""
    route = "do" if node_input.startswith(ASKED) else "now"
    return Event(output=node_input, actions=EventActions(route=route))


def _graph_fan(tools: Tools) -> Workflow:
    wings = tuple(tools.node(name) for name in "abc")
    chain = (wings[0], tools.node("d"))
    join = JoinNode(name="join")
    return Workflow(
        name="root",
        edges=[
            (START, _begin),
            (_begin, {"do": wings, "now": tools.silent("nothing")}),
            chain,
            (chain[-1], join),
            (wings[1:], join, tools.silent("hush"), tools.node("e")),
        ],
    )


def _graph_people(tools: Tools) -> Workflow:
    async def ask(node_input: Any) -> Any:
        yield RequestInput(interrupt_id="sure", message="Sure?")

    inner = Workflow(name="inner", edges=[(START, tools.node("a"), ask, tools.node("b"))])
    workers = node(tools.node("w"), parallel_worker=True)
    listed = tools.node("list", [1, 2])
    return Workflow(
        name="root",
        edges=[
            (START, _begin),
            (_begin, {"do": (inner, listed), "now": tools.silent("nothing")}),
            (listed, workers),
            ((inner, workers), JoinNode(name="join"), tools.node("c")),
        ],
    )


def _graph_agents(tools: Tools) -> SequentialAgent:
    one = tools.agent("one", [call("keyed", what="a"), "One."], [tools.keyed])
    two = tools.agent("two", [call("unkeyed", what="b"), "Two."], [tools.unkeyed])
    # Alike, so that their calls come in one order, by which the checks name them.
    lines = tuple(
        SequentialAgent(name=f"line_{each.name}", sub_agents=[each]) for each in (one, two)
    )
    flow: Any = Workflow(
        name="flow",
        edges=[(START, lines, JoinNode(name="join"), tools.silent("hush"))],
    )
    return SequentialAgent(name="root", sub_agents=[flow, tools.agent("last", ["Last."])])


def _graph_tasks(tools: Tools) -> Workflow:
    def turns(contents: Sequence[types.Content]) -> Any:
        said = sum(content.role == "model" for content in contents)
        return [call("keyed", what="a"), "Which?", call("finish_task", result="Found.")][said]

    desk = tools.agent("desk", turns, [tools.keyed], mode="task")
    giver = tools.agent("giver", [call("desk", request="do: find"), "Done."], sub_agents=[desk])
    before = tools.node("b", "do: it")
    return Workflow(
        name="root",
        edges=[
            (START, _begin),
            (_begin, {"do": before, "now": tools.silent("nothing")}),
            (before, giver, tools.node("c")),
        ],
    )


_IT = Say(["do: it"])
_YES = Answer(CONFIRM, {"confirmed": True})
_PROGRAMS: list[tuple[str, Tree, list[Step]]] = [
    ("single", _single, [Say(["do: it"], {"asked": 1, "user:asked": 2})]),
    ("unkeyed", _unkeyed, [_IT]),
    ("parallel-tools", _parallel_tools, [_IT]),
    ("transfer", _transfer, [_IT]),
    ("sequential", _sequential, [_IT]),
    ("loop", _loop, [_IT]),
    ("parallel-agents", _parallel_agents, [_IT]),
    ("agent-tool", _agent_tool, [_IT]),
    ("task", _task, [_IT, Say(["do: this"])]),
    ("single-turns", _single_turns, [_IT]),
    ("confirmation", _confirmation, [_IT, _YES]),
    ("nested-confirmation", _nested_confirmation, [_IT, _YES]),
    ("long-running", _long_running, [_IT, Answer("order", {"box": 1})]),
    ("state", _state, [_IT]),
    ("artifacts", _artifacts, [_IT]),
    ("hooks", _hooks, [_IT]),
    ("queued", _queued, [Say(["do: first", "do: second"])]),
    ("parked", _single, [Leave(), _IT]),
    ("renewed", _renewed, [_IT]),
    ("graph-fan", _graph_fan, [_IT]),
    ("graph-people", _graph_people, [_IT, Answer("adk_request_input", {"result": "yes"})]),
    ("graph-agents", _graph_agents, [_IT]),
    ("graph-tasks", _graph_tasks, [_IT, Say(["do: this"])]),
]
_SHARED = {"parked": 10.0, "renewed": 0.3}

SCENARIOS = {
    name + suffix: Scenario(
        name + suffix, tree, steps, resumable, _SHARED.get(name, 10.0), name in _SHARED
    )
    for name, tree, steps in _PROGRAMS
    for suffix, resumable in (("", False), ("+resumable", True))
}
