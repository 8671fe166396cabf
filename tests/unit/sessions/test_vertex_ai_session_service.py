"""Sessions in Agent Engine: ids, keys, what comes back, and the part of the contract that holds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.errors import (
    AlreadyExistsError,
    InputValidationError,
    MissingExtraError,
    SessionNotFoundError,
    StoreError,
)
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions, EventCompaction
from ostinato.runners import Runner
from ostinato.sessions import VertexAiSessionService
from ostinato.sessions.store.durable_store import DurableStore
from ostinato.testing import ScriptedModel, call
from ostinato.tools.tool_confirmation import ToolConfirmation
from ostinato.types import Blob, Content, FunctionCall, FunctionResponse, Part
from tests.unit.sessions import test_contract, test_contract_many
from tests.unit.sessions.talk import OWNER, reloaded, said, texts
from tests.wire.agent_engine.engine import AgentEngine
from tests.wire.fake_server import Answer

NAME = "projects/1/locations/x/reasoningEngines/456/sessions/s1"


@pytest.fixture
async def store(engine: AgentEngine) -> AsyncIterator[VertexAiSessionService]:
    service = VertexAiSessionService("proj", "us-central1", "456")
    yield service
    await service.close()


Play = Callable[[Any], Awaitable[None]]

# What of the contract needs no side tables, no scopes of state, no ids that repeat per user and no
# time of change but the service's own.
HOLDS: list[Play] = [
    test_contract.test_create_and_get,
    test_contract.test_blanks_around_an_id_are_dropped,
    test_contract.test_an_event_without_id_gets_one,
    test_contract.test_partial_events_are_not_stored,
    test_contract.test_temporary_keys_are_not_in_the_stored_event,
    test_contract.test_edits_after_the_append_do_not_reach_the_store,
    test_contract.test_the_same_event_may_be_in_two_sessions,
    test_contract.test_a_limited_session_takes_events,
    test_contract_many.test_forks_that_cannot_be_made,
    test_contract_many.test_a_fork_between_call_and_response_answers_the_call,
]


@pytest.mark.parametrize("play", HOLDS, ids=lambda play: play.__name__)
async def test_contract_of_every_store(store: VertexAiSessionService, play: Play) -> None:
    await play(store)


def test_it_has_no_side_tables(engine: AgentEngine) -> None:
    assert not isinstance(VertexAiSessionService(agent_engine_id="456"), DurableStore)


@pytest.mark.spec(195)
@pytest.mark.parametrize("engine_id", [NAME.partition("/sessions")[0], "a/b", "", "a b"])
def test_an_engine_has_a_short_id(engine: AgentEngine, engine_id: str) -> None:
    with pytest.raises(InputValidationError, match="is not an id"):
        VertexAiSessionService("proj", "us-central1", engine_id)


@pytest.mark.spec(195)
async def test_a_full_resource_name_stands_for_its_last_part(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    made = await store.create_session(**OWNER, session_id=NAME)
    assert made.id == "s1" and list(engine.sessions) == ["s1"]
    found = await store.get_session(**OWNER, session_id=NAME)
    assert found == made
    await store.delete_session(**OWNER, session_id=NAME)
    assert engine.sessions == {}


@pytest.mark.spec(195)
@pytest.mark.parametrize("bad", ["a b", "a/b", "../s1", "s1?x=1", "s1:appendEvent", "é", "a\nb"])
async def test_ids_that_could_name_another_path(
    engine: AgentEngine, store: VertexAiSessionService, bad: str
) -> None:
    for act in (store.create_session, store.get_session, store.delete_session):
        with pytest.raises(InputValidationError, match="must match"):
            await act(**OWNER, session_id=bad if act != store.create_session else f"x{bad}")
    assert engine.asked == []


@pytest.mark.parametrize("module", ["httpx2", "google.auth"])
def test_the_extra_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ostinato\[vertex\]'"):
        VertexAiSessionService("proj", "us-central1", "456")


async def test_the_app_may_name_the_engine(engine: AgentEngine) -> None:
    service = VertexAiSessionService("proj", "us-central1")
    for app in ("789", "projects/proj/locations/us-central1/reasoningEngines/789"):
        await service.create_session(app_name=app, user_id="ann")
    assert {one["path"].rpartition("/v1beta1/")[2] for one in engine.requests()} == {
        "projects/proj/locations/us-central1/reasoningEngines/789/sessions"
    }
    with pytest.raises(InputValidationError, match=r"my_app is not valid.*agent_engine_id"):
        await service.create_session(app_name="my_app", user_id="ann")
    await service.close()


@pytest.mark.spec(195)
async def test_express_mode_asks_with_a_key(
    engine: AgentEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = VertexAiSessionService(agent_engine_id="456", express_mode_api_key="k1")
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
    monkeypatch.setenv("GOOGLE_API_KEY", "k2")
    found = VertexAiSessionService(agent_engine_id="456")
    named = VertexAiSessionService("proj", "us-central1", "456")
    for service in (given, found, named):
        await service.create_session(**OWNER)
        await service.close()
    asked = [(one["login"], one["path"]) for one in engine.requests()]
    path = "reasoningEngines/456/sessions"
    assert asked == [
        ("k1", f"/v1beta1/{path}"),
        ("k2", f"/v1beta1/{path}"),
        ("Bearer secret-token", f"/v1beta1/projects/proj/locations/us-central1/{path}"),
    ]


@pytest.mark.spec(195)
def test_a_key_stands_in_place_of_a_project(engine: AgentEngine) -> None:
    for place in ({"project": "p"}, {"location": "l"}):
        with pytest.raises(InputValidationError, match="Cannot specify project or location"):
            VertexAiSessionService(**place, agent_engine_id="4", express_mode_api_key="k")


async def test_the_place_comes_from_the_environment(
    engine: AgentEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "env-project")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    service = VertexAiSessionService(agent_engine_id="456")
    await service.create_session(**OWNER)
    await service.close()
    path = engine.requests()[0]["path"]
    assert path.startswith("/v1beta1/projects/env-project/locations/europe-west4/reasoning")


async def test_more_events_than_a_page_has(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    engine.page = 10
    made = await store.create_session(**OWNER, session_id="s1")
    for n in range(25):
        await store.append_event(made, said(str(n)))
    engine.asked.clear()
    assert texts(await reloaded(store, made)) == [str(n) for n in range(25)]
    assert len(engine.asked) == 1 + 3
    engine.asked.clear()
    assert texts(await reloaded(store, made, num_recent_events=12)) == [
        str(n) for n in range(13, 25)
    ]
    assert len(engine.asked) == 1 + 2
    engine.asked.clear()
    assert texts(await reloaded(store, made, num_recent_events=0)) == []
    assert len(engine.asked) == 1


async def test_more_sessions_than_a_page_has(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    engine.page = 3
    for n in range(7):
        await store.create_session(
            app_name="app", user_id='b"o b' if n % 2 else "ann", session_id=f"s{n}"
        )
    every = await store.list_sessions(app_name="app")
    assert [one.id for one in every.sessions] == [f"s{n}" for n in range(6, -1, -1)]
    bobs = await store.list_sessions(app_name="app", user_id='b"o b')
    assert [one.id for one in bobs.sessions] == ["s5", "s3", "s1"]
    await store.delete_user("app", 'b"o b')
    assert list(engine.sessions) == ["s0", "s2", "s4", "s6"]


async def test_everything_of_an_event_comes_back(store: VertexAiSessionService) -> None:
    summary = Content(role="model", parts=[Part(text="sum")])
    actions = EventActions(
        state_delta={"a": [1, {"b": 2.5}], "gone": None},
        artifact_delta={"f.txt": 3},
        transfer_to_agent="other",
        escalate=True,
        skip_summarization=True,
        compaction=EventCompaction(
            start_timestamp=1.25, end_timestamp=2.5, compacted_content=summary
        ),
        end_of_agent=True,
        agent_state={"step": 2},
        rewind_before_invocation_id="i0",
        requested_tool_confirmations={"c1": ToolConfirmation(hint="sure?")},
        route=["left", "right"],
    )
    parts = [
        Part(text="so", thought=True),
        Part(
            function_call=FunctionCall(id="c1", name="pay", args={"n": 1}), thought_signature=b"\1"
        ),
        Part(function_response=FunctionResponse(id="c0", name="look", response={"ok": True})),
        Part(inline_data=Blob(mime_type="image/png", data=b"\x89\xff")),
    ]
    event = Event(
        author="helper",
        invocation_id="i1",
        branch="a.b",
        content=Content(role="model", parts=parts),
        actions=actions,
        long_running_tool_ids={"c1"},
        custom_metadata={"k": {"n": [1]}},
        usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=7),
        grounding_metadata=types.GroundingMetadata(web_search_queries=["q"]),
        error_code="E",
        error_message="wrong",
        node_path="wf/a@1",
        output={"x": 1},
        timestamp=1_700_000_000.123456,
    )
    made = await store.create_session(**OWNER, state={"gone": 1})
    await store.append_event(made, event)
    again = await reloaded(store, made)
    assert again.events == [event] and again.state == made.state == {"a": [1, {"b": 2.5}]}


async def test_events_of_writers_that_keep_no_raw_event(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    made = await store.create_session(**OWNER, session_id="s1")
    called = Part(function_call=FunctionCall(id="c1", name="pay", args={"n": 1}))
    event = Event(
        author="helper",
        invocation_id="i1",
        content=Content(role="model", parts=[called]),
        actions=EventActions(transfer_to_agent="other", state_delta={"a": 1}),
        long_running_tool_ids={"c1"},
        branch="a",
        custom_metadata={"k": 1},
        usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=7),
        timestamp=1_700_000_000.25,
    )
    await store.append_event(made, event)
    del engine.events["s1"][0]["rawEvent"]
    found = (await reloaded(store, made)).events[0]
    assert found.id.startswith("80000")
    assert found.model_copy(update={"id": event.id}) == event


async def test_what_newer_writers_add_is_left_out(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    made = await store.create_session(**OWNER, session_id="s1")
    await store.append_event(made, said("hello"))
    engine.events["s1"][0]["rawEvent"] |= {"brandNew": 1, "actions": {"brandNew": {"x": 1}}}
    assert texts(await reloaded(store, made)) == ["hello"]
    engine.events["s1"][0]["rawEvent"]["timestamp"] = "soon"
    with pytest.raises(StoreError, match="no event that this version reads"):
        await reloaded(store, made)


async def test_an_event_that_was_sent_twice_is_read_once(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    made = await store.create_session(**OWNER, session_id="s1")
    event = said("hello", {"n": 1})
    await store.append_event(made, event)
    engine.events["s1"] *= 2  # the answer was lost on the way, so that it was sent again
    again = await reloaded(store, made)
    assert again.events == [event] and again.state == {"n": 1}


async def test_values_that_json_has_not(store: VertexAiSessionService) -> None:
    made = await store.create_session(**OWNER, state={"o": print, "temp:t": 1, "none": None})
    assert made.state == {"o": repr(print)}
    await store.append_event(made, said("x", {"p": print}))
    assert (await reloaded(store, made)).state == {"o": repr(print), "p": repr(print)}


async def test_another_users_session(engine: AgentEngine, store: VertexAiSessionService) -> None:
    await store.create_session(**OWNER, session_id="s1")
    for act in (store.get_session, store.delete_session):
        with pytest.raises(InputValidationError, match="s1 does not belong to user bob"):
            await act(app_name="app", user_id="bob", session_id="s1")
    assert list(engine.sessions) == ["s1"]


async def test_what_is_there_already_and_what_is_not(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    made = await store.create_session(**OWNER, session_id="s1")
    with pytest.raises(AlreadyExistsError, match="s1 already exists"):
        await store.create_session(**OWNER, session_id="s1")
    engine.polls, engine.failing = 2, {"code": 6, "message": "exists"}
    with pytest.raises(AlreadyExistsError):
        await store.create_session(**OWNER, session_id="s2")
    engine.failing = None
    assert await store.get_session(**OWNER, session_id="nope") is None
    await store.delete_session(**OWNER, session_id="nope")
    await store.delete_session(**OWNER, session_id="s1")
    with pytest.raises(SessionNotFoundError, match="s1"):
        await store.append_event(made, said("hello"))
    assert made.events == []
    with pytest.raises(NotImplementedError, match="keeps state by session"):
        await store.get_user_state(**OWNER)


async def test_creation_is_waited_for(
    engine: AgentEngine, store: VertexAiSessionService, waits: list[float]
) -> None:
    engine.polls = 3
    made = await store.create_session(
        **OWNER, ttl="3600s", display_name="x", labels={"k": "v"}, state={"a": 1}
    )
    assert made.id.isdigit() and made.state == {"a": 1} and waits == [0.5, 1.0, 2.0]
    assert engine.requests()[0]["json"] == {
        "userId": "ann",
        "sessionState": {"a": 1},
        "ttl": "3600s",
        "displayName": "x",
        "labels": {"k": "v"},
    }
    engine.failing = {"code": 8, "message": "no room"}
    with pytest.raises(StoreError, match=r"Agent Engine 456 \(project proj.*no room \(code 8\)"):
        await store.create_session(**OWNER)


async def test_an_operation_without_end(
    engine: AgentEngine, store: VertexAiSessionService, waits: list[float]
) -> None:
    engine.polls = 10_000
    with pytest.raises(StoreError, match=r"did not finish 'projects/.*within 300 s"):
        await store.create_session(**OWNER)
    assert sum(waits) < 320


async def test_a_response_without_the_session(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    name = "projects/proj/locations/us-central1/reasoningEngines/456/sessions/s1/operations/9"
    await store.create_session(**OWNER, session_id="s1", state={"a": 1})
    engine.faults = [("POST", Answer({"name": name, "done": True}))]
    made = await store.create_session(**OWNER)
    assert (made.id, made.state) == ("s1", {"a": 1})


async def test_a_conversation_with_a_tool(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = ScriptedModel([call("add", a=1, b=2), "three", "again"])
    agent = LlmAgent(name="clerk", model=model, tools=[add])
    runner = Runner(agent=agent, app_name="app", session_service=store)
    made = await store.create_session(**OWNER, session_id="s1")
    for words in ("1 + 2?", "and?"):
        message = Content(role="user", parts=[Part(text=words)])
        async for _ in runner.run_async(user_id="ann", session_id="s1", new_message=message):
            pass
    again = await reloaded(store, made)
    assert [event.author for event in again.events] == ["user", *["clerk"] * 3, "user", "clerk"]
    assert len(model.requests[-1].contents) == 5
    assert len(engine.events["s1"]) == 6


async def test_two_messages_at_once_take_turns(
    engine: AgentEngine, store: VertexAiSessionService
) -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(["one", "two"]))
    runner = Runner(agent=agent, app_name="app", session_service=store)
    await store.create_session(**OWNER, session_id="s1")

    async def ask(words: str) -> None:
        message = Content(role="user", parts=[Part(text=words)])
        async for _ in runner.run_async(user_id="ann", session_id="s1", new_message=message):
            pass

    await asyncio.gather(ask("a"), ask("b"))
    authors = [event["author"] for event in engine.events["s1"]]
    assert authors == ["user", "clerk", "user", "clerk"]
