"""An agent with a model as a node of a graph: told the input, it gives its last text as output."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.testing import Conversation, ScriptedModel, call, final_text
from ostinato.tools import FunctionTool
from ostinato.workflow import START, Workflow
from tests.support.optionals import present
from tests.unit.flows.kit import answer_to


def agent(name: str, *replies: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(list(replies)), **fields)


def outputs(events: list[Any]) -> list[Any]:
    return [event.output for event in events if event.output is not None]


@pytest.mark.spec(217)
async def test_an_agent_that_asks_for_leave_goes_on_with_its_node() -> None:
    def pay(amount: int) -> str:
        return "paid"

    def after(node_input: Any) -> str:
        return f"got {node_input}"

    tools = [FunctionTool(pay, require_confirmation=True)]
    clerk = agent("clerk", call("pay", amount=3), "It is paid.", tools=tools)
    talk = Conversation(Workflow(name="flow", edges=[(START, clerk, after)]))
    events = await talk.say("Go")
    asked = next(c for e in events for c in e.get_function_calls() if present(c.name)[:4] == "adk_")
    assert outputs(events) == []
    events = await talk.say(answer_to(asked, {"confirmed": True}))
    assert outputs(events) == ["got It is paid."]


@pytest.mark.spec(217)
async def test_an_agent_in_a_loop_sees_its_own_run_only() -> None:
    writer = agent("writer", "One.", "Two.")
    rounds: list[str] = []

    def check(node_input: str, ctx: Any) -> str:
        rounds.append(node_input)
        ctx.route = "again" if len(rounds) < 2 else "done"
        return f"again: {node_input}"

    def done(node_input: str) -> str:
        return node_input

    edges = [(START, writer, check), (check, {"again": writer, "done": done})]
    await Conversation(Workflow(name="flow", edges=edges)).say("Go")
    assert rounds == ["One.", "Two."]
    assert isinstance(writer.model, ScriptedModel)
    assert [request.texts for request in writer.model.requests] == [["Go"], ["again: One."]]


@pytest.mark.spec(71, 217)
async def test_an_agent_in_a_graph_calls_agents_that_run_once() -> None:
    form = agent("form", "Formed.", mode="single_turn")
    root = agent("root", call("form", request="it"), "Over.", sub_agents=[form])
    events = await Conversation(Workflow(name="flow", edges=[(START, root)])).say("Go")
    assert final_text(events) == "Over."
