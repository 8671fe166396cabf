"""Agents that are nodes of a graph: one without a mode answers its input alone, as a single-turn
agent does, and reads the conversation if its `include_contents` is given as `default`."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import Event, types
from ostinato.agents import LlmAgent, SequentialAgent
from ostinato.apps import App
from ostinato.testing import ScriptedModel, call
from ostinato.workflow import START, Workflow
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import gives


def texts(content: types.Content) -> str:
    words = [
        part.text or str(part.function_response or part.function_call)
        for part in content.parts or ()
    ]
    return f"{content.role}: {' / '.join(words)}"


def told(model: ScriptedModel, number: int = -1) -> list[str]:
    return [texts(content) for content in model.requests[number].contents]


def system(model: ScriptedModel) -> str:
    return str(model.requests[-1].config.system_instruction or "")


def agent(model: ScriptedModel, **fields: Any) -> LlmAgent:
    return LlmAgent(name="writer", description="It writes.", model=model, **fields)


def talk_to(one: Any, store: Store) -> Talk:
    flow = Workflow(name="flow", edges=[(START, gives("brief", "Write."), one)])
    return Talk(App(name="talk", root_agent=flow), store)


@pytest.mark.parametrize("mode", [None, "single_turn"])
async def test_the_model_is_not_told_which_agent_it_is(store: Store, mode: Any) -> None:
    model = ScriptedModel(["Done."])
    await talk_to(agent(model, mode=mode, instruction="Be brief."), store).say()
    assert system(model) == "Be brief."


@pytest.mark.parametrize("mode", [None, "single_turn"])
async def test_the_model_is_not_asked_to_transfer(store: Store, mode: Any) -> None:
    model = ScriptedModel(["Done."])
    helper = LlmAgent(name="helper", model=ScriptedModel([]))
    await talk_to(agent(model, mode=mode, sub_agents=[helper]), store).say()
    assert "transfer" not in system(model)
    tools: Any = model.requests[-1].config.tools
    assert [one.name for one in tools[0].function_declarations] == ["transfer_to_agent"]


async def test_an_agent_with_a_parent_is_told_both(store: Store) -> None:
    model = ScriptedModel(["Done."])
    one = agent(model)
    LlmAgent(name="boss", model=ScriptedModel([]), sub_agents=[one])
    await talk_to(one, store).say()
    assert 'Your internal name is "writer"' in system(model)
    assert "transfer to your\nparent agent boss" in system(model)


async def test_an_agent_within_a_node_is_told_which_it_is(store: Store) -> None:
    model = ScriptedModel(["Done."])
    await talk_to(SequentialAgent(name="steps", sub_agents=[agent(model)]), store).say()
    assert 'Your internal name is "writer"' in system(model)


async def test_an_agent_that_asks_for_the_history_reads_it_before_its_input(store: Store) -> None:
    def note(node_input: Any) -> Event:
        return Event(content=types.ModelContent("Noted."), output="Write.")

    model = ScriptedModel([call("look"), "One.", call("look"), "Two."])

    def look() -> str:
        return "seen"

    one = agent(model, include_contents="default", tools=[look])
    flow = Workflow(name="flow", edges=[(START, note, one)])
    talk = Talk(App(name="talk", root_agent=flow), store)
    await talk.say("first")
    before = ["user: first", "user: For context: / [flow] said: Noted."]
    assert told(model, 0) == [*before, "user: Write."]
    assert told(model, 1)[:3] == [*before, "user: Write."]
    assert len(told(model, 1)) == 5
    await talk.say("second")
    seen = told(model, 3)
    assert seen[:2] == before
    assert seen[4:8] == [
        "model: One.",
        "user: second",
        "user: For context: / [flow] said: Noted.",
        "user: Write.",
    ]
    assert len(seen) == 10


async def test_an_agent_that_does_not_ask_reads_its_input_alone(store: Store) -> None:
    model = ScriptedModel(["One.", "Two."])
    talk = talk_to(agent(model), store)
    await talk.say("first")
    await talk.say("second")
    assert told(model) == ["user: Write."]
