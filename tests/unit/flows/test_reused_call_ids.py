"""Models that number the calls of each answer anew: no call is taken for an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ostinato import Agent, App, types
from ostinato.agents import BaseAgent, ParallelAgent, SequentialAgent
from ostinato.events import Event
from ostinato.flows.llm_flows.history.projection import Projection
from ostinato.flows.llm_flows.history.visibility import View
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.testing import Conversation, FunctionModel, ScriptedModel
from ostinato.tools import ToolContext
from ostinato.tools.policy import Limit, Policy, Rule


class Till:
    """A tool that counts its payments."""

    def __init__(self) -> None:
        self.paid: list[float] = []
        self.keys: list[str] = []

    def pay(self, amount: float, tool_context: ToolContext) -> str:
        """Pay."""
        self.paid.append(amount)
        self.keys.append(tool_context.idempotency_key)
        return f"paid {amount}"


@pytest.fixture
def till() -> Till:
    return Till()


def paying(amount: float, id: str = "call_0") -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=id, name="pay", args={"amount": amount}))


def make_payer(name: str, amount: float, till: Till) -> Agent:
    """An agent that pays until it reads that its payment is done."""

    def answer(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return f"{name} is done" if last.function_response else paying(amount)

    return Agent(name=name, description=name, model=FunctionModel(answer), tools=[till.pay])


def ids_of(events: Sequence[Event]) -> list[str | None]:
    return [one.id for event in events for one in event.get_function_calls()]


async def test_agent_reads_the_result_of_its_own_call(till: Till):
    agents: list[BaseAgent] = [make_payer("a", 1, till), make_payer("b", 2, till)]
    events = await Conversation(SequentialAgent(name="line", sub_agents=agents)).say("go")
    assert till.paid == [1, 2]
    assert len(set(ids_of(events))) == 2


async def test_transfer_does_not_hide_the_call_after_it(till: Till):
    transfer = types.FunctionCall(id="call_0", name="transfer_to_agent", args={"agent_name": "b"})
    root = Agent(
        name="root",
        model=ScriptedModel([types.Part(function_call=transfer)]),
        sub_agents=[make_payer("b", 2, till)],
    )
    await Conversation(root).say("go")
    assert till.paid == [2]


async def test_next_message_may_use_an_id_again(till: Till):
    talk = Conversation(make_payer("a", 1, till))
    first, second = await talk.say("go"), await talk.say("go")
    assert till.paid == [1, 1]
    assert ids_of(first) == ["call_0"]
    assert ids_of(second) not in ([], ["call_0"])


@pytest.mark.parametrize("kind", [SequentialAgent, ParallelAgent])
async def test_each_call_has_a_key_of_its_own(kind: Any, till: Till):
    agents = [make_payer(name, 1, till) for name in "abc"]
    await Conversation(kind(name="all", sub_agents=agents)).say("go")
    assert len(set(till.keys)) == 3


@pytest.mark.parametrize("kind", [SequentialAgent, ParallelAgent])
async def test_limit_counts_each_call(kind: Any, till: Till):
    rule = Rule(id="one", tool="pay", verdict="allow", limit=Limit(count=1, per="day", by="app"))
    agents = [make_payer(name, 1, till) for name in "abc"]
    app = App(name="x", root_agent=kind(name="all", sub_agents=agents), policy=Policy(rules=[rule]))
    await Conversation(app).say("go")
    assert till.paid == [1]


async def test_limit_counts_the_calls_of_later_steps(till: Till):
    limit = Limit(sum="/amount", max=10, per="day", by="app")
    rule = Rule(id="ten", tool="pay", verdict="allow", limit=limit)
    steps = [paying(1), paying(2), paying(3000), "done"]
    agent = Agent(name="a", model=ScriptedModel(steps), tools=[till.pay])
    await Conversation(App(name="x", root_agent=agent, policy=Policy(rules=[rule]))).say("go")
    assert till.paid == [1, 2]


async def test_model_gets_one_response_for_each_call(till: Till):
    model = ScriptedModel([paying(1), paying(2), "done"])
    await Conversation(Agent(name="a", model=model, tools=[till.pay])).say("go")
    parts = [part for content in model.requests[-1].contents for part in content.parts or ()]
    called = [part.function_call.id for part in parts if part.function_call]
    answered = [part.function_response.id for part in parts if part.function_response]
    assert called == answered
    assert len(set(called)) == 2


def make_exchange(author: str, amount: float) -> list[EventRecord]:
    """A call of an agent and its response, as events of an imported history."""
    response = types.FunctionResponse(id="call_0", name="pay", response={"paid": amount})
    parts = [paying(amount), types.Part(function_response=response)]
    roles = ["model", "user"]
    return [
        EventRecord.of(
            Event(
                author=author,
                invocation_id="i",
                content=types.Content(role=role, parts=[part]),
            )
        )
        for role, part in zip(roles, parts, strict=True)
    ]


def test_imported_history_shows_an_agent_its_own_response():
    log = EventLog([*make_exchange("a", 1), *make_exchange("b", 2)])
    contents = Projection(View("b")).update(log)
    found = [part.function_response for part in contents[-1].parts or ()]
    assert [one.response for one in found if one] == [{"paid": 2}]
