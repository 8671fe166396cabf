"""InvocationContext: what a run hands to its agents, its checkpoints, its events and its counts."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from pydantic import PrivateAttr

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, ParallelAgent
from ostinato.agents.base_agent import BaseAgentState
from ostinato.agents.invocation_context import (
    InvocationContext,
    LlmCallsLimitExceededError,
    RealtimeCacheEntry,
    new_invocation_context_id,
)
from ostinato.agents.live_request_queue import LiveRequestQueue
from ostinato.agents.run_config import RunConfig
from ostinato.apps import App, ResumabilityConfig
from ostinato.artifacts import InMemoryArtifactService
from ostinato.auth.credential_service import InMemoryCredentialService
from ostinato.context.live_records import TranscriptionEntry
from ostinato.context.run_state import RunState
from ostinato.events import Event, EventActions
from ostinato.memory import InMemoryMemoryService
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService, Session

Look = Callable[[InvocationContext], Any]


class Peek(BaseAgent):
    """An agent that hands its context to a function and yields the events it gives back."""

    _look: Any = PrivateAttr(default=None)

    def __init__(self, look: Look, name: str = "peek", **fields: Any) -> None:
        super().__init__(name=name, **fields)
        self._look = look

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for event in self._look(ctx) or ():
            yield event


class Quiet(BasePlugin):
    """A plugin that does nothing."""


async def run(runner: Runner, message: str = "Go", **options: Any) -> list[Event]:
    made = runner.run_async(user_id="ann", session_id="s", new_message=message, **options)
    return [event async for event in made]


def context(agent: Any = None, **fields: Any) -> InvocationContext:
    """A context without a runner."""
    made: dict[str, Any] = {
        "session_service": None,
        "invocation_id": "e-1",
        "agent": agent or Peek(lambda _: None),
        "session": Session(id="s", app_name="app", user_id="ann"),
        **fields,
    }
    return InvocationContext(**made)


def resumable(**fields: Any) -> InvocationContext:
    return context(resumability_config=ResumabilityConfig(is_resumable=True), **fields)


def called(*ids: str, long_running: set[str] | None = None, **fields: Any) -> Event:
    parts = [types.Part(function_call=types.FunctionCall(id=i, name="t", args={})) for i in ids]
    content = types.Content(role="model", parts=parts)
    return Event(
        **{"author": "a", "content": content, "long_running_tool_ids": long_running, **fields}
    )


@pytest.mark.spec(30, 31, 32)
async def test_the_runner_puts_its_services_and_the_run_s_own_values_into_the_context() -> None:
    seen: list[InvocationContext] = []
    agent = Peek(lambda ctx: seen.append(ctx))
    cache, resumability = ContextCacheConfig(), ResumabilityConfig(is_resumable=False)
    plugin, config = Quiet(name="quiet"), RunConfig()
    runner = Runner(
        app=App(
            name="app",
            root_agent=agent,
            plugins=[plugin],
            context_cache_config=cache,
            resumability_config=resumability,
        ),
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
        memory_service=InMemoryMemoryService(),
        credential_service=InMemoryCredentialService(),
        auto_create_session=True,
    )
    await run(runner, run_config=config)
    (ctx,) = seen
    assert ctx.artifact_service is runner.artifact_service
    assert ctx.session_service is runner.session_service
    assert ctx.memory_service is runner.memory_service
    assert ctx.credential_service is runner.credential_service
    assert ctx.plugin_manager.plugins == [plugin]
    assert ctx.context_cache_config is cache
    assert ctx.invocation_id.startswith("e-") and ctx.branch is None
    assert ctx.isolation_scope is None and ctx.node_path is None
    assert ctx.agent is agent
    assert ctx.user_content == types.Content(role="user", parts=[types.Part(text="Go")])
    assert (ctx.session.id, ctx.app_name, ctx.user_id) == ("s", "app", "ann")
    assert [e.author for e in ctx.session.events] == ["user"]
    assert ctx.agent_states == {} and ctx.end_of_agents == {} and ctx.end_invocation is False
    assert ctx.run_config is config and ctx.resumability_config == resumability


@pytest.mark.spec(33)
def test_a_context_has_places_for_what_a_live_run_needs_and_they_are_empty_else() -> None:
    live = {
        "live_request_queue",
        "active_streaming_tools",
        "transcription_cache",
        "input_realtime_cache",
        "output_realtime_cache",
        "live_session_resumption_handle",
    }
    bare = context()
    assert {name: getattr(bare, name) for name in live} == dict.fromkeys(live)
    queue = LiveRequestQueue()
    audio = types.Blob(data=b"x", mime_type="audio/pcm")
    entry = RealtimeCacheEntry(role="user", data=audio, timestamp=1.0)
    made = context(live_request_queue=queue, input_realtime_cache=[entry])
    assert made.live_request_queue is queue and made.input_realtime_cache == [entry]
    heard = [TranscriptionEntry(role="user", data=audio)]
    assert context(transcription_cache=heard).transcription_cache == heard


def test_an_unknown_field_of_a_context_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="memory"):
        context(memory=None)


@pytest.mark.spec(9)
def test_invocation_ids_are_e_and_a_uuid_and_never_the_same() -> None:
    one, two = new_invocation_context_id(), new_invocation_context_id()
    assert one[:2] == "e-" and len(one) == 38 and one != two


@pytest.mark.spec(34)
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, False),
        (ResumabilityConfig(), False),
        (ResumabilityConfig(is_resumable=False), False),
        (ResumabilityConfig(is_resumable=True), True),
    ],
)
def test_a_run_is_resumable_if_its_config_says_so(
    config: ResumabilityConfig | None, expected: bool
) -> None:
    assert context(resumability_config=config).is_resumable is expected


class Round(BaseAgentState):
    number: int = 0


@pytest.mark.spec(35)
def test_set_agent_state_saves_a_checkpoint_ends_an_agent_or_clears_both() -> None:
    ctx = context()
    ctx.set_agent_state("a", agent_state=Round(number=2))
    assert (ctx.agent_states, ctx.end_of_agents) == ({"a": {"number": 2}}, {"a": False})
    ctx.set_agent_state("a", agent_state=Round(number=3), end_of_agent=True)
    assert (ctx.agent_states, ctx.end_of_agents) == ({}, {"a": True})
    ctx.set_agent_state("a")
    assert (ctx.agent_states, ctx.end_of_agents) == ({}, {})


@pytest.mark.spec(35)
def test_resetting_clears_the_checkpoints_below_an_agent_and_not_its_own() -> None:
    leaf = Peek(lambda _: None, name="leaf")
    middle = Peek(lambda _: None, name="middle", sub_agents=[leaf])
    ctx = context(Peek(lambda _: None, name="root", sub_agents=[middle]))
    for name in ("root", "middle", "leaf"):
        ctx.set_agent_state(name, agent_state=Round(number=1))
    ctx.reset_sub_agent_states("root")
    assert set(ctx.agent_states) == {"root"}


def _checkpoint(author: str, state: dict[str, Any] | None = None, **fields: Any) -> Event:
    actions = EventActions(agent_state=state, end_of_agent=None if state is not None else True)
    return Event(**{"author": author, "invocation_id": "e-1", "actions": actions, **fields})


@pytest.mark.spec(35)
def test_checkpoints_are_restored_from_the_events_of_the_invocation() -> None:
    events = [
        Event(author="user", invocation_id="e-1"),
        _checkpoint("line", {"current_sub_agent": "one"}),
        Event(author="one", invocation_id="e-1"),
        _checkpoint("one"),
        _checkpoint("line", {"current_sub_agent": "two"}),
        Event(author="two", invocation_id="e-1"),
        _checkpoint("gone", {"other": "run"}, invocation_id="e-0"),
    ]
    session = Session(id="s", app_name="app", user_id="ann", events=events)
    ctx = resumable(session=session)
    ctx.populate_invocation_agent_states()
    assert ctx.agent_states == {"line": {"current_sub_agent": "two"}, "two": {}}
    assert ctx.end_of_agents == {"line": False, "one": True, "two": False}


@pytest.mark.spec(35)
def test_nothing_is_restored_where_the_run_is_not_resumable() -> None:
    session = Session(id="s", app_name="app", user_id="ann", events=[_checkpoint("a", {})])
    ctx = context(session=session)
    ctx.populate_invocation_agent_states()
    assert (ctx.agent_states, ctx.end_of_agents) == ({}, {})


@pytest.mark.spec(36)
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["old", "user", "none", "left", "right"]),
        ({"current_invocation": True}, ["user", "none", "left", "right"]),
        ({"current_branch": True}, ["old", "user", "left"]),
        ({"current_invocation": True, "current_branch": True}, ["user", "left"]),
    ],
)
def test_events_are_filtered_by_invocation_and_branch_and_the_user_s_are_on_every_branch(
    filters: dict[str, bool], expected: list[str]
) -> None:
    events = [
        Event(author="user", id="old", invocation_id="e-0"),
        Event(author="user", id="user", invocation_id="e-1"),
        Event(author="a", id="none", invocation_id="e-1"),
        Event(author="a", id="left", invocation_id="e-1", branch="fan.left"),
        Event(author="a", id="right", invocation_id="e-1", branch="fan.right"),
    ]
    session = Session(id="s", app_name="app", user_id="ann", events=events)
    ctx = context(session=session, branch="fan.left")
    assert [e.id for e in ctx._get_events(**filters)] == expected


@pytest.mark.spec(37, 206)
async def test_all_contexts_of_a_run_count_its_model_calls_together() -> None:
    ctx = context(run_config=RunConfig(max_llm_calls=2))
    agent = Peek(lambda _: None, name="child")
    child = agent._create_invocation_context(ctx)
    ctx.increment_llm_call_count()
    child.increment_llm_call_count()
    with pytest.raises(LlmCallsLimitExceededError, match="`2`"):
        ctx.increment_llm_call_count()


@pytest.mark.spec(37)
def test_without_a_config_calls_are_not_limited() -> None:
    ctx = context()
    for _ in range(600):
        ctx.increment_llm_call_count()
    assert ctx._invocation_cost_manager._number_of_llm_calls == 600


@pytest.mark.spec(38)
@pytest.mark.parametrize("ctx", [context(), resumable()], ids=["plain", "resumable"])
@pytest.mark.parametrize(
    ("event", "pauses"),
    [
        (called("1", long_running={"1"}), True),
        (called("1", "2", long_running={"2"}), True),
        (called("1", long_running={"other"}), False),
        (called("1", long_running=set()), False),
        (called("1"), False),
        (Event(author="a", long_running_tool_ids={"1"}), False),
    ],
)
def test_an_event_pauses_the_run_if_one_of_its_calls_is_long_running(
    ctx: InvocationContext, event: Event, pauses: bool
) -> None:
    assert ctx.should_pause_invocation(event) is pauses


@pytest.mark.spec(39)
async def test_an_agent_that_ends_the_invocation_has_no_after_callback() -> None:
    order: list[str] = []

    def ends(ctx: InvocationContext) -> None:
        order.append("ran")
        ctx.end_invocation = True

    def after(callback_context: Any) -> None:
        order.append("after")

    agent = Peek(ends, after_agent_callback=after)
    runner = Runner(
        agent=agent,
        app_name="app",
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )
    assert await run(runner) == []
    assert order == ["ran"]


@pytest.mark.spec(39, 45)
async def test_a_callback_that_ends_the_invocation_keeps_the_agent_from_running() -> None:
    order: list[str] = []

    def before(callback_context: Any) -> None:
        order.append("before")
        callback_context.get_invocation_context().end_invocation = True

    agent = Peek(
        lambda _: order.append("ran"),
        before_agent_callback=before,
        after_agent_callback=lambda callback_context: order.append("after"),
    )
    runner = Runner(
        agent=agent,
        app_name="app",
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )
    assert await run(runner) == []
    assert order == ["before"]


@pytest.mark.spec(45)
def test_an_agent_s_context_is_its_own_and_shares_session_ports_and_checkpoints() -> None:
    parent = context(run_state=RunState(), agent_states={"x": {}})
    agent = Peek(lambda _: None, name="child")
    child = agent._create_invocation_context(parent)
    child.end_invocation = True
    assert child.agent is agent and parent.agent is not agent
    assert parent.end_invocation is False
    assert child.session is parent.session and child.run_state is parent.run_state
    assert child.agent_states is parent.agent_states
    assert child.end_of_agents is parent.end_of_agents


@pytest.mark.spec(50)
async def test_only_a_parallel_agent_gives_its_children_branches_of_their_own() -> None:
    branches: dict[str, str | None] = {}

    def look(ctx: InvocationContext) -> None:
        branches[ctx.agent.name] = ctx.branch

    fan = ParallelAgent(name="fan", sub_agents=[Peek(look, name="left"), Peek(look, name="right")])
    inner = ParallelAgent(name="inner", sub_agents=[Peek(look, name="leaf")])
    outer = ParallelAgent(name="outer", sub_agents=[inner])
    ctx = context(session_service=InMemorySessionService())
    for agent in (Peek(look, name="alone"), fan, outer):
        assert [event async for event in agent.run_async(ctx)] == []
    assert branches == {
        "alone": None,
        "left": "fan.left",
        "right": "fan.right",
        "leaf": "outer.inner.inner.leaf",
    }
    assert ctx.branch is None


def test_run_async_and_run_live_are_final_and_take_the_parent_s_context() -> None:
    for name in ("run_async", "run_live"):
        method = getattr(BaseAgent, name)
        assert getattr(method, "__final__", False)
        assert list(inspect.signature(method).parameters) == ["self", "parent_context"]
        assert getattr(LlmAgent, name) is method
