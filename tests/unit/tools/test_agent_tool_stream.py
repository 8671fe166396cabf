"""AgentTool(stream=True): the agent's events are seen live, under the call, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.context.run_config import RunConfig, StreamingMode
from ostinato.events import Event
from ostinato.events.child_event import PARENT_CALL, ParentCall
from ostinato.execution.stream_items import Said, StreamItems
from ostinato.sessions.base_session_service import HIDDEN_PREFIX
from ostinato.testing import ScriptedModel, call, chunks, final_text
from ostinato.tools import AgentTool
from tests.support.optionals import parts_of, present
from tests.unit.flows.kit import USER, Store, Talk
from tests.unit.flows.kit import memory as memory
from tests.unit.flows.kit import store as store

SSE = RunConfig(streaming_mode=StreamingMode.SSE)


def note(tool_context: Any) -> str:
    """Note."""
    tool_context.state["noted"] = True
    return "noted"


def team(*script: Any, stream: bool = True, **tool: Any) -> LlmAgent:
    helper = LlmAgent(name="helper", model=ScriptedModel(list(script)), tools=[note])
    model = ScriptedModel([call("helper", request="Do"), "Done.", "Again."])
    return LlmAgent(name="root", model=model, tools=[AgentTool(helper, stream=stream, **tool)])


def children(events: list[Event]) -> list[tuple[Event, ParentCall]]:
    return [(e, place) for e in events if (place := ParentCall.of(e)) is not None]


def said(event: Event) -> str:
    return "".join(p.text or "" for p in parts_of(event)) if event.content else ""


async def test_the_agents_events_come_live_between_call_and_response(store: Store) -> None:
    talk = Talk(team(call("note"), "Helped."), store)
    events = await talk.say()
    (asked,) = events[0].get_function_calls()
    seen = children(events)
    assert [(i, ParentCall.of(e) is not None) for i, e in enumerate(events)] == [
        (0, False), (1, True), (2, True), (3, True), (4, False), (5, False),
    ]  # fmt: skip
    for event, place in seen:
        assert place == ParentCall(present(asked.id), "helper", [present(asked.id)], complete=True)
        assert event.partial and not event.is_final_response()
        assert event.invocation_id == events[0].invocation_id
        assert event.author == "helper" and event.branch == f"helper@{asked.id}"
        assert event.actions.is_empty()
    assert seen[0][0].get_function_calls()[0].name == "note"
    assert seen[1][0].get_function_responses()[0].response == {"result": "noted"}
    assert said(seen[2][0]) == "Helped."
    assert await talk.state() == {"noted": True}


async def test_they_are_stored_once_and_no_model_of_the_caller_sees_them(store: Store) -> None:
    root = team(call("note"), "Helped.")
    talk = Talk(root, store)
    await talk.say()
    await talk.say("And?")
    assert [e.author for e in await talk.check_sound()] == ["user", *["root"] * 3, "user", "root"]
    model: Any = root.model
    told = [c.model_dump_json() for c in model.requests[-1].contents]
    assert not any("note" in text for text in told)
    assert sum("Helped." in text for text in told) == 1  # the tool's result


async def test_without_stream_nothing_is_shown(memory: Store) -> None:
    assert children(await Talk(team("Helped.", stream=False), memory).say()) == []


async def test_streamed_pieces_are_told_from_complete_events(memory: Store) -> None:
    talk = Talk(team(chunks("Hel", "ped.")), memory)
    events = await talk.say(run_config=SSE)
    assert [(said(e), place.complete) for e, place in children(events)] == [
        ("Hel", False), ("ped.", False), ("Helped.", True),
    ]  # fmt: skip
    assert final_text(events) == "Done."


async def test_an_agent_as_a_tool_of_an_agent_as_a_tool_has_both_calls_as_its_path(
    memory: Store,
) -> None:
    inner = LlmAgent(name="inner", model=ScriptedModel(["Deep."]))
    outer = LlmAgent(
        name="outer",
        model=ScriptedModel([call("inner", request="?"), "Up."]),
        tools=[AgentTool(inner, stream=True)],
    )
    model = ScriptedModel([call("outer", request="?"), "Done."])
    root = LlmAgent(name="root", model=model, tools=[AgentTool(outer, stream=True)])
    events = await Talk(root, memory).say()
    first, asked = events[0].get_function_calls()[0], events[1].get_function_calls()[0]
    deep = next((e, place) for e, place in children(events) if e.author == "inner")
    path = [present(first.id), present(asked.id)]
    assert deep[1] == ParentCall(path[-1], "inner", path, complete=True)
    assert deep[0].branch == f"outer@{first.id}.inner@{asked.id}"


async def test_agents_side_by_side_are_told_apart_by_their_calls(memory: Store) -> None:
    tools = [
        AgentTool(LlmAgent(name=name, model=ScriptedModel([f"I am {name}."])), stream=True)
        for name in ("one", "two")
    ]
    model = ScriptedModel([[call("one", request="?"), call("two", request="?")], "Done."])
    events = await Talk(LlmAgent(name="root", model=model, tools=[*tools]), memory).say()
    ids = {c.name: c.id for c in events[0].get_function_calls()}
    assert {(e.author, place.call_id) for e, place in children(events)} == set(ids.items())
    assert len(events[-2].get_function_responses()) == 2


async def test_skip_summarization_ends_the_run_with_the_result(memory: Store) -> None:
    talk = Talk(team("Helped.", skip_summarization=True), memory)
    events = await talk.say()
    assert [e.is_final_response() for e in events] == [False, False, True]
    assert events[-1].get_function_responses()[0].response == {"result": "Helped."}


async def test_an_agent_that_raises_ends_the_run_as_without_stream(store: Store) -> None:
    root = team(call("note"), RuntimeError("model down"))
    talk = Talk(root, store)
    error = await talk.fails()
    assert isinstance(error, RuntimeError) and "model down" in str(error)
    assert any("raised by tool 'helper'" in text for text in error.__notes__)
    await talk.check_sound()


async def test_who_leaves_in_the_middle_leaves_no_call_open(store: Store) -> None:
    talk = Talk(team(call("note"), "Helped."), store)
    run = talk.run()
    async for event in run:
        if ParentCall.of(event) is not None:
            break
        talk.seen.append(event)
    await run.aclose()
    await talk.check_sound()


async def test_facades_show_the_tool_and_not_what_it_says_to_itself(memory: Store) -> None:
    events = await Talk(team(chunks("Hel", "ped.")), memory).say(run_config=SSE)
    pieces = StreamItems()
    texts = [piece.text for e in events for piece in pieces.of(e) if isinstance(piece, Said)]
    assert texts == ["Done."]


async def test_the_metadata_is_json() -> None:
    place = {"call_id": "c", "tool": "t", "path": ["c"], "complete": True}
    event = Event(custom_metadata={PARENT_CALL: place})
    again = Event.model_validate_json(event.model_dump_json())
    assert ParentCall.of(again) == ParentCall("c", "t", ["c"], True)
    assert ParentCall.of(Event()) is None


async def test_artifacts_of_the_agent_are_the_callers(memory: Store) -> None:
    async def draw(tool_context: Any) -> str:
        part = types.Part(inline_data=types.Blob(mime_type="text/plain", data=b"x"))
        await tool_context.save_artifact("drawing", part)
        return "drawn"

    root = team(call("draw"), "Helped.")
    tool: Any = root.tools[0]
    tool.agent.tools = [draw]
    talk = Talk(root, memory)
    events = await talk.say()
    assert events[-2].actions.artifact_delta == {"drawing": 0}
    service = talk.runner.artifact_service
    place = {"app_name": "talk", "user_id": USER}
    assert await service.list_artifact_keys(**place, session_id="one") == ["drawing"]


@pytest.mark.parametrize("stream", [True, False])
async def test_no_hidden_session_is_left(tmp_path: Path, stream: bool) -> None:
    store = Store(tmp_path / "s.db")
    talk = Talk(team("Helped.", stream=stream), store)
    await talk.say()
    await talk.runner.close()
    async with store.reopened() as service:
        found = await service.list_sessions(app_name="talk", user_id=USER)
    assert not any(one.id.startswith(HIDDEN_PREFIX) for one in found.sessions)
    await store.close()
