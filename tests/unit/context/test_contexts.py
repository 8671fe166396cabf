"""ReadonlyContext and Context: what instructions, callbacks and tools see and may change."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.agents.callback_context import CallbackContext
from ostinato.agents.context import Context
from ostinato.agents.readonly_context import ReadonlyContext
from ostinato.agents.run_config import RunConfig
from ostinato.artifacts import InMemoryArtifactService
from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.credential_service import InMemoryCredentialService
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.context.invocation import InvocationContext
from ostinato.events import Event, EventActions, UiWidget
from ostinato.memory import InMemoryMemoryService
from ostinato.sessions import Session
from ostinato.sessions.state import State
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.tool_context import ToolContext
from tests.support.optionals import parts_of, present
from tests.unit.flows.kit import responses

KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
CONFIG = AuthConfig.model_validate(
    {
        "auth_scheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "raw_auth_credential": KEY,
        "credential_key": "mine",
    }
)


def run(**fields: Any) -> InvocationContext:
    made: dict[str, Any] = {
        "session_service": None,
        "artifact_service": InMemoryArtifactService(),
        "memory_service": InMemoryMemoryService(),
        "credential_service": InMemoryCredentialService(),
        "invocation_id": "e-1",
        "agent": LlmAgent(name="clerk", model=ScriptedModel()),
        "session": Session(id="s", app_name="app", user_id="ann", state={"k": 1}),
        "user_content": types.Content(role="user", parts=[types.Part(text="Hi")]),
        "run_config": RunConfig(),
        **fields,
    }
    return InvocationContext(**made)


@pytest.mark.spec(40)
def test_a_readonly_context_gives_what_the_run_holds() -> None:
    ctx = run(credential_by_key={"mine": KEY})
    view = ReadonlyContext(ctx)
    assert view.user_content is ctx.user_content
    assert (view.invocation_id, view.agent_name, view.user_id) == ("e-1", "clerk", "ann")
    assert view.session is ctx.session and view.run_config is ctx.run_config
    assert view.state["k"] == 1
    assert view.get_credential("mine") is KEY and view.get_credential("other") is None


@pytest.mark.spec(41)
def test_a_readonly_context_s_state_follows_the_session_and_refuses_writes() -> None:
    ctx = run()
    state: Any = ReadonlyContext(ctx).state
    assert isinstance(state, MappingProxyType) and not hasattr(state, "has_delta")
    with pytest.raises(TypeError):
        state["k"] = 2  # pyright: ignore[reportIndexIssue]
    with pytest.raises(TypeError):
        del state["k"]  # pyright: ignore[reportIndexIssue]
    ctx.session.state["k"] = 3
    assert state["k"] == 3


@pytest.mark.spec(40, 41)
async def test_an_instruction_function_is_given_a_readonly_context() -> None:
    seen: list[Any] = []

    def instruction(context: ReadonlyContext) -> str:
        seen.append((type(context), type(context.state), context.agent_name))
        return "Be brief."

    agent = LlmAgent(name="clerk", model=ScriptedModel(["Yes."]), instruction=instruction)
    await Conversation(agent).say("Hi")
    assert seen == [(ReadonlyContext, MappingProxyType, "clerk")]


@pytest.mark.spec(42, 43)
def test_callbacks_and_tools_are_given_one_class_that_extends_the_readonly_one() -> None:
    assert CallbackContext is Context and ToolContext is Context
    assert issubclass(Context, ReadonlyContext)


@pytest.mark.spec(42)
def test_what_a_callback_writes_shows_at_once_and_goes_with_its_event() -> None:
    ctx, actions = run(), EventActions()
    context = CallbackContext(ctx, event_actions=actions)
    assert isinstance(context.state, State) and context.actions is actions
    assert context._event_actions is actions  # type: ignore[attr-defined]  # tests for google-adk
    context.state["k"] = 2
    context.state["user:new"] = "x"
    assert actions.state_delta == {"k": 2, "user:new": "x"}
    assert ReadonlyContext(ctx).state["k"] == 2 and Context(ctx).state["user:new"] == "x"


@pytest.mark.spec(42, 197)
async def test_a_callback_saves_loads_and_lists_artifacts_and_its_event_names_the_version() -> None:
    context = CallbackContext(run())
    note = types.Part(text="one")
    assert await context.save_artifact("note.txt", note) == 0
    assert await context.save_artifact("note.txt", types.Part(text="two")) == 1
    assert context.actions.artifact_delta == {"note.txt": 1}
    assert present(await context.load_artifact("note.txt")).text == "two"
    assert present(await context.load_artifact("note.txt", version=0)).text == "one"
    assert await context.list_artifacts() == ["note.txt"]
    assert present(await context.get_artifact_version("note.txt", 0)).version == 0


@pytest.mark.spec(42)
async def test_a_callback_saves_and_loads_credentials() -> None:
    context = CallbackContext(run())
    config = CONFIG.model_copy(update={"exchanged_auth_credential": KEY})
    assert await context.load_credential(config) is None
    await context.save_credential(config)
    assert await context.load_credential(config) == KEY


@pytest.mark.spec(42)
@pytest.mark.parametrize(
    ("service", "use"),
    [
        ("artifact_service", lambda c: c.list_artifacts()),
        ("artifact_service", lambda c: c.load_artifact("f")),
        ("artifact_service", lambda c: c.save_artifact("f", types.Part(text="x"))),
        ("memory_service", lambda c: c.search_memory("x")),
        ("memory_service", lambda c: c.add_session_to_memory()),
        ("credential_service", lambda c: c.load_credential(CONFIG)),
    ],
)
async def test_a_service_that_the_runner_was_not_given_is_a_clear_error(
    service: str, use: Callable[[Context], Any]
) -> None:
    context = Context(run(**{service: None}))
    what = service.partition("_")[0].capitalize()
    with pytest.raises(ValueError, match=f"{what} service .*Give the Runner one"):
        await use(context)


@pytest.mark.spec(43, 149)
def test_a_tool_s_requests_ride_on_its_actions_under_the_call_s_id() -> None:
    context = ToolContext(run(), function_call_id="call-1")
    context.request_confirmation(hint="Sure?", payload={"n": 1})
    context.request_credential(CONFIG)
    assert context.function_call_id == "call-1"
    assert context.actions.requested_tool_confirmations == {
        "call-1": ToolConfirmation(hint="Sure?", payload={"n": 1}, confirmed=False)
    }
    (asked,) = context.actions.requested_auth_configs.items()
    assert asked[0] == "call-1" and asked[1].credential_key == "mine"


@pytest.mark.spec(43)
def test_requests_outside_of_a_tool_call_are_refused() -> None:
    context = ToolContext(run())
    for ask in (context.request_confirmation, lambda: context.request_credential(CONFIG)):
        with pytest.raises(ValueError, match="function_call_id"):
            ask()


@pytest.mark.spec(43)
def test_a_tool_reads_the_credential_that_the_user_gave() -> None:
    context = ToolContext(run(), function_call_id="call-1")
    assert context.get_auth_response(CONFIG) is None
    context.state["temp:mine"] = KEY
    assert context.get_auth_response(CONFIG) == KEY


@pytest.mark.spec(43, 198)
async def test_a_tool_searches_memory_for_what_this_user_of_this_app_said() -> None:
    ctx = run()
    for user_id, text in (("ann", "Ann likes tea"), ("bob", "Bob likes tea")):
        content = types.Content(role="user", parts=[types.Part(text=text)])
        session = Session(id=user_id, app_name="app", user_id=user_id)
        session.events = [Event(author="user", content=content)]
        await ctx.memory_service.add_session_to_memory(session)
    found = await ToolContext(ctx, function_call_id="call-1").search_memory("tea")
    assert [parts_of(m)[0].text for m in found.memories] == ["Ann likes tea"]


@pytest.mark.spec(43)
async def test_a_tool_in_a_run_is_given_its_context_with_the_call_s_id() -> None:
    seen: list[Any] = []

    async def note(tool_context: ToolContext) -> str:
        seen.append((tool_context.function_call_id, tool_context.agent_name))
        tool_context.state["noted"] = True
        await tool_context.save_artifact("f.txt", types.Part(text="x"))
        return str(await tool_context.list_artifacts())

    agent = LlmAgent(name="clerk", model=ScriptedModel([call("note"), "Done."]), tools=[note])
    talk = Conversation(agent)
    events = await talk.say("Go")
    (asked,) = events[0].get_function_calls()
    assert seen == [(asked.id, "clerk")]
    assert responses(events) == [{"result": "['f.txt']"}]
    assert events[1].actions.state_delta == {"noted": True}
    assert events[1].actions.artifact_delta == {"f.txt": 0}
    assert (await talk.session()).state == {"noted": True}


@pytest.mark.spec(179)
def test_a_widget_is_added_once_to_the_event() -> None:
    context = Context(run())
    context.render_ui_widget(UiWidget(id="w", provider="mcp"))
    context.render_ui_widget(UiWidget(id="v", provider="mcp"))
    assert [w.id for w in context.actions.render_ui_widgets or []] == ["w", "v"]
    with pytest.raises(ValueError, match="'w'"):
        context.render_ui_widget(UiWidget(id="w", provider="mcp"))


def test_the_idempotency_key_names_the_call_and_not_its_arguments() -> None:
    context = Context(run(), function_call_id="call-1")
    assert context.idempotency_key == "app/ann/s/e-1/call-1"
    with pytest.raises(ValueError, match="idempotency_key"):
        _ = Context(run()).idempotency_key


async def test_running_a_node_needs_a_run_of_a_runner() -> None:
    with pytest.raises(NotImplementedError, match="run_node needs a run that a Runner started"):
        await Context(run()).run_node(LlmAgent(name="clerk", model=ScriptedModel()))


def test_outside_a_graph_a_context_has_what_a_node_has_and_nothing_in_it() -> None:
    context = Context(run())
    assert context.node_path == "" and context.event_author == "" and context.parent_ctx is None
    assert context.error is None and context.error_node_path == ""
    assert context.interrupt_ids == set()
    context.output, context.route = "kept", "left"
    assert (context.output, context.route) == ("kept", "left")
    assert context.actions.route is None
    assert Context(run()).output is None
