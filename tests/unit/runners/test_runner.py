"""The runner's own promises: order of things, commits before hand-over, ids, config, errors."""

from __future__ import annotations

import asyncio
import inspect
import re
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, RunConfig
from ostinato.agents.invocation_context import new_invocation_context_id
from ostinato.apps import App
from ostinato.errors import (
    CallNotOpenError,
    InputValidationError,
    NothingToResumeError,
    SessionNotFoundError,
)
from ostinato.events import Event, EventActions
from ostinato.plugins import BasePlugin
from ostinato.runners import InMemoryRunner, Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.testing import ScriptedModel, call, final_text, trace
from tests.unit.flows.kit import SESSION, USER, Store, Talk, answer_to, model_of, responses

INVOCATION = re.compile(r"e-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def said(text: str, role: str | None = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def answering(*texts: Any, **options: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(list(texts)), **options)


@pytest.mark.spec(1)
def test_run_async_takes_keywords_only_and_is_an_async_generator() -> None:
    parameters = list(inspect.signature(Runner.run_async).parameters.values())[1:]
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
    names = [p.name for p in parameters]
    wanted = ["user_id", "session_id", "invocation_id", "new_message", "state_delta", "run_config"]
    assert names[:6] == wanted
    assert [p.name for p in parameters if p.default is p.empty] == ["user_id", "session_id"]
    assert inspect.isasyncgenfunction(Runner.run_async)


@pytest.mark.spec(2)
def test_run_is_the_blocking_form() -> None:
    runner = InMemoryRunner(answering("Hello."), app_name="talk")
    runner.auto_create_session = True
    events = list(runner.run(user_id=USER, session_id=SESSION, new_message=said("Hi")))
    assert trace(events) == ["clerk: Hello."]


@pytest.mark.spec(2)
async def test_run_works_inside_of_a_running_loop() -> None:
    runner = InMemoryRunner(answering("Hello."), app_name="talk")
    runner.auto_create_session = True
    events = list(runner.run(user_id=USER, session_id=SESSION, new_message=said("Hi")))
    assert trace(events) == ["clerk: Hello."]


@pytest.mark.spec(2, 29)
def test_run_raises_what_the_run_raised() -> None:
    raised = RuntimeError("quota")
    runner = InMemoryRunner(answering(raised), app_name="talk")
    runner.auto_create_session = True
    with pytest.raises(RuntimeError) as caught:
        list(runner.run(user_id=USER, session_id=SESSION, new_message=said("Hi")))
    assert caught.value is raised


@pytest.mark.spec(2)
def test_run_that_is_closed_early_ends_its_run_and_frees_the_session() -> None:
    ran: list[int] = []

    def book() -> str:
        ran.append(1)
        return "booked"

    agent = answering(call("book"), "Never said.", tools=[book])
    runner = InMemoryRunner(agent, app_name="talk")
    runner.auto_create_session = True
    run = runner.run(user_id=USER, session_id=SESSION, new_message=said("Hi"))
    next(run)
    run.close()
    assert ran == []
    agent.model = ScriptedModel(["Again."])
    again = list(runner.run(user_id=USER, session_id=SESSION, new_message=said("Hi")))
    assert trace(again) == ["clerk: Again."]


@pytest.mark.spec(3)
def test_a_runner_takes_an_app_or_an_agent_with_a_name_not_both_or_neither() -> None:
    service = InMemorySessionService()
    app = App(name="talk", root_agent=answering())
    assert Runner(app=app, session_service=service).app_name == "talk"
    assert Runner(app=app, app_name="other", session_service=service).app_name == "other"
    assert Runner(agent=answering(), app_name="x", session_service=service).app_name == "x"
    either: list[dict[str, Any]] = [{}, {"agent": answering()}, {"app": app, "agent": answering()}]
    for wrong in either:
        with pytest.raises(ValueError, match="app"):
            Runner(session_service=service, **wrong)


@pytest.mark.spec(4)
async def test_a_run_without_a_config_has_the_default_one(memory: Store) -> None:
    seen: list[Any] = []

    class Looks(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            seen.append(ctx.run_config)
            return
            yield

    await Talk(Looks(name="looks"), memory).say()
    assert seen == [RunConfig()]


@pytest.mark.spec(5, 13)
async def test_a_message_without_a_role_is_stored_as_the_user_s_and_not_edited(
    store: Store,
) -> None:
    message = said("Hi", role=None)
    talk = Talk(answering("Hello."), store)
    await talk.say(message)
    first = (await talk.stored())[0]
    assert first.author == "user" and first.content == said("Hi")
    assert message.role is None


@pytest.mark.spec(6)
@pytest.mark.parametrize("message", [{"role": "user", "parts": [{"text": "Hi"}]}, "Hi"])
async def test_a_message_may_be_a_dict_or_a_text(memory: Store, message: Any) -> None:
    talk = Talk(answering("Hello."), memory)
    await talk.say(message)
    assert (await talk.stored())[0].content == said("Hi")


@pytest.mark.parametrize("message", [7, {"role": "user", "parts": "x"}, {"nonsense": 1}, [1]])
async def test_a_message_of_another_form_is_refused_and_nothing_is_stored(
    memory: Store, message: Any
) -> None:
    talk = Talk(answering("Hello."), memory)
    error = await talk.fails(message)
    assert isinstance(error, InputValidationError) and "new_message" in str(error)
    await talk.say("Hi")
    assert trace(await talk.stored()) == ["user: Hi", "clerk: Hello."]


async def test_neither_message_nor_invocation_is_refused(memory: Store) -> None:
    error = await Talk(answering(), memory).fails(None)
    assert isinstance(error, InputValidationError)
    assert "new_message" in str(error) and "invocation_id" in str(error)


@pytest.mark.spec(8)
async def test_a_missing_session_is_an_error_that_names_it_and_the_way_out(store: Store) -> None:
    talk = Talk(answering(), store)
    talk.runner.auto_create_session = False
    error = await talk.fails()
    assert isinstance(error, SessionNotFoundError) and isinstance(error, ValueError)
    assert SESSION in str(error) and "auto_create_session" in str(error)


@pytest.mark.spec(8)
async def test_a_missing_session_is_created_where_that_is_enabled(store: Store) -> None:
    talk = Talk(answering("Hello."), store)
    await talk.say("Hi")
    assert len(await talk.stored()) == 2


@pytest.mark.parametrize("name", ["", "a/b", "..", " a", "a\n", "x" * 300, "a\\b"])
@pytest.mark.parametrize("which", ["session_id", "user_id"])
async def test_an_invalid_session_or_user_id_is_refused_before_anything_is_stored(
    store: Store, name: str, which: str
) -> None:
    runner = Talk(answering(), store).runner
    place: dict[str, Any] = {"user_id": USER, "session_id": SESSION, which: name}
    with pytest.raises((InputValidationError, SessionNotFoundError)):
        async for _ in runner.run_async(**place, new_message="Hi"):
            pass
    listed = await store.service.list_sessions(app_name="talk", user_id=None)
    assert listed.sessions == []


@pytest.mark.spec(216)
@pytest.mark.parametrize("name", ["", "1app", "a b", "a/b", "user", "a.b", "ä", "app\n"])
def test_an_invalid_app_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"[Aa]pp name"):
        App(name=name, root_agent=answering())


@pytest.mark.spec(216)
@pytest.mark.parametrize("name", ["a", "my_app", "My-App2"])
def test_a_valid_app_name_is_taken(name: str) -> None:
    assert App(name=name, root_agent=answering()).name == name


@pytest.mark.spec(9)
async def test_a_new_invocation_id_is_e_and_a_uuid4(memory: Store) -> None:
    assert INVOCATION.fullmatch(new_invocation_context_id())
    (event,) = await Talk(answering("Hello."), memory).say()
    assert INVOCATION.fullmatch(event.invocation_id)


@pytest.mark.spec(10)
async def test_the_user_message_hook_may_change_what_is_stored_and_sent(store: Store) -> None:
    class Polite(BasePlugin):
        async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any):
            assert invocation_context.user_content == user_message
            return said("Please: " + user_message.parts[0].text)

    agent = answering("Hello.")
    message = said("Hi")
    talk = Talk(agent, store, plugins=[Polite(name="polite")])
    await talk.say(message)
    assert model_of(agent).requests[0].texts == ["Please: Hi"]
    assert trace(await talk.stored())[0] == "user: Please: Hi"
    assert message == said("Hi")


@pytest.mark.spec(11, 184)
async def test_the_state_delta_rides_on_the_user_s_event(store: Store) -> None:
    agent = answering("Hello.", instruction="Speak {language}.")
    talk = Talk(agent, store)
    given = {"language": "French", "temp:x": 1}
    await talk.say("Hi", state_delta=given)
    assert (await talk.stored())[0].actions.state_delta == {"language": "French"}
    assert "Speak French." in model_of(agent).requests[0].instruction
    assert (await talk.state())["language"] == "French"
    assert given == {"language": "French", "temp:x": 1}


@pytest.mark.spec(12, 14)
async def test_an_answer_goes_to_the_branch_and_the_agent_of_its_call(store: Store) -> None:
    from ostinato.agents import ParallelAgent
    from ostinato.tools import LongRunningFunctionTool

    def ask() -> None:
        return None

    left = LlmAgent(
        name="left",
        model=ScriptedModel([call("ask"), "Left is done."]),
        tools=[LongRunningFunctionTool(ask)],
    )
    right = LlmAgent(name="right", model=ScriptedModel(["Right is done."]))
    talk = Talk(ParallelAgent(name="both", sub_agents=[left, right]), store)
    events = await talk.say()
    (asked,) = [c for e in events for c in e.get_function_calls()]
    (call_event,) = [e for e in events if e.get_function_calls()]
    assert call_event.branch == "both.left"
    await talk.answer(asked, {"ok": True})
    answer = next(e for e in await talk.stored() if e.author == "user" and e.branch)
    assert answer.branch == "both.left"
    assert model_of(left).requests[-1].function_responses[-1].response == {"ok": True}
    assert len(model_of(right).requests) == 1


async def test_an_answer_to_a_call_that_never_was_is_refused_and_not_stored(store: Store) -> None:
    talk = Talk(answering("Hello."), store)
    ghost = types.FunctionCall(id="ghost-1", name="ask")
    error = await talk.fails(answer_to(ghost, {}))
    assert isinstance(error, CallNotOpenError) and "ghost-1" in str(error)
    await talk.say("Hi")
    assert trace(await talk.stored()) == ["user: Hi", "clerk: Hello."]


async def test_each_answer_of_a_message_has_to_answer_a_call(memory: Store) -> None:
    """A response without a call would be left in the log for good."""
    from ostinato.tools import LongRunningFunctionTool

    def ask() -> None:
        return None

    talk = Talk(answering(call("ask"), tools=[LongRunningFunctionTool(ask)]), memory)
    events = await talk.say()
    (asked,) = [c for e in events for c in e.get_function_calls()]
    before = len(await talk.stored())
    ghost = types.FunctionCall(id="ghost-1", name="ask")
    error = await talk.fails(answer_to(asked, {"ok": 1}, ghost, {"ok": 2}))
    assert isinstance(error, CallNotOpenError) and "ghost-1" in str(error)
    assert len(await talk.stored()) == before


@pytest.mark.spec(22, 23, 13)
async def test_every_event_is_in_the_store_before_caller_and_agent_go_on(store: Store) -> None:
    talk: Talk
    at_agent: list[int] = []

    class Says(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            at_agent.append(len(await talk.stored()))
            for n in range(3):
                yield Event(
                    author=self.name,
                    invocation_id=ctx.invocation_id,
                    content=said(str(n), "model"),
                    actions=EventActions(state_delta={"n": n}),
                )
                assert ctx.session.state["n"] == n
                at_agent.append(len(await talk.stored()))

    talk = Talk(Says(name="says"), store)
    at_caller: list[int] = []
    async for event in talk.run():
        log = await talk.stored()
        assert log[-1].id == event.id
        at_caller.append(len(log))
    assert at_agent == [1, 2, 3, 4] and at_caller == [2, 3, 4]


@pytest.mark.spec(20, 188)
async def test_a_partial_event_is_handed_on_and_neither_stored_nor_applied(store: Store) -> None:
    class Says(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            yield Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                partial=True,
                content=said("pie", "model"),
                actions=EventActions(state_delta={"n": 1}),
            )
            assert "n" not in ctx.session.state

    talk = Talk(Says(name="says"), store)
    (event,) = await talk.say()
    assert event.partial
    assert trace(await talk.stored()) == ["user: Go"]
    assert "n" not in await talk.state()


@pytest.mark.spec(15, 16, 17)
async def test_the_agent_that_spoke_last_goes_on_unless_it_may_not_go_back(store: Store) -> None:
    for may_go_back in (True, False):
        store_now = Store(None) if not may_go_back else store
        root_model, child_model = ScriptedModel(), ScriptedModel()
        child = LlmAgent(
            name="child", model=child_model, disallow_transfer_to_parent=not may_go_back
        )
        root = LlmAgent(name="root", model=root_model, sub_agents=[child])
        talk = Talk(root, store_now)
        root_model.add(call("transfer_to_agent", agent_name="child"))
        child_model.add("Child here.")
        await talk.say("Hi")
        (child_model if may_go_back else root_model).add("Still here.")
        events = await talk.say("Next")
        assert events[-1].author == ("child" if may_go_back else "root")


@pytest.mark.spec(16, 17)
async def test_events_of_unknown_agents_are_passed_over_with_a_warning(
    memory: Store, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(answering("One.", "Two."), memory)
    await talk.say()
    session = await memory.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
    stranger = Event(author="stranger", invocation_id="x", content=said("Boo", "model"))
    await memory.service.append_event(session, stranger)
    assert final_text(await talk.say()) == "Two."
    assert "stranger" in caplog.text


@pytest.mark.spec(18, 21)
async def test_content_of_before_run_is_the_only_answer_and_passes_on_event(
    store: Store,
) -> None:
    seen: list[str] = []

    class Closed(BasePlugin):
        async def before_run_callback(self, *, invocation_context: Any) -> Any:
            return said("We are closed.", "model")

        async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
            seen.append("event")

        async def after_run_callback(self, *, invocation_context: Any) -> None:
            seen.append("after")

    talk = Talk(answering(), store, plugins=[Closed(name="closed")])
    (event,) = await talk.say()
    assert event.author == "model" and final_text([event]) == "We are closed."
    assert seen == ["event", "after"]
    assert len(await talk.stored()) == 2


@pytest.mark.spec(19)
async def test_custom_metadata_is_merged_into_every_event(store: Store) -> None:
    def book() -> str:
        return "booked"

    talk = Talk(answering(call("book"), "Done.", tools=[book]), store)
    await talk.say(run_config=RunConfig(custom_metadata={"trace": "t1"}))
    log = await talk.stored()
    assert len(log) == 4
    assert [e.custom_metadata for e in log] == [{"trace": "t1"}] * 4


@pytest.mark.spec(21)
async def test_an_event_changed_by_on_event_is_what_is_stored_and_yielded(store: Store) -> None:
    ids: list[Any] = []

    class Shouts(BasePlugin):
        async def on_event_callback(self, *, invocation_context: Any, event: Any) -> Event:
            ids.append((event.id, event.invocation_id, event.timestamp))
            return Event(author="clerk", content=said("LOUD", "model"), id="other")

    talk = Talk(answering("quiet"), store, plugins=[Shouts(name="shouts")])
    (event,) = await talk.say()
    assert final_text([event]) == "LOUD"
    assert [(event.id, event.invocation_id, event.timestamp)] == ids
    assert trace(await talk.stored()) == ["user: Go", "clerk: LOUD"]


@pytest.mark.spec(24)
async def test_after_run_is_called_last_and_its_answer_is_not_emitted(memory: Store) -> None:
    order: list[str] = []

    class Last(BasePlugin):
        async def after_run_callback(self, *, invocation_context: Any) -> Any:
            order.append("after_run")
            return said("Ignored", "model")

    talk = Talk(answering("Hello."), memory, plugins=[Last(name="last")])
    async for event in talk.run():
        order += [final_text([event])]
    assert order == ["Hello.", "after_run"]


@pytest.mark.spec(26)
async def test_an_invocation_to_resume_that_is_not_there_is_an_error(store: Store) -> None:
    talk = Talk(answering("Hello."), store)
    await talk.say("Hi")
    error = await talk.fails(None, invocation_id="e-none")
    assert isinstance(error, NothingToResumeError) and "e-none" in str(error)
    assert len(await talk.stored()) == 2


@pytest.mark.spec(28)
async def test_all_of_one_invocation_share_its_id(store: Store) -> None:
    def book() -> str:
        return "booked"

    child = LlmAgent(name="child", model=ScriptedModel([call("book"), "Done."]), tools=[book])
    root = LlmAgent(
        name="root",
        model=ScriptedModel([call("transfer_to_agent", agent_name="child")]),
        sub_agents=[child],
    )
    talk = Talk(root, store)
    await talk.say()
    assert len({e.invocation_id for e in await talk.stored()}) == 1


@pytest.mark.spec(29)
async def test_an_error_of_a_custom_agent_reaches_the_caller(store: Store) -> None:
    raised = LookupError("mine")

    class Fails(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            raise raised
            yield

    talk = Talk(Fails(name="fails"), store)
    assert await talk.fails() is raised
    await talk.check_sound()


@pytest.mark.spec("218a")
async def test_get_session_config_limits_what_the_run_loads(store: Store) -> None:
    agent = answering("A1", "A2", "A3")
    talk = Talk(agent, store)
    await talk.say("Q1")
    await talk.say("Q2")
    config = RunConfig(get_session_config=GetSessionConfig(num_recent_events=1))
    await talk.say("Q3", run_config=config)
    assert model_of(agent).requests[-1].texts == ["A2", "Q3"]
    assert len(await talk.stored()) == 6
    model_of(agent).add("A4")
    await talk.say("Q4")
    assert model_of(agent).requests[-1].texts == ["Q1", "A1", "Q2", "A2", "Q3", "A3", "Q4"]


async def test_events_that_a_callback_edits_show_in_the_next_request_and_not_in_the_store(
    store: Store,
) -> None:
    def forget(callback_context: Any) -> None:
        session = callback_context.session
        session.events = [e for e in session.events if "secret" not in str(e.content)]

    agent = answering("A1", "A2", before_agent_callback=forget)
    talk = Talk(agent, store)
    await talk.say("my secret")
    await talk.say("Q2")
    assert model_of(agent).requests[-1].texts == ["A1", "Q2"]
    assert "user: my secret" in trace(await talk.stored())
    await talk.check_sound()


async def test_events_inserted_by_a_callback_show_in_the_next_request_only(store: Store) -> None:
    def whisper(callback_context: Any) -> None:
        callback_context.session.events.insert(
            0, Event(author="user", invocation_id="x", content=said("Whisper"))
        )

    agent = answering("A1", before_agent_callback=whisper)
    talk = Talk(agent, store)
    await talk.say("Q1")
    assert model_of(agent).requests[-1].texts == ["Whisper", "Q1"]
    assert trace(await talk.stored()) == ["user: Q1", "clerk: A1"]


async def test_an_event_that_the_caller_edits_changes_nothing_in_the_store(store: Store) -> None:
    agent = answering("A1", "A2")
    talk = Talk(agent, store)
    async for event in talk.run("Q1"):
        event.content.parts[0].text = "edited"
        event.actions.state_delta["x"] = 1
    await talk.say("Q2")
    assert model_of(agent).requests[-1].texts == ["Q1", "A1", "Q2"]
    assert trace(await talk.stored()) == ["user: Q1", "clerk: A1", "user: Q2", "clerk: A2"]


@pytest.mark.spec(219)
async def test_a_run_and_its_result_do_not_depend_on_one_event_loop() -> None:
    """One runner, used from two loops one after the other."""

    def in_own_loop(runner: Any, text: str) -> list[str]:
        async def run() -> list[str]:
            place: dict[str, Any] = {"user_id": USER, "session_id": SESSION}
            return trace([e async for e in runner.run_async(**place, new_message=text)])

        return asyncio.run(run())

    runner = InMemoryRunner(answering("One.", "Two."), app_name="talk")
    runner.auto_create_session = True
    assert await asyncio.to_thread(in_own_loop, runner, "Q1") == ["clerk: One."]
    assert await asyncio.to_thread(in_own_loop, runner, "Q2") == ["clerk: Two."]


@pytest.mark.spec(219)
async def test_a_plain_tool_does_not_block_other_sessions(memory: Store) -> None:
    import threading

    loop = asyncio.get_running_loop()
    reached, release = asyncio.Event(), threading.Event()

    def wait() -> str:
        loop.call_soon_threadsafe(reached.set)
        assert release.wait(60)
        return "waited"

    agent = answering(call("wait"), "Done.", tools=[wait])
    talk = Talk(agent, memory)
    waiting = asyncio.create_task(talk.say())
    await reached.wait()
    other = LlmAgent(name="quick", model=ScriptedModel(["Quick."]))
    quick = Talk(other, Store(None))
    assert final_text(await quick.say()) == "Quick."
    release.set()
    assert responses(await waiting) == [{"result": "waited"}]
