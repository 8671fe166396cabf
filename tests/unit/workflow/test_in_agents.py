"""Graphs below agents that call a model: the conversation goes over to them, and comes back."""

from __future__ import annotations

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.testing import ScriptedModel, call
from ostinato.workflow import START, Workflow
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import gives, lines, shows


async def test_a_model_hands_over_to_a_graph_and_answers_the_next_message(store: Store) -> None:
    flow = Workflow(name="flow", edges=[(START, gives("a"), shows("b"))])
    model = ScriptedModel([call("transfer_to_agent", agent_name="flow"), "It is done."])
    desk = LlmAgent(name="desk", model=model, sub_agents=[flow])  # type: ignore[list-item]
    talk = Talk(App(name="talk", root_agent=desk), store)
    events = await talk.say()
    assert lines(events)[-2:] == ['flow@1/a@1 = "a"', "flow@1/b@1 = \"b got 'a'\""]
    assert lines(await talk.say()) == ["desk@1 says 'It is done.'"]
    assert "Agent name: flow" in str(model.requests[0].config.system_instruction)
