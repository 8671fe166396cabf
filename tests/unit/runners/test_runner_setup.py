"""What a Runner is made of and hands on: services, settings, arguments, and what it says where
something is missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, get_type_hints
from unittest import mock

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, InvocationContext, LlmAgent, RunConfig, SequentialAgent
from ostinato.agents.context_cache_config import ContextCacheConfig
from ostinato.apps import App, ResumabilityConfig
from ostinato.apps.app import EventsCompactionConfig
from ostinato.artifacts import InMemoryArtifactService
from ostinato.auth.credential_service.in_memory_credential_service import (
    InMemoryCredentialService,
)
from ostinato.errors import (
    AgentConfigError,
    CallbackError,
    CallNotOpenError,
    InputValidationError,
    NothingToResumeError,
)
from ostinato.events import Event
from ostinato.memory import InMemoryMemoryService
from ostinato.models import LlmResponse
from ostinato.plugins import BasePlugin
from ostinato.runners import InMemoryRunner, Runner
from ostinato.sessions import InMemorySessionService, Session
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.testing import ScriptedModel, call, final_text, trace
from ostinato.tools import BaseTool, FunctionTool, LongRunningFunctionTool
from ostinato.tools.agent_tool import AgentTool
from ostinato.tools.base_toolset import BaseToolset
from ostinato.workflow import START, Workflow
from tests.unit.flows.kit import SESSION, USER, Store, Talk, answer_to
from tests.unit.workflow.kit import adk_ways, shows

PLACE: dict[str, Any] = {"user_id": USER, "session_id": SESSION}


def answering(*texts: Any, **options: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(list(texts)), **options)


class Looks(BaseAgent):
    """Keeps the contexts that it is run with."""

    seen: list[Any] = []

    async def _run_async_impl(self, ctx: Any) -> Any:
        self.seen.append(ctx)
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch)


# Making


@pytest.mark.spec(3)
async def test_every_service_and_setting_reaches_the_run() -> None:
    agent = Looks(name="looks", seen=[])
    summarizer: Any = object()
    app = App(
        name="talk",
        root_agent=agent,
        context_cache_config=ContextCacheConfig(),
        resumability_config=ResumabilityConfig(is_resumable=True),
        events_compaction_config=EventsCompactionConfig(
            compaction_interval=50, overlap_size=1, summarizer=summarizer
        ),
        tool_errors="feedback",
    )
    services: dict[str, Any] = {
        "artifact_service": InMemoryArtifactService(),
        "session_service": InMemorySessionService(),
        "memory_service": InMemoryMemoryService(),
        "credential_service": InMemoryCredentialService(),
    }
    runner = Runner(app=app, auto_create_session=True, **services)
    config = RunConfig()
    async for _ in runner.run_async(**PLACE, new_message="Hi", run_config=config):
        pass
    (ctx,) = agent.seen
    for name, service in services.items():
        assert getattr(runner, name) is service
        assert getattr(ctx, name) is service
    assert ctx.plugin_manager is runner.plugin_manager
    assert ctx.context_cache_config is app.context_cache_config is runner.context_cache_config
    assert ctx.resumability_config is app.resumability_config is runner.resumability_config
    assert ctx.events_compaction_config is app.events_compaction_config
    assert ctx.services.tool_errors == "feedback" and not ctx.run_state.is_resumed
    assert ctx.run_config is config
    assert ctx.user_content.parts[0].text == "Hi"
    assert ctx.branch is None
    assert runner.agent is agent and runner.app is app and runner.app_name == "talk"


@pytest.mark.spec(3)
async def test_a_runner_s_agent_is_the_node_that_was_given() -> None:
    def greet(node_input: str) -> str:
        return "Hello."

    graph = Workflow(name="graph", edges=[("START", greet)])
    runner = InMemoryRunner(node=graph, app_name="talk")
    runner.auto_create_session = True
    assert runner.agent is graph
    events = [event async for event in runner.run_async(**PLACE, new_message="Hi")]
    assert [event.output for event in events] == ["Hello."]
    runner.agent = answering("Hello.")
    events = [event async for event in runner.run_async(**PLACE, new_message="Hi")]
    assert events[0].author == runner.agent.name


@pytest.mark.spec(3)
async def test_the_run_s_own_tool_errors_win_over_the_app_s() -> None:
    agent = Looks(name="looks", seen=[])
    runner = InMemoryRunner(agent, app_name="talk")
    runner.auto_create_session = True
    for config in (RunConfig(), RunConfig(tool_errors="feedback")):
        async for _ in runner.run_async(**PLACE, new_message="Hi", run_config=config):
            pass
    assert [ctx.services.tool_errors for ctx in agent.seen] == ["raise", "feedback"]


@pytest.mark.spec(3)
def test_what_a_runner_may_be_made_of_is_said() -> None:
    service = InMemorySessionService()
    app = App(name="talk", root_agent=answering())
    unnamed = "^app_name is required when agent is provided without app"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"app": app, "agent": answering()}, "^Only one of app, agent, or node"),
        ({"app": app, "plugins": []}, "^When app is provided, plugins should not be provided"),
        ({"agent": answering()}, unnamed),
        ({"app_name": "talk"}, "^One of app, agent, or node must be provided"),
        ({"agent": answering(), "app_name": ""}, unnamed),
    ]
    for wrong, said in cases:
        with pytest.raises(AgentConfigError, match=said):
            Runner(session_service=service, **wrong)
    with pytest.raises(AgentConfigError, match="Only one of app, agent, or node"):
        Runner(app=app, node=answering(), session_service=service)
    with pytest.raises(AgentConfigError, match="Only one of app, agent, or node"):
        InMemoryRunner(answering(), node=answering())
    with pytest.raises(AgentConfigError, match="is not a node"):
        InMemoryRunner(node=3)


@pytest.mark.spec(3)
def test_an_agent_alone_gets_an_app_with_plain_settings() -> None:
    agent, plugin = answering(), BasePlugin(name="p")
    runner = Runner(
        agent=agent, app_name="any name", plugins=[plugin], session_service=InMemorySessionService()
    )
    assert runner.app.name == "any name" and runner.app.root_agent is agent
    assert runner.app.plugins == [plugin] and runner.plugin_manager.plugins == [plugin]
    assert runner.app.events_compaction_config is None
    assert runner.context_cache_config is None and runner.resumability_config is None
    assert runner.app.tool_errors == "raise"
    assert not runner.auto_create_session
    assert runner.artifact_service is runner.memory_service is runner.credential_service is None


@pytest.mark.spec(3)
def test_the_runner_in_memory_has_a_name_of_its_own_and_all_services() -> None:
    app = App(name="talk", root_agent=answering())
    assert InMemoryRunner(answering()).app_name == "InMemoryRunner"
    assert InMemoryRunner(answering(), app_name="x").app_name == "x"
    assert InMemoryRunner(app=app).app_name == "talk"
    assert InMemoryRunner(app=app, app_name="x").app_name == "x"
    plugin = BasePlugin(name="p")
    runner = InMemoryRunner(answering(), plugins=[plugin])
    assert runner.plugin_manager.plugins == [plugin]
    assert isinstance(runner.session_service, InMemorySessionService)
    assert isinstance(runner.artifact_service, InMemoryArtifactService)
    assert isinstance(runner.memory_service, InMemoryMemoryService)


@pytest.mark.parametrize("kind", [Runner, InMemoryRunner])
async def test_a_plugin_may_take_as_long_to_close_as_the_runner_says(kind: Any) -> None:
    class Slow(BasePlugin):
        async def close(self) -> None:
            await asyncio.Event().wait()

    more: dict[str, Any] = (
        {}
        if kind is InMemoryRunner
        else {
            "app_name": "talk",
            "session_service": InMemorySessionService(),
        }
    )
    runner = kind(agent=answering(), plugins=[Slow(name="slow")], plugin_close_timeout=0.01, **more)
    async with asyncio.timeout(60):
        with pytest.raises(RuntimeError, match="slow"):
            await runner.close()


async def test_closing_closes_toolsets_and_plugins() -> None:
    closed: list[str] = []

    class Shelf(BaseToolset):
        async def get_tools(self, readonly_context: Any = None) -> list[Any]:
            return []

        async def close(self) -> None:
            closed.append("toolset")

    class Last(BasePlugin):
        async def close(self) -> None:
            closed.append("plugin")

    await InMemoryRunner(answering(tools=[Shelf()]), plugins=[Last(name="last")]).close()
    assert closed == ["toolset", "plugin"]


# Running


async def test_a_patched_session_service_is_asked(store: Store) -> None:
    talk = Talk(answering("One.", "Two.", "Three."), store)
    await talk.say()
    service: Any = store.service
    for name, times in (("append_event", 2), ("get_session", 1)):
        with mock.patch.object(service, name, wraps=getattr(service, name)) as patched:
            await talk.say()
        assert patched.call_count == times, name
    with mock.patch.object(service, "append_event", side_effect=RuntimeError("full")):
        with pytest.raises(RuntimeError, match="full"):
            await talk.say()
    assert [event.author for event in await talk.stored()] == ["user", "clerk"] * 3


async def test_a_patched_class_of_session_services_is_asked(store: Store) -> None:
    talk = Talk(answering("One.", "Two.", "Three."), store)
    kind: Any = type(store.service)
    await talk.say()
    for name, times in (("append_event", 2), ("get_session", 1)):
        with mock.patch.object(kind, name, autospec=True, side_effect=getattr(kind, name)) as seen:
            await talk.say()
        assert seen.call_count == times, name
    with mock.patch.object(kind, "append_event", side_effect=RuntimeError("full")):
        with pytest.raises(RuntimeError, match="full"):
            await Talk(answering("Four."), store).say()


async def test_a_patched_hook_is_asked(memory: Store) -> None:
    class Quiet(BasePlugin):
        pass

    quiet: Any = Quiet(name="quiet")
    talk = Talk(answering("One.", "Two."), memory, plugins=[quiet])
    instead = LlmResponse(content=types.ModelContent("patched"))
    for target in (BasePlugin, Quiet, quiet):
        hook = mock.AsyncMock(return_value=instead)
        with mock.patch.object(target, "before_model_callback", hook):
            assert trace(await talk.say()) == ["clerk: patched"]
        assert hook.await_count == 1
    assert trace(await talk.say()) == ["clerk: One."]


async def test_a_subclass_that_overrides_append_event_is_asked() -> None:
    class Counting(InMemorySessionService):
        seen = 0

        async def append_event(self, session: Session, event: Event) -> Event:
            self.seen += 1
            return await super().append_event(session, event)

    service = Counting()
    runner = Runner(
        app_name="a", agent=answering("Hi."), session_service=service, auto_create_session=True
    )
    async for _ in runner.run_async(**PLACE, new_message="Hi"):
        pass
    assert service.seen == 2


async def test_an_override_with_google_adk_s_parameters_serves_every_way_to_run() -> None:
    class Counting(InMemoryRunner):
        spending = 0.0
        within = "budget"

        async def run_async(  # pyright: ignore[reportIncompatibleMethodOverride]
            self,
            *,
            user_id: str,
            session_id: str,
            invocation_id: str | None = None,
            new_message: Any = None,
            state_delta: Any = None,
            run_config: RunConfig | None = None,
            yield_user_message: bool = False,
        ) -> AsyncGenerator[Event, None]:
            self.spending += 0.5
            async for event in super().run_async(
                user_id=user_id, session_id=session_id, new_message=new_message
            ):
                yield event

    runner = Counting(answering("One.", "Two."), app_name="app")
    await runner.session_service.create_session(app_name="app", user_id=USER, session_id=SESSION)
    assert final_text(list(runner.run(**PLACE, new_message="a"))) == "One."
    assert final_text(await runner.run_debug("b", **PLACE, quiet=True)) == "Two."
    assert (runner.spending, runner.within) == (1.0, "budget")


@pytest.mark.parametrize("kind", [BaseAgent, LlmAgent])
async def test_a_mock_of_an_agent_is_run(kind: type[BaseAgent]) -> None:
    seen: list[Any] = []

    async def answer(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        seen.append(ctx.agent)
        yield Event(author="any", invocation_id=ctx.invocation_id, content=types.ModelContent("Hi"))

    agent = mock.MagicMock(spec=kind, run_async=answer)
    runner = InMemoryRunner(agent, app_name="app")
    runner.auto_create_session = True
    (event,) = [event async for event in runner.run_async(**PLACE, new_message="a")]
    assert (event.author, event.node_info.path, final_text([event])) == ("any", "", "Hi")
    assert runner.agent is agent and seen == [agent]


def test_a_mock_of_anything_may_be_the_agent() -> None:
    for agent in (mock.Mock(), mock.MagicMock(), mock.MagicMock(spec=LlmAgent)):
        runner = Runner(agent=agent, app_name="app", session_service=mock.MagicMock())
        assert runner.agent is agent


@pytest.mark.parametrize("kind", [BaseTool, FunctionTool, BaseToolset])
async def test_a_mock_of_a_tool_edits_the_request(kind: type[Any], memory: Store) -> None:
    tool = mock.MagicMock(spec=kind, process_llm_request=mock.AsyncMock())
    tool.name, tool.get_tools_with_prefix = "f", mock.AsyncMock(return_value=[])
    tool.get_auth_config = mock.Mock(return_value=None)
    assert final_text(await Talk(answering("Hi", tools=[tool]), memory).say("a")) == "Hi"
    assert tool.process_llm_request.await_count == 1


@pytest.mark.parametrize(
    "function",
    [
        Runner.run_async,
        Runner.run_live,
        Runner.resume_open,
        BaseTool.run_async,
        FunctionTool.run_async,
        AgentTool.run_async,
        BasePlugin.before_agent_callback,
        BasePlugin.on_agent_error_callback,
    ],
)
def test_public_methods_have_type_hints(function: Any) -> None:
    assert len(get_type_hints(function)) >= 2


@pytest.mark.spec(1)
@pytest.mark.parametrize("parts", [[], None])
async def test_a_message_without_parts_runs_an_llm_agent_only(
    memory: Store, parts: list[types.Part] | None
) -> None:
    """As in google-adk."""
    message = types.Content(role="user", parts=parts)
    (event,) = await Talk(answering("Hi."), memory).say(message)
    assert event.content and event.content.parts and event.content.parts[0].text == "Hi."
    runner = Talk(SequentialAgent(name="all", sub_agents=[answering("Hi.")]), memory).runner
    with pytest.raises(InputValidationError, match=r"^No parts in the new_message\.$"):
        await anext(runner.run_async(**{**PLACE, "session_id": "t"}, new_message=message))


@pytest.mark.spec(1)
async def test_what_a_run_needs_is_said(memory: Store) -> None:
    runner = Talk(answering("Hi."), memory).runner
    with pytest.raises(InputValidationError) as caught:
        await anext(runner.run_async(**PLACE))
    assert str(caught.value) == (
        "run_async needs new_message, or the invocation_id of an invocation to resume."
    )
    with pytest.raises(NothingToResumeError) as nothing:
        await anext(runner.run_async(**PLACE, invocation_id="e-x"))
    assert str(nothing.value) == (
        f"Invocation 'e-x' is not in session {SESSION!r}: there is nothing to resume. To start a "
        "new invocation, leave invocation_id out."
    )


async def test_programs_for_google_adk_name_a_new_invocation(memory: Store) -> None:
    talk = Talk(answering("One.", "Two."), memory)
    with adk_ways():
        for text in ("One.", "Two."):
            assert trace(await talk.say("Hi", invocation_id="i")) == [f"clerk: {text}"]
        with pytest.raises(NothingToResumeError):
            await anext(talk.runner.run_async(**PLACE, invocation_id="other"))
    assert [event.invocation_id for event in await talk.stored()] == ["i"] * 4


@pytest.mark.spec(10, 13)
@pytest.mark.parametrize("key", [None, "k"])
async def test_the_user_s_own_event_is_yielded_on_demand(memory: Store, key: str | None) -> None:
    talk = Talk(answering("Hello.", "Hello."), memory)
    first = await talk.say("Hi", yield_user_message=True)
    assert trace(first) == ["user: Hi", "clerk: Hello."]
    assert first[0].id == (await talk.stored())[0].id
    assert trace(await talk.say("Hi")) == ["clerk: Hello."]


@pytest.mark.spec(4, 11)
async def test_a_keyed_run_has_its_state_delta_and_config(memory: Store) -> None:
    talk = Talk(answering("Hello."), memory)
    config = RunConfig(custom_metadata={"trace": 1})
    await talk.say("Hi", idempotency_key="k", state_delta={"a": 1}, run_config=config)
    log = await talk.stored()
    assert (await talk.state())["a"] == 1
    assert [(event.custom_metadata or {})["trace"] for event in log] == [1, 1]


@pytest.mark.spec(1)
async def test_a_keyed_run_is_another_s_in_another_session_user_or_app() -> None:
    model = ScriptedModel(["1", "2", "3", "4"])
    agent, service = LlmAgent(name="clerk", model=model), InMemorySessionService()
    ids: set[str] = set()
    for app, user, session in ("aus", "bus", "avs", "aut"):
        runner = Runner(
            agent=agent, app_name=app, session_service=service, auto_create_session=True
        )
        async for event in runner.run_async(
            user_id=user, session_id=session, new_message="Hi", idempotency_key="k"
        ):
            ids.add(event.invocation_id)
    assert len(ids) == 4


@pytest.mark.spec(8)
async def test_a_run_loads_what_its_config_asks_for(memory: Store) -> None:
    agent = Looks(name="looks", seen=[])
    talk = Talk(agent, memory)
    await talk.say("one")
    await talk.say("two")
    config = RunConfig(get_session_config=GetSessionConfig(num_recent_events=1))
    await talk.say("three", run_config=config)
    texts = [e.content.parts[0].text for e in agent.seen[-1].session.events if e.content]
    assert texts == ["three"]


@pytest.mark.spec(1, 26)
async def test_a_started_run_takes_every_argument_of_run_async(memory: Store) -> None:
    agent = Looks(name="looks", seen=[])
    talk = Talk(agent, memory)
    config = RunConfig(custom_metadata={"trace": 1})
    sent: dict[str, Any] = {"new_message": "Hi", "state_delta": {"a": 1}, "idempotency_key": "k"}
    first = [event async for event in talk.runner.start(**PLACE, **sent, run_config=config)]
    again = [event async for event in talk.runner.start(**PLACE, **sent)]
    assert [e.id for e in first] == [e.id for e in again]
    (ctx,) = agent.seen
    assert ctx.run_config is config and ctx.session.state["a"] == 1
    resumed = talk.runner.start(**PLACE, invocation_id=first[0].invocation_id)
    assert [e.invocation_id for e in [x async for x in resumed]] == [first[0].invocation_id]


@pytest.mark.spec(2)
def test_the_blocking_run_takes_state_delta_and_config() -> None:
    agent = Looks(name="looks", seen=[])
    runner = InMemoryRunner(agent, app_name="talk")
    runner.auto_create_session = True
    config = RunConfig()
    list(runner.run(**PLACE, new_message="Hi", state_delta={"a": 1}, run_config=config))
    (ctx,) = agent.seen
    assert ctx.run_config is config and ctx.session.state["a"] == 1
    assert (ctx.session.user_id, ctx.session.id) == (USER, SESSION)


async def test_a_program_of_google_adk_may_run_a_session_without_a_message(store: Store) -> None:
    agent = answering("First.", "Second.", "Third.")
    talk = Talk(agent, store)
    error = await talk.fails(None)
    assert isinstance(error, InputValidationError) and "needs new_message" in str(error)
    with adk_ways():
        assert final_text(await talk.say(None)) == "First."
        assert final_text(await talk.say(None, state_delta={"k": 1})) == "Second."
        assert final_text(await talk.say("Go")) == "Third."
    model: Any = agent.model
    assert [request.texts for request in model.requests] == [
        [],
        ["First."],
        ["First.", "Second.", "Go"],
    ]
    log = await talk.check_sound()
    assert [(event.author, event.content is not None) for event in log] == [
        ("clerk", True),
        ("user", False),
        ("clerk", True),
        ("user", True),
        ("clerk", True),
    ]
    assert await talk.state() == {"k": 1}
    assert len({event.invocation_id for event in log}) == 3


async def test_a_graph_without_a_message_has_no_input(memory: Store) -> None:
    graph: Any = Workflow(name="flow", edges=[(START, shows())])
    with adk_ways():
        (event,) = await Talk(App(name="talk", root_agent=graph), memory).say(None)
    assert event.output == "show got None"


@pytest.mark.parametrize("messages", ["One", ["One", "Two"]])
async def test_a_debug_run_prints_and_returns_what_is_said(
    messages: Any, capsys: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "ostinato.execution.debug_run")

    def book() -> str:
        return "booked"

    agent = answering(call("book"), "First.", "Second.", tools=[book])
    runner = InMemoryRunner(agent, app_name="talk")
    config = RunConfig(custom_metadata={"trace": 1})
    events = await runner.run_debug(messages, run_config=config)
    assert all(event.custom_metadata == {"trace": 1} for event in events)
    asked, said = ["User > One"], ["clerk > First."]
    if messages != "One":
        asked, said = [*asked, "User > Two"], [*said, "clerk > Second."]
    assert capsys.readouterr().out.splitlines() == said
    assert [record.getMessage() for record in caplog.records] == asked
    assert final_text(events) == ("First." if messages == "One" else "Second.")
    session = await runner.session_service.get_session(
        app_name="talk", user_id="debug_user_id", session_id="debug_session_id"
    )
    assert session is not None and len(session.events) == len(events) + (messages != "One") + 1


async def test_a_verbose_debug_run_has_a_line_for_each_kind_of_part(capsys: Any) -> None:
    picture = types.Blob(data=b"123", mime_type="image/png")
    parts = [
        types.Part(text="Look, "),
        types.Part(text="a plan", thought=True),
        types.Part(function_call=types.FunctionCall(name="book", args={"to": "x" * 90})),
        types.Part(function_response=types.FunctionResponse(name="book", response={"r": "y" * 99})),
        types.Part(
            executable_code=types.ExecutableCode(code="1 + 1", language=types.Language.PYTHON)
        ),
        types.Part(code_execution_result=types.CodeExecutionResult(output="2" * 101)),
        types.Part(inline_data=picture),
        types.Part(inline_data=types.Blob(data=b"123")),
        types.Part(file_data=types.FileData(file_uri="gs://b/f.txt")),
        types.Part(text="Done."),
    ]

    class Mixed(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author="mixed", content=types.Content(role="model", parts=parts))

    await InMemoryRunner(Mixed(name="mixed"), app_name="talk").run_debug("Go", verbose=True)
    assert capsys.readouterr().out.splitlines() == [
        "mixed > Look, a plan",
        "mixed > [Calling tool: book({'to': '" + "x" * 42 + "...)]",
        "mixed > [Tool result: {'r': '" + "y" * 93 + "...]",
        "mixed > [Executing Language.PYTHON code...]",
        "mixed > [Code output: " + "2" * 100 + "...]",
        "mixed > [Inline data: image/png]",
        "mixed > [Inline data: data]",
        "mixed > [File: gs://b/f.txt]",
        "mixed > Done.",
    ]
    await InMemoryRunner(Mixed(name="mixed"), app_name="talk").run_debug("Go")
    assert capsys.readouterr().out.splitlines() == ["mixed > Look, a planDone."]


async def test_a_debug_run_may_be_quiet_or_tell_of_calls_too(
    capsys: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "ostinato.execution.debug_run")

    def book() -> str:
        return "booked"

    agent = answering(call("book"), "Done.", "Bye.", tools=[book])
    runner = InMemoryRunner(agent, app_name="talk")
    where: dict[str, Any] = {"user_id": "ann", "session_id": "mine"}
    await runner.run_debug("Go", verbose=True, **where)
    assert capsys.readouterr().out.splitlines() == [
        "clerk > [Calling tool: book({})]",
        "clerk > [Tool result: {'result': 'booked'}]",
        "clerk > Done.",
    ]
    caplog.clear()
    await runner.run_debug("Go", quiet=True, **where)
    assert capsys.readouterr().out == "" and not caplog.records
    session = await runner.session_service.get_session(app_name="talk", **where)
    assert session is None or len(session.events) == 6


# Messages and hooks


@pytest.mark.spec(10)
@pytest.mark.parametrize(
    ("hook", "wanted"),
    [
        ("before_run_callback", "Content"),
        ("on_user_message_callback", "Content"),
        ("on_event_callback", "Event"),
    ],
)
async def test_a_plugin_s_wrong_answer_is_an_error_with_hook_and_agent(
    memory: Store, hook: str, wanted: str
) -> None:
    async def wrong(self: Any, **_: Any) -> Any:
        return 5

    plugin = type("Wrong", (BasePlugin,), {hook: wrong})(name="wrong")
    error = await Talk(answering("Hi."), memory, plugins=[plugin]).fails()
    message = f"Agent 'clerk': a plugin's {hook} returned int; it must return {wanted} or None."
    assert isinstance(error, CallbackError) and str(error) == message


@pytest.mark.spec(10, 18, 21, 24, 29)
async def test_a_plugin_s_hooks_are_handed_the_run_and_what_happened(memory: Store) -> None:
    seen: dict[str, list[dict[str, Any]]] = {}

    def hook(name: str) -> Any:
        async def note(self: Any, **arguments: Any) -> None:
            seen.setdefault(name, []).append(arguments)

        return note

    names = (
        "on_user_message_callback",
        "before_run_callback",
        "on_event_callback",
        "after_run_callback",
        "on_run_error_callback",
    )
    plugin = type("Notes", (BasePlugin,), {name: hook(name) for name in names})(name="notes")
    agent = Looks(name="looks", seen=[])
    talk = Talk(agent, memory, plugins=[plugin])
    (event,) = await talk.say("Hi")
    (ctx,) = agent.seen
    for arguments in (one for calls in seen.values() for one in calls):
        assert arguments["invocation_context"].invocation_id == ctx.invocation_id
    assert seen["on_user_message_callback"][0]["user_message"].parts[0].text == "Hi"
    assert [one["event"] for one in seen["on_event_callback"]] == [event]
    assert set(seen) == set(names) - {"on_run_error_callback"}


@pytest.mark.spec(19)
async def test_an_event_s_own_metadata_stays_and_the_config_s_wins(memory: Store) -> None:
    class Tags(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            yield Event(author="tags", custom_metadata={"own": 1, "both": 1})

    (event,) = await Talk(Tags(name="tags"), memory).say(
        run_config=RunConfig(custom_metadata={"both": 2})
    )
    assert event.custom_metadata == {"own": 1, "both": 2}


@pytest.mark.spec(26, 28)
async def test_an_answer_goes_on_with_its_call_s_invocation_and_its_checkpoints(
    memory: Store,
) -> None:
    def ask() -> None:
        """Answered later."""

    model = ScriptedModel([call("ask"), "Asked.", "Done."])
    agent = LlmAgent(name="clerk", model=model, tools=[LongRunningFunctionTool(ask)])
    talk = Talk(agent, memory)
    events = await talk.say("Hi")
    (asked,) = events[0].get_function_calls()
    later = await talk.answer(asked, {"n": 1}, state_delta={"told": True})
    assert {e.invocation_id for e in later} == {events[0].invocation_id}
    assert (await talk.state())["told"] is True
    wrong = types.FunctionCall(id="nobody", name="ask")
    error = await talk.fails(answer_to(wrong, {}), invocation_id=events[0].invocation_id)
    assert isinstance(error, CallNotOpenError) and "'nobody'" in str(error)


@pytest.mark.parametrize("runner", [Runner, InMemoryRunner])
def test_what_is_missing_is_told_of_the_runner_not_of_a_part_of_it(runner: Any) -> None:
    with pytest.raises(TypeError, match=r"^Runner\.__init__\(\) .*'session_service'$"):
        Runner(agent=LlmAgent(name="root"), app_name="talk")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^(InMemory)?Runner\.__init__"):
        runner(agent=LlmAgent(name="root"), app_name="talk", no_such_thing=1)
