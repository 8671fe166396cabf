"""Which agent goes on, and what else the runner asks of the agent tree, asked directly."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, SequentialAgent
from ostinato.errors import AgentConfigError
from ostinato.events import Event, EventActions
from ostinato.execution.routing.agent_choice import (
    agents_below,
    find_agent_to_run,
    is_transferable_across_agent_tree,
    summarizing_model,
    toolsets_of,
)
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.testing import ScriptedModel
from ostinato.tools.base_toolset import BaseToolset


def log_of(*events: Event) -> EventLog:
    return EventLog(EventRecord.of(event) for event in events)


def says(author: str, **fields: Any) -> Event:
    content = types.Content(role="model", parts=[types.Part(text="Hi")])
    return Event(author=author, content=content, **fields)


def asks(author: str, call_id: str) -> Event:
    part = types.Part(function_call=types.FunctionCall(id=call_id, name="ask"))
    return Event(author=author, content=types.Content(role="model", parts=[part]))


def answers(*ids: str | None) -> Event:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=i, name="ask", response={}))
        for i in ids
    ]
    return Event(author="user", content=types.Content(role="user", parts=parts))


def llm(name: str, *below: BaseAgent, **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(), sub_agents=list(below), **options)


def chosen(root: BaseAgent, *events: Event) -> str:
    return find_agent_to_run(log_of(*events), root).name


@pytest.mark.spec(17)
def test_the_root_goes_on_where_nobody_spoke() -> None:
    root = llm("root", llm("child"))
    assert chosen(root) == "root"
    assert chosen(root, says("user")) == "root"


@pytest.mark.spec(14)
def test_an_answer_goes_to_the_agent_of_its_call_even_if_that_may_not_hand_back() -> None:
    root = llm("root", llm("child", disallow_transfer_to_parent=True), llm("other"))
    asked = asks("child", "a")
    assert chosen(root, asked, says("other"), answers("a")) == "child"
    assert chosen(root, asked, says("other"), answers("b")) == "other"
    assert chosen(root, asked, asks("other", "b"), answers("a", "b")) == "child"
    assert chosen(root, asked, says("other"), answers(None)) == "other"
    assert chosen(root, asks("gone", "a"), says("other"), answers("a")) == "other"
    assert chosen(root, asks("root", "a"), says("other"), answers("a")) == "root"
    assert chosen(root, asks("other", "a"), answers("a"), says("user")) == "other"


@pytest.mark.spec(15)
def test_the_newest_speaker_goes_on_and_checkpoints_do_not_count() -> None:
    root = llm("root", llm("child"), llm("other"))
    state = EventActions(agent_state={"at": 1})
    ended = EventActions(end_of_agent=True)
    assert chosen(root, says("child"), says("other"), says("user")) == "other"
    assert chosen(root, says("child"), says("other", actions=state)) == "child"
    assert chosen(root, says("child"), says("other", actions=ended)) == "child"
    assert chosen(root, says("child"), says("root")) == "root"


@pytest.mark.spec(16)
def test_an_unknown_author_is_passed_over_with_a_warning(caplog: Any) -> None:
    root = llm("root", llm("child"))
    unknown = says("stranger")
    with caplog.at_level(logging.WARNING):
        assert chosen(root, says("child"), unknown) == "child"
    assert [r.getMessage() for r in caplog.records] == [
        f"Event {unknown.id} is by 'stranger', which is not in the agent tree of 'root'."
    ]


@pytest.mark.spec(16)
def test_an_agent_goes_on_only_if_control_can_pass_up_from_it_to_the_root() -> None:
    grandchild = llm("grandchild")
    closed = llm("closed", grandchild, disallow_transfer_to_parent=True)
    root = llm("root", llm("open"), closed)
    assert chosen(root, says("open"), says("closed")) == "open"
    assert chosen(root, says("grandchild")) == "root"
    assert is_transferable_across_agent_tree(root)
    assert not is_transferable_across_agent_tree(grandchild)
    step = llm("step")
    pipeline = SequentialAgent(name="pipeline", sub_agents=[step])
    assert not is_transferable_across_agent_tree(step)
    assert chosen(pipeline, says("step")) == "pipeline"


class Shelf(BaseToolset):
    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        return []


@pytest.mark.spec(130)
def test_the_toolsets_of_a_tree_are_found_each_once() -> None:
    def plain() -> None:
        """Not a toolset."""

    one, two = Shelf(), Shelf()
    root = SequentialAgent(
        name="root", sub_agents=[llm("a", tools=[one, plain]), llm("b", tools=[two, one])]
    )
    assert toolsets_of(root) == [one, two]
    assert [agent.name for agent in agents_below(root)] == ["root", "a", "b"]


@pytest.mark.spec(25)
def test_a_tree_summarises_with_the_model_of_its_first_llm_agent() -> None:
    first = llm("a")
    root = SequentialAgent(name="root", sub_agents=[first, llm("b")])
    assert summarizing_model(root) is first.canonical_model
    bare = SequentialAgent(name="bare", sub_agents=[])
    with pytest.raises(AgentConfigError) as caught:
        summarizing_model(bare)
    assert str(caught.value) == (
        "Compaction needs a model, and the tree below 'bare' has no LlmAgent. "
        "Give EventsCompactionConfig a summarizer."
    )


@pytest.mark.spec(15)
def test_a_user_s_message_is_passed_over_without_a_warning(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        assert chosen(llm("root", llm("child")), says("child"), says("user")) == "child"
    assert caplog.records == []
