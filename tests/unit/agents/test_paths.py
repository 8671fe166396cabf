"""Paths of agents outside of graphs: what `node_info.path` says, while a run goes and stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato.agents import LlmAgent, ParallelAgent, SequentialAgent
from ostinato.apps import ResumabilityConfig
from ostinato.events import Event, NodeInfo
from ostinato.events.event import AgentPlace, path_in_graph, place_in_tree
from ostinato.events.pending import IMPORTED, pending_calls
from ostinato.sessions.adk_format.adk_events import event_data, record_of
from ostinato.sessions.log.event_log import EventRecord
from ostinato.sessions.log.history import mark_imported
from ostinato.testing import ScriptedModel, call
from ostinato.tools import LongRunningFunctionTool
from ostinato.workflow import Workflow
from tests.unit.flows.kit import Store, Talk

BACK = "root"


def agent(name: str, *replies: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(list(replies)), **fields)


def to(name: str) -> Any:
    return call("transfer_to_agent", agent_name=name)


def paths(events: list[Event]) -> list[str]:
    """The paths in their order, each once in a row."""
    found = [event.node_info.path for event in events]
    return [path for i, path in enumerate(found) if i == 0 or found[i - 1] != path]


async def test_a_run_s_path_is_that_of_its_transfers_and_goes_on_in_the_next_turn(
    store: Store,
) -> None:
    leaf = agent("leaf", "Hello.", to("middle"))
    middle = agent("middle", to("leaf"), to(BACK), sub_agents=[leaf])
    talk = Talk(agent("root", to("middle"), "Done.", sub_agents=[middle]), store)
    deep = "root@1/middle@1/leaf@1"
    assert paths(await talk.say()) == ["root@1", "root@1/middle@1", deep]
    assert paths(await talk.say()) == [deep, "root@1/middle@1", "root@1"]
    log = await talk.stored()
    assert paths(log) == [
        "", "root@1", "root@1/middle@1", deep, "", deep, "root@1/middle@1", "root@1",
    ]  # fmt: skip
    assert [event.node_info for event in log] == [
        NodeInfo(path=event.node_info.path) for event in log
    ]


async def test_runs_of_one_invocation_are_numbered_below_the_run_they_came_from(
    memory: Store,
) -> None:
    child = agent("child", to(BACK), to("peer"))
    peer = agent("peer", to("child"), "Done.")
    child.model.add(to("peer"))  # type: ignore[union-attr]
    talk = Talk(agent("root", to("child"), to("child"), sub_agents=[child, peer]), memory)
    assert paths(await talk.say()) == [
        "root@1", "root@1/child@1", "root@2", "root@2/child@1", "root@2/peer@1", "root@2/child@2",
        "root@2/peer@2",
    ]  # fmt: skip


async def test_a_shell_is_one_run_and_a_shell_as_root_has_no_path(memory: Store) -> None:
    sub = agent("sub", "Sub.")
    line = SequentialAgent(
        name="line", sub_agents=[agent("one", to("sub"), sub_agents=[sub]), agent("two", "Two.")]
    )
    assert paths(await Talk(line, memory).say()) == [""]
    both = ParallelAgent(name="both", sub_agents=[agent("left", "L."), agent("right", "R.")])
    other = Store(None)
    events = await Talk(agent("root", to("both"), sub_agents=[both]), other).say()
    assert paths(events) == ["root@1", "root@1/both@1"]
    assert sorted(event.branch or "" for event in events[2:]) == ["both.left", "both.right"]


async def test_agents_that_are_called_have_the_path_of_their_place_or_of_the_call(
    store: Store,
) -> None:
    poet = agent("poet", "A verse.", mode="single_turn")
    find = agent("find", "Which?", call("finish_task", result="This."), mode="task")
    root = agent(
        "root", call("poet", request="x"), call("find", request="y"), "Done.",
        sub_agents=[poet, find],
    )  # fmt: skip
    talk = Talk(root, store)
    events = await talk.say()
    verse = next(event for event in events if event.author == "poet")
    assert verse.node_info == NodeInfo(
        path="root@1/poet@1", output_for=["root@1/poet@1"], message_as_output=True
    )
    task = events[-1].node_info.path
    assert task == f"root@1/find@{events[-1].isolation_scope}"
    events = await talk.say("The second")
    assert paths(events) == [task, "root@1"]
    assert events[1].node_info.output_for == [task]
    log = await talk.stored()
    assert [e.node_info for e in log if e.author == "poet"] == [verse.node_info]
    assert {e.node_info.path for e in log if e.author == "find"} == {task}


@pytest.mark.parametrize("resumable", [False, True])
async def test_an_answer_goes_on_with_the_run_that_asked(store: Store, resumable: bool) -> None:
    def order() -> None:
        return None

    child = agent("child", to(BACK))
    root = agent(
        "root", to("child"), call("order"), "Done.",
        tools=[LongRunningFunctionTool(order)], sub_agents=[child],
    )  # fmt: skip
    config = ResumabilityConfig(is_resumable=resumable)
    talk = Talk(root, store, resumability_config=config)
    events = await talk.say()
    assert events[-1].node_info.path == "root@2"
    (asked,) = pending_calls(await talk.stored())
    assert (asked.asker, asked.asker_path) == ("root", "")
    events = await talk.answer(events[-1].get_function_calls()[0], {"ok": True})
    said = next(event for event in events if event.content is not None)
    assert said.node_info.path == "root@2"


async def test_an_error_has_the_path_of_the_run_that_it_ended(memory: Store) -> None:
    def fail(callback_context: Any) -> None:
        raise LookupError("down")

    child = agent("child", before_agent_callback=fail)
    talk = Talk(agent("root", to("child"), sub_agents=[child]), memory)
    await talk.fails()
    assert (await talk.stored())[-1].node_info.path == "root@1/child@1"


async def test_a_graph_below_an_agent_keeps_the_paths_of_its_own(memory: Store) -> None:
    flow = Workflow(name="flow", edges=[("START", agent("one", "One."))])
    root = agent("root", to("flow"), sub_agents=[flow])
    assert paths(await Talk(root, memory).say()) == ["root@1", "flow@1/one@1"]


def test_the_tables_of_google_adk_hold_the_place_as_it_reads_it() -> None:
    event = Event(author="poet", message="A verse.", id="1", invocation_id="e")
    place_in_tree(event, 'root@1/po"et@1')
    for output_for in (None, ["root@1"]):
        event.node_info.output_for = output_for
        record = EventRecord.of(event)
        fields = json.loads(event_data(record))
        assert fields["nodeInfo"]["path"] == 'root@1/po"et@1'
        mixed = json.dumps(dict(sorted(fields.items(), reverse=True)))
        again = record_of("1", "e", 0, mixed)
        assert (again.path, again.place()) == ("", AgentPlace(path='root@1/po"et@1'))
        assert again.event().node_info == event.node_info
        assert type(again.event().node_info) is AgentPlace


async def test_history_from_outside_keeps_the_paths_of_agents_and_those_of_graphs_are_marked(
    memory: Store,
) -> None:
    child = agent("child", "Hello.", "Again.")
    talk = Talk(agent("root", to("child"), sub_agents=[child]), memory)
    await talk.say()
    await talk.say()
    flow = Talk(Workflow(name="flow", edges=[("START", agent("one", "One."))]), Store(None))
    await flow.say()
    for one, marked in ((talk, False), (flow, True)):
        sent = [Event.model_validate_json(event.model_dump_json()) for event in await one.stored()]
        taken = mark_imported(sent)
        assert [e.node_info for e in taken] == [e.node_info for e in sent]
        assert any(IMPORTED in (e.custom_metadata or ()) for e in taken) is marked
        assert [path_in_graph(e) for e in taken if e.node_info.path] == (
            ["flow@1/one@1"] if marked else ["", "", "", ""]
        )
