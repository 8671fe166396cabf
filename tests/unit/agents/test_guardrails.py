"""Guardrails: what goes in and comes out is checked on one path, whatever kind of agent it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato import Agent, Guardrail, GuardrailResult, guardrail, types
from ostinato.agents import BaseAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.apps import App
from ostinato.context.guardrail import GUARDRAIL, TRIPPED
from ostinato.context.readonly import ReadonlyContext
from ostinato.context.run_config import RunConfig, StreamingMode
from ostinato.errors import CallbackError, GuardrailTrippedError, NoOutputError
from ostinato.events import Event
from ostinato.execution.tree_digest import tree_digest
from ostinato.models import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import FunctionModel, ScriptedModel, call, chunks, final_text
from ostinato.tools import AgentTool
from ostinato.workflow import START, Workflow
from tests.unit.flows.kit import Store, Talk, unanswered
from tests.unit.flows.kit import memory as memory
from tests.unit.flows.kit import store as store
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners
from tests.unit.runners.test_recovery import left_open

SSE = RunConfig(streaming_mode=StreamingMode.SSE)
BAD = "xyzzy"


def text_of(content: types.Content | None) -> str:
    parts = (content.parts if content is not None else None) or ()
    return "".join(part.text or "" for part in parts)


def no_secret(ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
    """Trip on the word."""
    found = BAD in text_of(content)
    return GuardrailResult(
        tripwire=found, info={"length": 6} if found else None, message="No." if found else None
    )


class Spy:
    """A check that remembers what it saw."""

    def __init__(self, trips: bool = False, info: Any = None) -> None:
        self.seen: list[tuple[str, str]] = []
        self.trips, self.info = trips, info

    async def __call__(self, ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
        self.seen.append((ctx.agent_name, text_of(content)))
        return GuardrailResult(tripwire=self.trips, info=self.info)


def agent(*script: Any, name: str = "root", **fields: Any) -> Agent:
    return Agent(name=name, model=ScriptedModel(list(script)), **fields)


def model_of(one: Any) -> Any:
    return one.model


def found_in(event: Event) -> dict[str, Any]:
    return (event.custom_metadata or {})[GUARDRAIL]


# Input.


async def test_a_tripped_input_ends_the_run_with_an_event_before_the_model_is_asked(
    store: Store,
) -> None:
    root = agent("Never.", input_guardrails=[no_secret])
    talk = Talk(root, store)
    (event,) = await talk.say(f"tell me {BAD}")
    assert found_in(event) == {
        "name": "no_secret", "of": "root", "stage": "input",
        "info": {"length": 6}, "tripwire": True,
    }  # fmt: skip
    assert (event.author, event.error_code, text_of(event.content)) == ("root", TRIPPED, "No.")
    assert event.error_message == "Guardrail 'no_secret' stopped the input of agent 'root'."
    assert model_of(root).requests == []
    assert [e.id for e in (await talk.check_sound())[1:]] == [event.id]
    assert final_text(await talk.say("hello")) == "Never."


async def test_what_passes_silently_leaves_no_trace_and_info_is_an_event(store: Store) -> None:
    spy = Spy(info={"score": 0.1})
    root = agent("Hi.", input_guardrails=[no_secret, spy])
    events = await Talk(root, store).say("hello")
    assert [found_in(e)["info"] for e in events[:-1]] == [{"score": 0.1}]
    assert events[0].error_code is None and final_text(events) == "Hi."
    assert spy.seen == [("root", "hello")]


async def test_the_first_to_trip_ends_it_and_the_next_is_not_asked(memory: Store) -> None:
    last = Spy()
    root = agent("x", input_guardrails=[Spy(trips=True), last])
    await Talk(root, memory).say()
    assert last.seen == []


class SlowModel(BaseLlm):
    """A model that answers once it is told to, and notes when it is cancelled."""

    model: str = "slow"

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        vars(self).update(asked=asyncio.Event(), go=asyncio.Event(), cancelled=False)

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.__dict__["asked"].set()
        try:
            await self.__dict__["go"].wait()
        except asyncio.CancelledError:
            vars(self)["cancelled"] = True
            raise
        yield LlmResponse(content=types.ModelContent("Slow."))


async def test_beside_the_model_a_trip_cancels_the_call(store: Store) -> None:
    model: Any = SlowModel()

    @guardrail(blocking=False)
    async def beside(ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
        await model.asked.wait()
        return GuardrailResult(tripwire=True)

    talk = Talk(Agent(name="root", model=model, input_guardrails=[beside]), store)
    (event,) = await talk.say()
    assert found_in(event)["name"] == "beside" and model.cancelled
    assert len(await talk.check_sound()) == 2


async def test_beside_the_model_nothing_gets_out_and_no_tool_runs_before_the_check_ends(
    store: Store,
) -> None:
    ran: list[str] = []
    answered = asyncio.Event()

    def note() -> str:
        ran.append("note")
        return "ok"

    @guardrail(blocking=False)
    async def beside(ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
        await answered.wait()
        return GuardrailResult(tripwire=True)

    def answer(request: Any) -> Any:
        answered.set()
        return call("note")

    root = Agent(name="root", model=FunctionModel(answer), tools=[note], input_guardrails=[beside])
    talk = Talk(root, store)
    (event,) = await talk.say(run_config=SSE)
    assert event.error_code == TRIPPED and ran == []
    assert len(await talk.check_sound()) == 2


async def test_beside_the_model_what_passes_changes_nothing(store: Store) -> None:
    spies = [Guardrail(Spy(), f"spy{n}", blocking=False) for n in range(2)]
    talk = Talk(agent(chunks("Hel", "lo."), input_guardrails=spies), store)
    events = await talk.say(run_config=SSE)
    assert [(text_of(e.content), e.partial) for e in events] == [
        ("Hel", True), ("lo.", True), ("Hello.", None),
    ]  # fmt: skip


async def test_a_caller_who_leaves_or_is_cancelled_takes_the_check_along(memory: Store) -> None:
    gone: list[str] = []
    begun = asyncio.Event()

    @guardrail(blocking=False)
    async def endless(ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            gone.append("check")
            raise
        raise AssertionError

    talk = Talk(agent("Hi.", input_guardrails=[endless]), memory)
    task = asyncio.create_task(talk.say())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone == ["check"]


# Output.


async def test_a_tripped_output_is_neither_seen_nor_stored(store: Store) -> None:
    root = agent(f"The {BAD} is x.", output_guardrails=[no_secret], output_key="answer")
    talk = Talk(root, store)
    (event,) = await talk.say()
    assert (found_in(event)["stage"], event.error_code) == ("output", TRIPPED)
    assert BAD not in "".join(e.model_dump_json() for e in await talk.check_sound())
    assert await talk.state() == {}


async def test_pieces_are_held_back_until_the_whole_is_checked(memory: Store) -> None:
    good = await Talk(agent(chunks("A", "B"), output_guardrails=[no_secret]), memory).say(
        run_config=SSE
    )
    assert [(text_of(e.content), e.partial) for e in good] == [("AB", None)]


async def test_output_passes_to_each_check_once(memory: Store) -> None:
    spy = Spy()
    await Talk(agent("One.", output_guardrails=[spy]), memory).say()
    assert spy.seen == [("root", "One.")]


async def test_thoughts_calls_and_results_are_no_output(memory: Store) -> None:
    def note() -> str:
        return BAD

    spy = Spy()
    thought = LlmResponse(
        content=types.ModelContent([types.Part(text="hm", thought=True), types.Part(text="Ok.")])
    )
    root = agent(call("note"), thought, tools=[note], output_guardrails=[spy])
    await Talk(root, memory).say()
    assert [text for _, text in spy.seen] == ["hmOk."]


async def test_an_after_agent_callback_does_not_get_past(memory: Store) -> None:
    root = agent(
        "Fine.",
        output_guardrails=[no_secret],
        after_agent_callback=lambda callback_context: types.ModelContent(BAD),
    )
    events = await Talk(root, memory).say()
    assert [e.error_code for e in events] == [None, TRIPPED]


async def test_structured_output_given_by_a_tool_is_checked_before_it_is_stored(
    store: Store,
) -> None:
    from pydantic import BaseModel

    class Answer(BaseModel):
        text: str

    def note() -> str:
        return "x"

    root = agent(
        call("set_model_response", text=BAD),
        tools=[note],
        output_schema=Answer,
        output_guardrails=[no_secret],
    )
    talk = Talk(root, store)
    assert [e.error_code for e in await talk.say()] == [TRIPPED]
    assert BAD not in "".join(e.model_dump_json() for e in await talk.check_sound())


# No agent kind gets past.


class Custom(BaseAgent):
    """Says the word by itself, and goes on whatever happens."""

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        try:
            yield Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                content=types.ModelContent(f"{BAD}!"),
            )
            yield Event(author=self.name, content=types.ModelContent("and on"))
        except Exception:
            yield Event(author=self.name, content=types.ModelContent("and on"))


def says(name: str = "leaf") -> Any:
    return agent(f"{BAD}.", name=name)


def kinds() -> dict[str, Any]:
    child = says()
    transfer = agent(call("transfer_to_agent", agent_name="leaf"), sub_agents=[child])
    as_tool = agent(call("leaf", request="?"), tools=[AgentTool(says(), skip_summarization=True)])
    return {
        "llm": says("root"),
        "custom": Custom(name="root"),
        "sequential": SequentialAgent(name="root", sub_agents=[says(), Custom(name="next")]),
        "parallel": ParallelAgent(name="root", sub_agents=[says(), says("other")]),
        "loop": LoopAgent(name="root", max_iterations=2, sub_agents=[says()]),
        "transfer": transfer,
        "tool whose result stands": as_tool,
        "streaming tool": agent(
            call("leaf", request="?"), f"{BAD}.", tools=[AgentTool(says(), stream=True)]
        ),
    }


@pytest.mark.parametrize("where", ["agent", "app"])
@pytest.mark.parametrize("kind", list(kinds()))
async def test_no_kind_of_agent_gets_past_an_output_guardrail(
    memory: Store, kind: str, where: str
) -> None:
    root = kinds()[kind]
    if where == "agent":
        talk = Talk(root.clone({"output_guardrails": [no_secret]}), memory)
    else:
        talk = Talk(App(name="talk", root_agent=root, output_guardrails=[no_secret]), memory)
    events = await talk.say(run_config=SSE)
    assert events[-1].error_code == TRIPPED
    assert [e.error_code for e in events].count(TRIPPED) == 1
    told = "".join(text_of(e.content) for e in events if not e.get_function_responses())
    assert BAD not in told
    assert unanswered(await talk.check_sound()) == []
    if kind == "tool whose result stands":
        assert BAD not in events[-2].model_dump_json()


@pytest.mark.parametrize("where", ["agent", "app"])
@pytest.mark.parametrize("kind", list(kinds()))
async def test_no_kind_of_agent_gets_past_an_input_guardrail(
    memory: Store, kind: str, where: str
) -> None:
    root = kinds()[kind]
    if where == "agent":
        talk = Talk(root.clone({"input_guardrails": [no_secret]}), memory)
    else:
        talk = Talk(App(name="talk", root_agent=root, input_guardrails=[no_secret]), memory)
    (event,) = await talk.say(BAD)
    assert event.error_code == TRIPPED and found_in(event)["of"] in ("root", "talk")


async def test_a_guarded_agent_inside_ends_the_whole_run(memory: Store) -> None:
    guarded = agent(BAD, name="guarded", output_guardrails=[no_secret])
    after = agent("Never.", name="after")
    talk = Talk(SequentialAgent(name="root", sub_agents=[guarded, after]), memory)
    (event,) = await talk.say()
    assert event.author == "guarded" and model_of(after).requests == []


async def test_a_tripped_sibling_leaves_no_call_open(store: Store) -> None:
    begun = asyncio.Event()

    async def wait() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def after_begun(ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
        await begun.wait()
        return GuardrailResult(tripwire=True)

    waiting = agent(call("wait"), name="waiting", tools=[wait])
    guarded = agent("x", name="guarded", output_guardrails=[after_begun])
    talk = Talk(ParallelAgent(name="root", sub_agents=[waiting, guarded]), store)
    events = await talk.say()
    assert events[-1].error_code == TRIPPED
    assert unanswered(await talk.stored()) == []


async def test_guardrails_of_agents_above_hold_where_a_conversation_goes_on_below(
    memory: Store,
) -> None:
    child = agent("Hello.", BAD, name="child")
    root = agent(
        call("transfer_to_agent", agent_name="child"),
        sub_agents=[child],
        output_guardrails=[no_secret],
    )
    talk = Talk(root, memory)
    assert final_text(await talk.say()) == "Hello."
    (event,) = await talk.say("and?")
    assert (event.author, event.error_code) == ("child", TRIPPED)


async def test_an_agent_as_a_tool_is_guarded_by_itself(memory: Store) -> None:
    guarded = agent(BAD, name="guarded", output_guardrails=[no_secret])
    root = agent(call("guarded", request="?"), "Done.", tools=[AgentTool(guarded)])
    events = await Talk(root, memory).say()
    assert events[1].get_function_responses()[0].response == {"result": "No."}
    assert final_text(events) == "Done."


async def test_an_agent_that_is_called_beside_another_ends_the_whole_run(store: Store) -> None:
    called = [
        agent(text, name=name, mode="single_turn", output_guardrails=[no_secret])
        for name, text in (("one", "Fine."), ("two", BAD))
    ]
    both = [call("one", request="?"), call("two", request="?")]
    talk = Talk(agent(both, "Never.", sub_agents=called), store)
    events = await talk.say()
    assert [e.author for e in events if e.error_code == TRIPPED] == ["two"]
    assert "Never." not in [text_of(e.content) for e in events]
    log = await talk.stored()
    assert unanswered(log) == []
    assert BAD not in "".join(e.model_dump_json() for e in log)


@pytest.mark.parametrize("where", ["agent", "app"])
async def test_an_agent_in_a_workflow_ends_the_whole_run(memory: Store, where: str) -> None:
    ran: list[Any] = []

    def after(node_input: Any) -> None:
        ran.append(node_input)

    guards: Any = {"output_guardrails": [no_secret]}
    inner = agent(BAD, name="inner", **(guards if where == "agent" else {}))
    flow = Workflow(name="flow", edges=[(START, inner, after)])
    app = App(name="talk", root_agent=flow, **(guards if where == "app" else {}))
    events = await Talk(app, memory).say()
    assert [e.error_code for e in events] == [TRIPPED] and ran == []


# Raising, wrong results, crashes.


@pytest.mark.parametrize("stage", ["input", "output"])
async def test_on_trip_raise_raises_after_the_event(store: Store, stage: str) -> None:
    guards: Any = {f"{stage}_guardrails": [Guardrail(Spy(trips=True), "strict", on_trip="raise")]}
    talk = Talk(agent("x", **guards), store)
    error = await talk.fails()
    assert isinstance(error, GuardrailTrippedError)
    assert (error.guardrail, error.agent, error.stage) == ("strict", "root", stage)
    log = await talk.check_sound()
    assert log[1].error_code == TRIPPED and log[-1].error_code == "GuardrailTrippedError"


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("stage", ["input", "output"])
async def test_a_guardrail_that_raises_lets_nothing_through(
    store: Store, stage: str, blocking: bool
) -> None:
    async def broken(ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
        raise LookupError("no word list")

    guards: Any = {f"{stage}_guardrails": [Guardrail(broken, blocking=blocking)]}
    talk = Talk(agent("Never.", **guards), store)
    error = await talk.fails()
    assert isinstance(error, LookupError)
    assert error.__notes__ == ["raised by guardrail 'broken' of agent 'root'"]
    assert "Never." not in "".join(e.model_dump_json() for e in await talk.check_sound())


async def test_a_wrong_result_is_the_developers_error(memory: Store) -> None:
    wrong: Any = lambda ctx, content: True  # noqa: E731
    talk = Talk(agent("x", input_guardrails=[Guardrail(wrong, "wrong")]), memory)
    error = await talk.fails()
    assert isinstance(error, CallbackError)
    assert "guardrail 'wrong' returned bool; it must return GuardrailResult or None" in str(error)


@pytest.mark.parametrize("field", ["input_guardrails", "output_guardrails"])
def test_what_cannot_be_called_is_refused(field: str) -> None:
    fields: Any = {field: ["no"]}
    with pytest.raises(ValueError, match="guardrails are functions or Guardrail objects; got str"):
        agent("x", **fields)


def test_info_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="info"):
        GuardrailResult(info=object())  # type: ignore[arg-type]


def test_the_output_of_a_stopped_run_says_why() -> None:
    result = agent(BAD, output_guardrails=[no_secret]).run_sync("x")
    with pytest.raises(NoOutputError, match="ended with GUARDRAIL_TRIPPED: Guardrail 'no_secret'"):
        _ = result.output


@pytest.mark.parametrize("trips", [False, True])
async def test_a_run_that_a_crash_cut_off_is_checked_like_any_other(
    two_owners: list[Owner], trips: bool
) -> None:
    said = f"The {BAD}." if trips else "Fine."
    root = agent(said, input_guardrails=[Spy(info="ok")], output_guardrails=[no_secret])
    talk = Talk(root, two_owners[0].store)
    two_owners[0].last = talk
    await left_open(two_owners[0], digest=tree_digest(root))
    await talk.runner.resume_open()
    log = await talk.stored()
    found = [found_in(e)["stage"] for e in log if (e.custom_metadata or {}).get(GUARDRAIL)]
    assert found == ["input", *(["output"] if trips else [])]
    texts = [text_of(e.content) for e in log if e.author == "root" and e.content]
    assert texts == (["No."] if trips else ["Fine."])


async def test_each_message_to_a_run_is_told_of(store: Store) -> None:
    task = agent("Which?", call("finish_task", result="x"), name="work", mode="task")
    looks = [Spy(info="seen")]
    flow = Workflow(name="flow", edges=[(START, task)])
    app = App(name="talk", root_agent=flow, input_guardrails=looks)
    for message in ("Go", "That"):
        await Talk(app, store).say(message)
    log = await Talk(app, store).stored()
    assert len([e for e in log if (e.custom_metadata or {}).get(GUARDRAIL)]) == 2
