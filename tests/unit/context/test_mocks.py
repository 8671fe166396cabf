"""Contexts made of mocks, and mocks of contexts: as the unit tests of tools and callbacks use
them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LoopAgent, SequentialAgent
from ostinato.agents.base_agent import BaseAgentState
from ostinato.agents.callback_context import CallbackContext
from ostinato.agents.context import Context
from ostinato.agents.readonly_context import ReadonlyContext
from ostinato.apps import ResumabilityConfig
from ostinato.auth.auth_tool import AuthConfig
from ostinato.context.invocation import InvocationContext
from ostinato.events import Event, EventActions, UiWidget
from ostinato.plugins.debug_logging_plugin import DebugLoggingPlugin
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService, Session
from ostinato.tools.authenticated_function_tool import AuthenticatedFunctionTool
from ostinato.tools.base_tool import BaseTool
from ostinato.tools.function_tool import FunctionTool
from ostinato.tools.long_running_tool import LongRunningFunctionTool
from ostinato.tools.tool_context import ToolContext

CONFIG = AuthConfig.model_validate(
    {
        "auth_scheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "raw_auth_credential": {"auth_type": "apiKey", "api_key": "k"},
        "credential_key": "mine",
    }
)
SAVED = 3


def mock_of_a_run(spec: bool) -> Any:
    run = Mock(spec=InvocationContext) if spec else MagicMock()
    run.session = Mock(spec=Session) if spec else MagicMock()
    run.session.state, run.session.id = {"k": 1}, "s"
    run.app_name, run.user_id, run.invocation_id = "app", "ann", "e-1"
    run.agent = Mock()
    run.agent.name = "clerk"
    run.artifact_service = AsyncMock()
    run.artifact_service.save_artifact.return_value = SAVED
    run.memory_service = AsyncMock()
    run.credential_service = AsyncMock()
    return run


def real_run(**fields: Any) -> InvocationContext:
    made: dict[str, Any] = {
        "session_service": InMemorySessionService(),
        "invocation_id": "e-1",
        "session": Session(id="s", app_name="app", user_id="ann"),
        **fields,
    }
    return InvocationContext(**made)


@pytest.fixture(name="run", params=[False, True], ids=["MagicMock", "Mock(spec)"])
def fixture_run(request: pytest.FixtureRequest) -> Any:
    return mock_of_a_run(request.param)


@pytest.mark.parametrize("kind", [Context, CallbackContext, ToolContext])
def test_a_context_of_a_mock_reads_and_writes_state(run: Any, kind: Any) -> None:
    context = kind(run)
    context.state["new"] = 2
    assert (context.state["k"], context.state.get("none")) == (1, None)
    assert context.state.to_dict() == {"k": 1, "new": 2}
    assert context.actions.state_delta == {"new": 2}
    assert context.agent_name == "clerk" and context.session is run.session
    assert dict(ReadonlyContext(run).state) == {"k": 1, "new": 2}


async def test_a_context_of_a_mock_calls_its_services_with_keywords(run: Any) -> None:
    context = ToolContext(run, function_call_id="c")
    place = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    part = types.Part(text="x")
    assert await context.save_artifact("f", part) == SAVED
    run.artifact_service.save_artifact.assert_awaited_once_with(
        **place, filename="f", artifact=part, custom_metadata=None
    )
    assert context.actions.artifact_delta == {"f": SAVED}
    await context.load_artifact("f")
    run.artifact_service.load_artifact.assert_awaited_once_with(**place, filename="f", version=None)
    await context.list_artifacts()
    run.artifact_service.list_artifact_keys.assert_awaited_once_with(**place)
    await context.search_memory("q")
    run.memory_service.search_memory.assert_awaited_once_with(
        app_name="app", user_id="ann", query="q"
    )
    await context.add_memory(memories=[])
    run.memory_service.add_memory.assert_awaited_once_with(
        app_name="app", user_id="ann", memories=[], custom_metadata=None
    )
    await context.save_credential(CONFIG)
    run.credential_service.save_credential.assert_awaited_once_with(CONFIG, context)
    assert await context.load_credential(CONFIG) is not None


def test_a_context_of_a_mock_takes_requests(run: Any) -> None:
    context = ToolContext(run, function_call_id="c")
    context.request_confirmation(hint="Sure?")
    context.request_credential(CONFIG)
    context.render_ui_widget(UiWidget(id="w", provider="mcp"))
    actions = context.actions
    assert actions.requested_tool_confirmations["c"].hint == "Sure?"
    assert list(actions.requested_auth_configs) == ["c"]
    assert [widget.id for widget in actions.render_ui_widgets or []] == ["w"]
    assert context.get_auth_response(CONFIG) is None
    context.isolation_scope = "scope"
    assert context.isolation_scope == "scope"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            ToolContext,
            "function_call_id tool_confirmation node_path resume_inputs run_id attempt_count node "
            "parent_ctx state actions",
        ),
        (BaseTool, "is_long_running custom_metadata"),
        (
            Runner,
            "agent artifact_service memory_service credential_service context_cache_config "
            "resumability_config",
        ),
    ],
)
def test_a_mock_of_a_class_has_its_attributes(kind: type, names: str) -> None:
    mock = MagicMock(spec=kind)
    assert [name for name in names.split() if not hasattr(mock, name)] == []


def _plain(n: int) -> int:
    return n + 1


def _writes(n: int, tool_context: ToolContext) -> int:
    tool_context.state["n"] = n
    return n + 1


async def _async(n: int) -> int:
    return n + 1


@pytest.mark.parametrize("func", [_plain, _writes, _async])
@pytest.mark.parametrize("kind", [FunctionTool, LongRunningFunctionTool, AuthenticatedFunctionTool])
@pytest.mark.parametrize("spec", [None, ToolContext])
async def test_a_function_tool_runs_with_a_mock_for_a_context(
    func: Any, kind: Any, spec: Any
) -> None:
    context = MagicMock(spec=spec)
    assert await kind(func=func).run_async(args={"n": 1}, tool_context=context) == 2
    assert context.state.__setitem__.called is (func is _writes)


async def test_a_function_tool_runs_with_no_context_and_with_one_of_a_mock(run: Any) -> None:
    nothing: Any = None
    assert await FunctionTool(_plain).run_async(args={"n": 1}, tool_context=nothing) == 2
    context = ToolContext(run)
    assert await FunctionTool(_writes).run_async(args={"n": 1}, tool_context=context) == 2
    assert context.actions.state_delta == {"n": 1}


async def test_a_confirmed_function_runs_with_a_mock_for_a_context() -> None:
    tool = FunctionTool(_plain, require_confirmation=True)
    context = MagicMock(tool_confirmation=None)
    assert "error" in await tool.run_async(args={"n": 1}, tool_context=context)
    context.request_confirmation.assert_called_once()
    context = MagicMock()
    context.tool_confirmation.confirmed = True
    assert await tool.run_async(args={"n": 1}, tool_context=context) == 2


def test_a_run_over_a_mock_of_a_session_reads_its_events() -> None:
    call = types.Part(function_call=types.FunctionCall(id="c", name="f"))
    answer = types.Part(function_response=types.FunctionResponse(id="c", name="f"))
    events = [
        Event(author="a", invocation_id="e-1", actions=EventActions(agent_state={"x": 1})),
        Event(author="b", invocation_id="e-1", actions=EventActions(end_of_agent=True)),
        Event(author="c", invocation_id="e-1", message=types.Content(parts=[call])),
        Event(author="c", invocation_id="e-1", message=types.Content(parts=[answer])),
    ]
    ctx = real_run(
        session=Mock(spec=Session, events=events, id="s"),
        agent=Mock(spec=BaseAgent),
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    ctx.populate_invocation_agent_states()
    assert ctx.agent_states == {"a": {"x": 1}, "c": {}}
    assert ctx.end_of_agents == {"a": False, "b": True, "c": False}
    found = ctx._get_events(current_invocation=True)  # pyright: ignore[reportPrivateUsage]
    assert [event.id for event in found] == [event.id for event in events]
    match = ctx._find_matching_function_call(events[3])  # pyright: ignore[reportPrivateUsage]
    assert match is not None and match.id == events[2].id


def test_a_context_without_an_agent_has_an_unknown_one() -> None:
    assert ReadonlyContext(real_run()).agent_name == "unknown"


def test_a_context_s_isolation_scope_can_be_set() -> None:
    run = real_run(isolation_scope="outer")
    context = Context(run)
    assert context.get_invocation_context() is run
    context.isolation_scope = "inner"
    assert context.isolation_scope == "inner"
    assert context.get_invocation_context().isolation_scope == "inner"
    assert context.get_invocation_context().session is run.session
    assert run.isolation_scope == "outer"


async def test_the_debug_plugin_writes_what_a_mock_of_a_session_holds(tmp_path: Path) -> None:
    plugin = DebugLoggingPlugin(output_path=str(tmp_path / "debug.yaml"))
    run = MagicMock(invocation_id="e-1")
    run.session.state = {"k": Mock()}
    await plugin.before_run_callback(invocation_context=run)
    await plugin.on_event_callback(invocation_context=run, event=Event(author="a", message="Hi"))
    await plugin.after_run_callback(invocation_context=run)
    text = (tmp_path / "debug.yaml").read_text()
    assert '"session_id": "<MagicMock' in text and '"text": "Hi"' in text


class Speaks(BaseAgent):
    """Yields an event of its own and one of another agent."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Event(author=self.name, message="1")
        yield Event(author="other", message="2")


async def test_an_agent_that_is_run_by_hand_as_a_node_gives_its_events_the_path() -> None:
    agent = Speaks(name="speaks")
    context = Context(real_run(agent=agent), node_path="wf")
    seen = [
        (event.author, event.node_info.path, context.event_author)
        async for event in agent.run(ctx=context, node_input=None)
    ]
    assert seen == [("speaks", "wf", "speaks"), ("other", "", "other")]


class Asks(BaseAgent):
    """Notes a state and calls a long-running tool, with or without saying that it is one."""

    says: bool = True

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        ctx.set_agent_state(self.name, agent_state=BaseAgentState())
        call = types.Part(function_call=types.FunctionCall(id="1", name="order"))
        yield Event(
            author=self.name,
            message=types.Content(role="model", parts=[call]),
            long_running_tool_ids={"1"} if self.says else None,
        )
        yield Event(author=self.name, message="Waiting.")


@pytest.mark.parametrize("patched", [False, True])
@pytest.mark.parametrize("kind", [LoopAgent, SequentialAgent])
async def test_shells_that_are_run_by_hand_pause_at_a_long_running_call(
    kind: Any, patched: bool
) -> None:
    shell = kind(name="shell", sub_agents=[Asks(name=name, says=not patched) for name in "ab"])
    ctx = real_run(agent=shell, resumability_config=ResumabilityConfig(is_resumable=True))
    if patched:
        with patch.object(InvocationContext, "should_pause_invocation", return_value=True):
            events = [event async for event in shell.run_async(ctx)]
    else:
        events = [event async for event in shell.run_async(ctx)]
    assert [event.author for event in events] == ["shell", "a", "a"]
    assert ctx.agent_states["shell"]["current_sub_agent"] == "a" and ctx.agent_states["a"] == {}
    assert ctx.end_of_agents == {"shell": False, "a": False}
