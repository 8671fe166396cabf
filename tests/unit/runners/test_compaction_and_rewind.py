"""What the runner does to history: summaries after runs, and rewinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, EventsCompactionConfig
from ostinato.apps.base_events_summarizer import BaseEventsSummarizer
from ostinato.errors import NotFoundError
from ostinato.events import Event, EventActions
from ostinato.events.event_actions import EventCompaction
from ostinato.models import LlmResponse
from ostinato.testing import ScriptedModel, call, final_text
from tests.unit.flows.kit import SESSION, USER, Store, Talk, model_of


class Notes:
    """A summariser that keeps what it was given."""

    def __init__(self, fails: bool = False) -> None:
        self.given: list[list[str]] = []
        self._fails = fails

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        if self._fails:
            raise RuntimeError("no summary today")
        self.given.append([final_text([e]) for e in events if final_text([e])])
        said = types.Content(role="model", parts=[types.Part(text=f"S{len(self.given)}")])
        compaction = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=said,
        )
        return Event(author="user", actions=EventActions(compaction=compaction))


def compacting(store: Store, notes: Notes, agent: LlmAgent, **options: Any) -> Talk:
    config = EventsCompactionConfig(
        **{"summarizer": notes, "compaction_interval": 2, "overlap_size": 1, **options}
    )
    return Talk(App(name="talk", root_agent=agent, events_compaction_config=config), store)


@pytest.mark.spec(25, 210, 211)
async def test_the_window_is_one_and_two_and_then_two_to_four(store: Store) -> None:
    notes = Notes()
    agent = LlmAgent(name="clerk", model=ScriptedModel([f"A{n}" for n in range(1, 6)]))
    talk = compacting(store, notes, agent)
    for n in range(1, 6):
        events = await talk.say(f"Q{n}")
        assert [final_text([e]) for e in events] == [f"A{n}"]
    assert notes.given == [["Q1", "A1", "Q2", "A2"], ["Q2", "A2", "Q3", "A3", "Q4", "A4"]]
    texts = model_of(agent).requests[-1].texts
    assert "Q1" not in texts and "A4" not in texts and texts[-1] == "Q5"
    assert any("S2" in t for t in texts)
    assert sum(e.actions.compaction is not None for e in await talk.stored()) == 2
    await talk.check_sound()


@pytest.mark.spec(25)
async def test_a_summary_that_fails_does_not_end_the_conversation(store: Store) -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(["A1", "A2"]))
    talk = compacting(store, Notes(fails=True), agent)
    await talk.say("Q1")
    await talk.say("Q2")
    await talk.check_goes_on(model_of(agent))
    assert "Q1" in model_of(agent).requests[-1].texts


@pytest.mark.spec(211)
async def test_the_token_threshold_compacts_and_keeps_the_newest_events(store: Store) -> None:
    def reply(text: str, tokens: int) -> LlmResponse:
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens)
        content = types.Content(role="model", parts=[types.Part(text=text)])
        return LlmResponse(content=content, usage_metadata=usage)

    notes = Notes()
    agent = LlmAgent(
        name="clerk", model=ScriptedModel([reply("A1", 10), reply("A2", 200), reply("A3", 10)])
    )
    talk = compacting(
        store,
        notes,
        agent,
        compaction_interval=100,
        overlap_size=0,
        token_threshold=100,
        event_retention_size=2,
    )
    for n in range(1, 4):
        await talk.say(f"Q{n}")
    assert notes.given[0] == ["Q1", "A1"]
    texts = model_of(agent).requests[-1].texts
    assert "Q1" not in texts and texts[-1] == "Q3"
    await talk.check_sound()


@pytest.mark.parametrize(("model", "summaries"), [("scripted", 0), ("claude-test", 1)])
async def test_the_tokens_of_a_prompt_are_estimated_where_none_are_counted(
    memory: Store, model: str, summaries: int
) -> None:
    notes = Notes()
    agent = LlmAgent(name="clerk", model=ScriptedModel(["A1", "A2"], model=model))
    limits = {"token_threshold": 950, "event_retention_size": 1}
    talk = compacting(memory, notes, agent, compaction_interval=100, overlap_size=0, **limits)
    await talk.say("Q" * 3_200)
    await talk.say("Q2")
    assert len(notes.given) == summaries


@pytest.mark.spec(211, 109)
async def test_a_summary_never_parts_a_call_from_its_response(store: Store) -> None:
    def book() -> str:
        return "booked"

    agent = LlmAgent(
        name="clerk", model=ScriptedModel([call("book"), "A1", call("book"), "A2"]), tools=[book]
    )
    talk = compacting(store, Notes(), agent, overlap_size=0)
    await talk.say("Q1")
    await talk.say("Q2")
    await talk.check_goes_on(model_of(agent))


def test_token_settings_have_to_come_together() -> None:
    with pytest.raises(ValueError, match="together"):
        EventsCompactionConfig(compaction_interval=2, overlap_size=1, token_threshold=5)


def writing() -> LlmAgent:
    async def note(value: str, tool_context: Any) -> str:
        tool_context.state["last"] = value
        tool_context.state[f"only_{value}"] = True
        tool_context.state["user:kept"] = value
        await tool_context.save_artifact("note.txt", types.Part(text=value))
        return "noted"

    turns = [turn for n in (1, 2, 3) for turn in (call("note", value=f"v{n}"), f"A{n}")]
    return LlmAgent(name="clerk", model=ScriptedModel(turns), tools=[note])


async def rewind(talk: Talk, invocation_id: str) -> None:
    await talk.runner.rewind_async(
        user_id=USER, session_id=SESSION, rewind_before_invocation_id=invocation_id
    )


@pytest.mark.spec(100)
async def test_a_rewind_takes_history_state_and_artifacts_back(store: Store) -> None:
    agent = writing()
    talk = Talk(agent, store)
    runs = [await talk.say(f"Q{n}") for n in (1, 2, 3)]
    await rewind(talk, runs[1][0].invocation_id)
    state = await talk.state()
    assert state["last"] == "v1" and state["only_v1"] is True
    assert "only_v2" not in state and "only_v3" not in state
    assert state["user:kept"] == "v3"
    artifacts = talk.runner.artifact_service
    place = {"app_name": "talk", "user_id": USER, "session_id": SESSION}
    part = await artifacts.load_artifact(**place, filename="note.txt")
    assert part is not None and part.text == "v1"
    await talk.check_goes_on(model_of(agent))
    assert model_of(agent).requests[-1].texts == ["Q1", "A1", "And now?"]


@pytest.mark.spec(100)
async def test_a_rewind_to_the_start_restores_the_state_a_session_was_made_with(
    store: Store,
) -> None:
    agent = writing()
    talk = Talk(agent, store)
    await store.service.create_session(
        app_name="talk", user_id=USER, session_id=SESSION, state={"last": "given", "other": 1}
    )
    runs = [await talk.say(f"Q{n}") for n in (1, 2)]
    await rewind(talk, runs[0][0].invocation_id)
    state = await talk.state()
    assert state["last"] == "given" and state["other"] == 1
    model_of(agent).add("never asked")
    agent.model = model = ScriptedModel()
    await talk.check_goes_on(model)
    assert model.requests[-1].texts == ["And now?"]


@pytest.mark.spec(100)
async def test_rewinds_may_follow_each_other(store: Store) -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(["A1", "A2", "A3", "A4"]))
    talk = Talk(agent, store)
    runs = [await talk.say(f"Q{n}") for n in (1, 2)]
    await rewind(talk, runs[1][0].invocation_id)
    third = await talk.say("Q3")
    await rewind(talk, third[0].invocation_id)
    await talk.say("Q4")
    assert model_of(agent).requests[-1].texts == ["Q1", "A1", "Q4"]
    await talk.check_goes_on(model_of(agent))


async def test_a_rewind_to_an_unknown_invocation_is_an_error_and_stores_nothing(
    store: Store,
) -> None:
    talk = Talk(LlmAgent(name="clerk", model=ScriptedModel(["A1"])), store)
    await talk.say()
    with pytest.raises(NotFoundError, match="e-none") as error:
        await rewind(talk, "e-none")
    assert isinstance(error.value, ValueError)  # as in google-adk
    assert len(await talk.stored()) == 2


async def test_a_rewound_agent_does_not_go_on_with_the_conversation(store: Store) -> None:
    """The one that spoke last before the rewind's target goes on, not one that was taken back."""
    child = LlmAgent(name="child", model=ScriptedModel(["Child."]))
    model = ScriptedModel(["Root.", call("transfer_to_agent", agent_name="child"), "Root again."])
    talk = Talk(LlmAgent(name="root", model=model, sub_agents=[child]), store)
    await talk.say("Q1")
    second = await talk.say("Q2")
    await rewind(talk, second[0].invocation_id)
    assert [e.author for e in await talk.say("Q3")] == ["root"]


async def test_a_window_overlaps_what_only_the_store_holds(tmp_path: Path) -> None:
    """A process that has just loaded the tail of the log summarises what one does that has all."""
    seen: dict[str, list[list[str | None]]] = {"warm": [], "cold": []}

    class Notes(BaseEventsSummarizer):
        def __init__(self, name: str) -> None:
            self.name = name

        async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
            texts = [(e.content.parts or [])[0].text for e in events if e.content]
            seen[self.name].append(texts)
            content = types.Content(role="model", parts=[types.Part(text="Short.")])
            compaction = EventCompaction(
                start_timestamp=events[0].timestamp,
                end_timestamp=events[-1].timestamp,
                compacted_content=content,
            )
            actions = EventActions(compaction=compaction)
            return Event(author="user", invocation_id="e-summary", actions=actions)

    for name in seen:
        store = Store(tmp_path / f"{name}.db")
        for turn in range(6):
            if name == "cold" and turn:
                await store.close()
                store = Store(tmp_path / f"{name}.db")
            app = App(
                name="talk",
                root_agent=LlmAgent(name="root", model=ScriptedModel([f"answer {turn}"])),
                events_compaction_config=EventsCompactionConfig(
                    summarizer=Notes(name), compaction_interval=2, overlap_size=2
                ),
            )
            await Talk(app, store).say(f"question {turn}")
        await store.close()
    assert len(seen["warm"]) == 3
    assert seen["warm"][1][0] == "question 0"
    assert seen["cold"] == seen["warm"]
