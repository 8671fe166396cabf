"""Corners of a run: what hooks, spans and resumed agents are handed, and what may run nested."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostinato import types
from ostinato._log import current_invocation_id
from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, RunConfig, SequentialAgent
from ostinato.agents.context import Context
from ostinato.apps import App, ResumabilityConfig
from ostinato.apps.app import EventsCompactionConfig
from ostinato.events import Event
from ostinato.plugins import BasePlugin
from ostinato.sessions import InMemorySessionService
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import AgentTool, LongRunningFunctionTool
from tests.support.optionals import parts_of
from tests.unit.flows.kit import SESSION, USER, Store, Talk, answer_to


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


class Looks(BaseAgent):
    """Keeps the contexts that it is run with."""

    seen: list[Any] = []

    async def _run_async_impl(self, ctx: Any) -> Any:
        self.seen.append((ctx, ctx.run_state.is_resumed, ctx.user_content))
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch)


def asks(
    author: str, invocation_id: str, branch: str | None = None, *, waits: bool = True
) -> Event:
    part = types.Part(function_call=types.FunctionCall(id="c", name="ask"))
    content = types.Content(role="model", parts=[part])
    return Event(
        author=author,
        invocation_id=invocation_id,
        branch=branch,
        content=content,
        long_running_tool_ids={"c"} if waits else None,
    )


async def stored(talk: Talk, *events: Event) -> None:
    """Put events into the session as if an earlier run had left them."""
    service = talk.store.service
    place: dict[str, Any] = {"app_name": "talk", "user_id": USER, "session_id": SESSION}
    session = await service.create_session(**place)
    for event in events:
        await service.append_event(session, event)


@pytest.mark.spec(7)
async def test_spans_say_which_session_invocation_and_call_they_are_of(
    memory: Store, spans: Any
) -> None:
    def book() -> str:
        return "booked"

    agent = LlmAgent(name="clerk", model=ScriptedModel([call("book"), "Done."]), tools=[book])
    events = await Talk(agent, memory).say()
    found = {s.name: dict(s.attributes) for s in spans.get_finished_spans()}
    assert found["invocation"] == {
        "gen_ai.operation.name": "invocation",
        "gen_ai.conversation.id": SESSION,
        "ostinato.app": "talk",
        "ostinato.user": USER,
        "ostinato.invocation_id": events[0].invocation_id,
    }
    assert found["execute_tool book"] == {
        "gen_ai.operation.name": "execute_tool",
        "ostinato.invocation_id": events[0].invocation_id,
        "gen_ai.tool.name": "book",
        "gen_ai.tool.call.id": events[0].get_function_calls()[0].id,
    }


@pytest.mark.spec(29)
async def test_the_error_hook_is_handed_the_run_and_the_error(memory: Store) -> None:
    seen: list[dict[str, Any]] = []

    class Notes(BasePlugin):
        async def on_run_error_callback(self, **arguments: Any) -> None:
            seen.append(arguments)

    class Fails(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            raise LookupError("nobody")
            yield

    talk = Talk(Fails(name="fails"), memory, plugins=[Notes(name="notes")])
    error = await talk.fails()
    (arguments,) = seen
    assert arguments["error"] is error
    assert arguments["invocation_context"].agent.name == "fails"


@pytest.mark.spec(26)
@pytest.mark.parametrize("author", ["user", "looks"])
async def test_a_resumed_run_has_the_message_that_its_invocation_began_with(
    memory: Store, author: str
) -> None:
    agent = Looks(name="looks", seen=[])
    talk = Talk(agent, memory)
    text = types.Content(role="user", parts=[types.Part(text="Hi")])
    await stored(talk, Event(author=author, invocation_id="e-1", content=text))
    (event,) = await talk.say(None, invocation_id="e-1")
    ((ctx, resumed, content),) = agent.seen
    assert (event.invocation_id, ctx.invocation_id, resumed) == ("e-1", "e-1", True)
    assert content == (text if author == "user" else None)


@pytest.mark.spec(12, 14, 26)
async def test_an_answer_puts_the_agent_on_the_branch_of_its_call(memory: Store) -> None:
    child = Looks(name="child", seen=[])
    talk = Talk(Looks(name="root", seen=[], sub_agents=[child]), memory)
    await stored(talk, asks("child", "e-1", "root.child"))
    asked = types.FunctionCall(id="c", name="ask")
    (event,) = await talk.say(answer_to(asked, {"n": 1}))
    ((ctx, resumed, _),) = child.seen
    assert (ctx.branch, event.branch) == ("root.child", "root.child")
    assert ctx.invocation_id == "e-1" and resumed
    assert (await talk.stored())[1].branch == "root.child"


@pytest.mark.spec(12, 26)
async def test_an_answer_to_a_named_invocation_is_resumed_on_the_branch_of_its_call(
    memory: Store,
) -> None:
    child = Looks(name="child", seen=[])
    talk = Talk(Looks(name="root", seen=[], sub_agents=[child]), memory)
    await stored(talk, asks("child", "e-1", "root.child"))
    asked = types.FunctionCall(id="c", name="ask")
    await talk.say(answer_to(asked, {"n": 1}), invocation_id="e-1", state_delta={"a": 1})
    ((ctx, resumed, content),) = child.seen
    assert ctx.invocation_id == "e-1" and resumed
    assert content.parts[0].function_response.response == {"n": 1}
    assert (await talk.stored())[1].branch == "root.child"
    assert (await talk.state())["a"] == 1


@pytest.mark.spec(5)
@pytest.mark.parametrize("save", [False, True])
async def test_a_file_in_a_message_is_an_artifact_only_on_demand(memory: Store, save: bool) -> None:
    blob = types.Blob(data=b"x", mime_type="text/plain", display_name="note.txt")
    message = types.Content(role="user", parts=[types.Part(inline_data=blob)])
    talk = Talk(Looks(name="looks", seen=[]), memory)
    await talk.say(message, run_config=RunConfig(save_input_blobs_as_artifacts=save))
    keys = await talk.runner.artifact_service.list_artifact_keys(
        app_name="talk", user_id=USER, session_id=SESSION
    )
    assert keys == (["note.txt"] if save else [])
    (part,) = parts_of((await talk.stored())[0])
    assert (part.inline_data is None) is save


async def test_a_run_within_the_user_message_hook_does_not_wait_for_itself(memory: Store) -> None:
    nested: list[str] = []

    class Asks(BasePlugin):
        async def on_user_message_callback(self, **_: Any) -> None:
            if not nested:
                nested.append("")
                nested[0] = final_text(await Talk.say(talk, "Inner?"))

    model = ScriptedModel(["Inner.", "Outer."])
    talk = Talk(LlmAgent(name="clerk", model=model), memory, plugins=[Asks(name="asks")])
    async with asyncio.timeout(60):
        assert final_text(await talk.say("Outer?")) == "Outer."
    assert nested == ["Inner."]


async def test_log_records_of_a_resumed_run_s_hooks_name_its_invocation(memory: Store) -> None:
    seen: list[str] = []

    class Reads(BasePlugin):
        async def on_user_message_callback(self, **_: Any) -> None:
            seen.append(current_invocation_id())

    talk = Talk(Looks(name="looks", seen=[]), memory, plugins=[Reads(name="reads")])
    await stored(talk, asks("looks", "e-1"))
    asked = types.FunctionCall(id="c", name="ask")
    await talk.say(answer_to(asked, {}), invocation_id="e-1")
    assert seen == ["e-1"]


@pytest.mark.spec(129)
@pytest.mark.parametrize("include", [True, False])
async def test_an_agent_as_a_tool_has_the_runner_s_plugins_on_demand_and_its_services(
    memory: Store, include: bool
) -> None:
    seen: list[str] = []

    class Notes(BasePlugin):
        async def before_agent_callback(self, *, agent: Any, **_: Any) -> None:
            seen.append(agent.name)

    inner = Looks(name="inner", seen=[])
    tool = AgentTool(agent=inner, include_plugins=include)
    model = ScriptedModel([call("inner", request="Go"), "Done."])
    talk = Talk(
        LlmAgent(name="outer", model=model, tools=[tool]), memory, plugins=[Notes(name="notes")]
    )
    runner = talk.runner
    runner.memory_service, runner.credential_service = object(), object()
    await talk.say()
    assert seen == (["outer", "inner"] if include else ["outer"])
    ((ctx, _, _),) = inner.seen
    assert ctx.session_service is runner.session_service
    assert ctx.memory_service is runner.memory_service
    assert ctx.credential_service is runner.credential_service
    assert ctx.artifact_service is not None
    assert ctx.session.app_name == "talk"


@pytest.mark.spec(1)
async def test_a_repeated_key_follows_the_run_that_is_under_way_with_its_partial_events(
    memory: Store,
) -> None:
    go_on = asyncio.Event()

    class Streams(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            yield Event(author=self.name, partial=True, turn_complete=False)
            await go_on.wait()
            yield Event(author=self.name, turn_complete=True)

    talk = Talk(Streams(name="streams"), memory)
    first, second = (talk.run("Hi", idempotency_key="k") for _ in range(2))
    events = [await anext(first)]
    followed = [await anext(second)]
    assert followed[0] is events[0] and followed[0].partial
    go_on.set()
    events += [event async for event in first]
    followed += [event async for event in second]
    assert [e.id for e in followed] == [e.id for e in events] and len(events) == 2


@pytest.mark.spec(26)
async def test_a_resumable_root_goes_on_itself_where_it_left_a_checkpoint(memory: Store) -> None:
    def ask() -> None:
        """Answered later."""

    model = ScriptedModel([call("ask"), "Asked."])
    first = LlmAgent(name="first", model=model, tools=[LongRunningFunctionTool(ask)])
    last = Looks(name="last", seen=[])
    root = SequentialAgent(name="root", sub_agents=[first, last])
    config = ResumabilityConfig(is_resumable=True)
    talk = Talk(App(name="talk", root_agent=root, resumability_config=config), memory)
    events = await talk.say("Hi")
    (asked,) = (c for e in events for c in e.get_function_calls())
    assert last.seen == []
    await talk.answer(asked, {"n": 1})
    ((ctx, resumed, _),) = last.seen
    assert resumed and ctx.invocation_id == events[0].invocation_id


async def test_a_rewind_waits_for_the_run_that_holds_the_session(store: Store) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    class Waits(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            started.set()
            await go_on.wait()
            yield Event(author=self.name, turn_complete=True)

    talk = Talk(Waits(name="waits"), store)
    run = asyncio.create_task(talk.say("Hi", idempotency_key="k"))
    await started.wait()
    (user,) = await talk.stored()
    rewind = asyncio.create_task(
        talk.runner.rewind_async(
            user_id=USER, session_id=SESSION, rewind_before_invocation_id=user.invocation_id
        )
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(run, rewind)
    authors = [(e.author, bool(e.actions.rewind_before_invocation_id)) for e in await talk.stored()]
    assert authors == [("user", False), ("waits", False), ("user", True)]


async def test_what_compaction_commits_within_a_run_is_stored(memory: Store) -> None:
    agent = Looks(name="looks", seen=[])
    talk = Talk(agent, memory)
    await talk.say("Hi")
    ((ctx, _, _),) = agent.seen
    await ctx.services.commit((Event(author="looks", invocation_id="e-x"),))
    assert [e.invocation_id for e in await talk.stored()][-1] == "e-x"


@pytest.mark.spec(18, 19)
async def test_the_answer_before_a_run_has_the_config_s_metadata_too(memory: Store) -> None:
    class Closed(BasePlugin):
        async def before_run_callback(self, **_: Any) -> Any:
            return types.Content(role="model", parts=[types.Part(text="Closed.")])

    talk = Talk(Looks(name="looks", seen=[]), memory, plugins=[Closed(name="closed")])
    (event,) = await talk.say(run_config=RunConfig(custom_metadata={"trace": 1}))
    assert event.custom_metadata == {"trace": 1} and event.invocation_id


@pytest.mark.spec(25)
async def test_compaction_without_a_summarizer_asks_the_model_of_the_tree(memory: Store) -> None:
    model = ScriptedModel(["One.", "Short."])
    app = App(
        name="talk",
        root_agent=LlmAgent(name="clerk", model=model),
        events_compaction_config=EventsCompactionConfig(compaction_interval=1, overlap_size=0),
    )
    talk = Talk(app, memory)
    await talk.say("Hi")
    compaction = (await talk.stored())[-1].actions.compaction
    assert compaction is not None
    assert parts_of(compaction.compacted_content)[0].text == "Short."


@pytest.mark.spec(29)
async def test_a_call_left_open_by_a_failing_agent_is_answered_with_its_error(
    memory: Store,
) -> None:
    class Fails(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            yield asks(self.name, ctx.invocation_id, waits=False)
            raise LookupError("nobody")

    talk = Talk(Fails(name="fails"), memory)
    await talk.fails()
    _, _, sealed, failed = await talk.stored()
    (answer,) = sealed.get_function_responses()
    assert answer.response == {"error": "LookupError: nobody"}
    assert failed.error_code == "LookupError"


@pytest.mark.spec(129)
async def test_an_agent_as_a_tool_runs_in_memory_over_a_service_of_another_s_making(
    memory: Store,
) -> None:
    class Own(InMemorySessionService):
        async def append_event(self, session: Any, event: Any) -> Any:
            return await super().append_event(session, event)

    memory.service = Own()
    inner = Looks(name="inner", seen=[])
    model = ScriptedModel([call("inner", request="Go"), "Done."])
    talk = Talk(LlmAgent(name="outer", model=model, tools=[AgentTool(agent=inner)]), memory)
    assert final_text(await talk.say()) == "Done."
    ((ctx, _, _),) = inner.seen
    assert type(ctx.session_service) is InMemorySessionService


@pytest.mark.spec(21)
async def test_what_a_plugin_s_event_leaves_unset_stays_as_it_was(memory: Store) -> None:
    class Rewrites(BasePlugin):
        async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event:
            return Event(message="Changed.") if final_text([event]) else Event(author="")

    def note(tool_context: Any) -> str:
        tool_context.state["k"] = 1
        return "noted"

    model = ScriptedModel([call("note"), "Hello."])
    agent = LlmAgent(name="clerk", model=model, tools=[note], output_key="said")
    talk = Talk(agent, memory, plugins=[Rewrites(name="rewrites")])
    events = await talk.say()
    assert [event.author for event in events] == ["clerk"] * 3
    assert [event.author for event in await talk.stored()] == ["user"] + ["clerk"] * 3
    assert events[0].get_function_calls() and events[1].get_function_responses()
    assert final_text(events) == "Changed."
    assert await talk.state() == {"k": 1, "said": "Hello."}


@pytest.mark.parametrize("hook", ["before_agent_callback", "after_agent_callback"])
@pytest.mark.parametrize("writes", [False, True])
async def test_effects_of_an_agent_callback_go_with_state_or_content_only(
    memory: Store, hook: str, writes: bool
) -> None:
    """As in google-adk: alone they make no event, so that escalate ends no loop."""

    def escalate(callback_context: Context) -> None:
        callback_context.actions.escalate = True
        callback_context.actions.transfer_to_agent = "other"
        callback_context.actions.artifact_delta["f"] = 0
        if writes:
            callback_context.state["k"] = 1

    hooks: dict[str, Any] = {hook: escalate}
    child = LlmAgent(name="child", model=ScriptedModel(["1", "2"]), **hooks)
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[child])
    events = await Talk(loop, memory).say()
    if writes:
        (event,) = [event for event in events if event.content is None]
        assert event.actions.escalate and event.actions.state_delta == {"k": 1}
    else:
        assert [event.content and event.actions.is_empty() for event in events] == [True, True]


class RefusesEvents(BasePlugin):
    """Raises in `on_event_callback`; counts its calls and the ends of runs."""

    asked = 0
    ended = 0

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        self.asked += 1
        raise ValueError("no")

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        self.ended += 1


async def test_an_event_hook_that_raises_is_called_once_and_the_run_ends_for_plugins(
    memory: Store,
) -> None:
    plugin = RefusesEvents(name="refuses")
    app = App(
        name="talk",
        root_agent=LlmAgent(name="clerk", model=ScriptedModel(["Hi."])),
        plugins=[plugin],
    )
    with pytest.raises(RuntimeError, match="on_event_callback"):
        await Talk(app, memory).say()
    assert [plugin.asked, plugin.ended] == [1, 1]


async def test_two_tools_of_one_name_are_told_once(
    memory: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def first() -> str:
        return "1"

    def second() -> str:
        return "2"

    first.__name__ = second.__name__ = "look"
    model = ScriptedModel([call("look"), "Done."])
    await Talk(LlmAgent(name="clerk", model=model, tools=[first, second]), memory).say()
    told = [one.getMessage() for one in caplog.records if "'look'" in one.getMessage()]
    assert len(told) == 1
    assert "'clerk'" in told[0]
