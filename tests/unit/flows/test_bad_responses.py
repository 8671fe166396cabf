"""Models that answer nothing, stop in the middle or fail."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig, SequentialAgent
from ostinato.agents.run_config import StreamingMode
from ostinato.artifacts import InMemoryArtifactService
from ostinato.models import LlmResponse
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import FunctionModel, ScriptedModel, call, chunks, final_text
from ostinato.tools import BaseTool
from tests.support.optionals import present

from .kit import Store, Talk, once

SSE = RunConfig(streaming_mode=StreamingMode.SSE)


def part_of(text: str) -> LlmResponse:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return LlmResponse(content=content, partial=True)


def calling(partial: bool) -> LlmResponse:
    part = types.Part(function_call=types.FunctionCall(name="book", args={}))
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=partial)


async def then_goes_on(talk: Talk) -> None:
    talk.runner.agent.model = model = ScriptedModel()
    await talk.check_goes_on(model)


@pytest.mark.parametrize(
    "nothing",
    [
        LlmResponse(),
        LlmResponse(content=types.Content(role="model", parts=[])),
        LlmResponse(content=types.Content(role="model")),
        LlmResponse(turn_complete=True),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_empty_response_ends_the_run_with_an_error_that_names_agent_and_model(
    memory: Store, nothing: LlmResponse, stream: bool
) -> None:
    model = ScriptedModel([nothing], model="quiet")
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    events = await talk.say(run_config=SSE if stream else None)
    errors = [e for e in events if e.error_code]
    assert len(errors) == 1
    assert "clerk" in str(errors[0].error_message) and "quiet" in str(errors[0].error_message)
    await talk.check_goes_on(model)


async def test_a_model_that_yields_nothing_at_all_is_an_empty_response(store: Store) -> None:
    async def silent(_: Any) -> Any:
        return
        yield

    agent = LlmAgent(name="clerk", model=FunctionModel(silent))
    talk = Talk(agent, store)
    events = await talk.say()
    assert [bool(e.error_code) for e in events] == [True]
    await then_goes_on(talk)


async def test_an_empty_response_after_a_tool_leaves_a_valid_session(store: Store) -> None:
    def book() -> str:
        return "booked"

    model = ScriptedModel([call("book"), LlmResponse()])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[book]), store)
    events = await talk.say()
    assert events[-1].error_code
    await talk.check_goes_on(model)


@pytest.mark.parametrize(
    "part",
    [
        types.Part(text=""),
        types.Part(text="  \n"),
        types.Part(text="Hm.", thought=True),
        types.Part(text="", thought_signature=b"s"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_of_blanks_or_thoughts_alone_is_an_error_that_keeps_them(
    store: Store, part: types.Part, stream: bool
) -> None:
    content = types.Content(role="model", parts=[part])
    model = ScriptedModel([LlmResponse(content=content)], model="quiet")
    talk = Talk(LlmAgent(name="clerk", model=model), store)
    events = await talk.say(run_config=SSE if stream else None)
    (event,) = [e for e in events if not e.partial]
    assert event.error_code == "EMPTY_RESPONSE" and event.is_final_response()
    assert "clerk" in str(event.error_message) and "quiet" in str(event.error_message)
    assert event.content == content
    await talk.check_goes_on(model)


@pytest.mark.parametrize(
    "part",
    [
        types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png")),
        types.Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON)),
    ],
)
async def test_a_response_of_media_or_code_is_an_answer(memory: Store, part: types.Part) -> None:
    thought = types.Part(text="Hm.", thought=True)
    content = types.Content(role="model", parts=[thought, part])
    model = ScriptedModel([LlmResponse(content=content)])
    (event,) = await Talk(LlmAgent(name="clerk", model=model), memory).say()
    assert event.error_code is None and event.content == content


@pytest.mark.spec(119)
async def test_a_response_with_an_error_code_is_an_event_and_ends_the_run(store: Store) -> None:
    model = ScriptedModel([LlmResponse(error_code="SAFETY", error_message="blocked")])
    talk = Talk(LlmAgent(name="clerk", model=model), store)
    (event,) = await talk.say()
    assert (event.error_code, event.error_message) == ("SAFETY", "blocked")
    assert event.is_final_response()
    await talk.check_goes_on(model)


@pytest.mark.spec(188, 20)
async def test_a_stream_that_stops_after_partials_is_an_error_and_stores_no_partial(
    store: Store,
) -> None:
    async def cut(_: Any) -> Any:
        yield part_of("It is su")
        yield part_of("nny and")

    talk = Talk(LlmAgent(name="clerk", model=FunctionModel(cut)), store)
    events = await talk.say(run_config=SSE)
    assert [e.partial for e in events[:2]] == [True, True]
    assert events[-1].error_code and not events[-1].partial
    assert all(not e.partial for e in await talk.stored())
    await then_goes_on(talk)


async def test_a_stream_that_breaks_raises_the_provider_s_error(store: Store) -> None:
    broken = ConnectionError("reset by peer")

    async def cut(_: Any) -> Any:
        yield part_of("It is su")
        raise broken

    talk = Talk(LlmAgent(name="clerk", model=FunctionModel(cut)), store)
    assert await talk.fails(run_config=SSE) is broken
    log = await talk.stored()
    assert [e.error_code for e in log] == [None, "ConnectionError"]
    await then_goes_on(talk)


@pytest.mark.spec(126)
async def test_a_partial_call_is_never_executed(store: Store) -> None:
    ran: list[int] = []

    def book() -> None:
        ran.append(1)

    async def cut(_: Any) -> Any:
        yield calling(partial=True)

    talk = Talk(LlmAgent(name="clerk", model=FunctionModel(cut), tools=[book]), store)
    events = await talk.say(run_config=SSE)
    assert ran == []
    assert events[-1].error_code
    await then_goes_on(talk)


@pytest.mark.spec(126, 202)
async def test_a_call_that_streams_in_is_run_once(memory: Store) -> None:
    ran: list[int] = []

    def book() -> None:
        ran.append(1)

    async def streamed(request: Any) -> Any:
        if request.contents[-1].parts[-1].function_response:
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Done.")]))
            return
        yield calling(partial=True)
        yield calling(partial=False)

    talk = Talk(LlmAgent(name="clerk", model=FunctionModel(streamed), tools=[book]), memory)
    assert final_text(await talk.say(run_config=SSE)) == "Done."
    assert ran == [1]


@pytest.mark.spec(116, 120, 202)
async def test_only_sse_streams_and_then_ends_with_the_whole(memory: Store) -> None:
    model = ScriptedModel([chunks("It is ", "sunny."), chunks("It is ", "sunny.")])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    plain = await talk.say()
    assert [(e.partial or False, final_text([e])) for e in plain] == [(False, "It is sunny.")]
    streamed = await talk.say(run_config=SSE)
    assert [e.partial or False for e in streamed] == [True, True, False]
    assert final_text(streamed) == "It is sunny."
    assert [r.stream for r in model.requests] == [False, True]


@pytest.mark.spec(120)
async def test_partials_of_a_model_that_was_not_asked_to_stream_are_left_out(
    memory: Store,
) -> None:
    async def eager(_: Any) -> Any:
        yield part_of("It is ")
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="It is.")]))

    talk = Talk(LlmAgent(name="clerk", model=FunctionModel(eager)), memory)
    assert [e.partial for e in await talk.say()] == [None]


@pytest.mark.spec(118, 29)
async def test_a_model_s_error_is_raised_as_it_is_and_noted_in_the_log(store: Store) -> None:
    raised = RuntimeError("quota")
    model = ScriptedModel([raised])
    talk = Talk(LlmAgent(name="clerk", model=model), store)
    assert await talk.fails() is raised
    log = await talk.stored()
    assert log[-1].author == "clerk"
    assert (log[-1].error_code, log[-1].error_message) == ("RuntimeError", "quota")
    await talk.check_goes_on(model)


@pytest.mark.spec(118)
async def test_on_model_error_may_answer_for_the_model(store: Store) -> None:
    instead = LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Sorry.")]))
    model = ScriptedModel([RuntimeError("quota")])
    agent = LlmAgent(name="clerk", model=model, on_model_error_callback=once(instead))
    talk = Talk(agent, store)
    assert final_text(await talk.say()) == "Sorry."
    await talk.check_goes_on(model)


async def test_a_model_that_answers_after_a_tool_error_event_sees_no_error_event(
    memory: Store,
) -> None:
    model = ScriptedModel([RuntimeError("quota"), "Fine."])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    await talk.fails("First")
    await talk.say("Second")
    assert model.requests[-1].texts == ["First", "Second"]


@pytest.mark.parametrize("odd", ["text", 7, None, {"content": "x"}])
async def test_a_model_that_yields_something_else_is_a_clear_error(memory: Store, odd: Any) -> None:
    class Odd(ScriptedModel):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            yield odd

    talk = Talk(LlmAgent(name="clerk", model=Odd(model="odd")), memory)
    try:
        events = await talk.say()
    except Exception as error:
        said = f"{error} {getattr(error, '__notes__', '')}"
        assert "clerk" in said or "odd" in said
    else:
        assert events[-1].error_code
    await then_goes_on(talk)


@pytest.mark.spec(206, 37)
async def test_the_call_after_max_llm_calls_raises_and_the_session_goes_on(store: Store) -> None:
    def book() -> str:
        return "booked"

    model = ScriptedModel([call("book"), call("book")])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[book]), store)
    error = await talk.fails(run_config=RunConfig(max_llm_calls=2))
    assert type(error).__name__ == "LlmCallsLimitExceededError" and "2" in str(error)
    assert len(model.requests) == 2
    await talk.check_goes_on(model)


@pytest.mark.spec(115)
async def test_a_call_that_fails_is_counted_as_it_is_counted_before_it_is_made(
    memory: Store,
) -> None:
    def book() -> str:
        return "booked"

    def rescue(callback_context: Any, llm_request: Any, error: Exception) -> LlmResponse:
        part = types.Part(function_call=types.FunctionCall(name="book", args={}))
        return LlmResponse(content=types.Content(role="model", parts=[part]))

    model = ScriptedModel([RuntimeError("quota"), "Done."])
    agent = LlmAgent(name="clerk", model=model, tools=[book], on_model_error_callback=rescue)
    error = await Talk(agent, memory).fails(run_config=RunConfig(max_llm_calls=1))
    assert type(error).__name__ == "LlmCallsLimitExceededError"
    assert len(model.requests) == 1


@pytest.mark.spec(39)
async def test_a_tool_that_ends_the_invocation_while_the_request_is_made_keeps_it_unsent(
    memory: Store,
) -> None:
    class Ends(BaseTool):
        async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
            tool_context.get_invocation_context().end_invocation = True

    model = ScriptedModel(["Done."])
    tool = Ends(name="ends", description="Ends the run.")
    agent = LlmAgent(name="clerk", model=model, tools=[tool])
    assert await Talk(agent, memory).say() == []
    assert model.requests == []


@pytest.mark.spec(206)
@pytest.mark.parametrize("limit", [0, -1])
async def test_no_limit_of_llm_calls_is_set_with_a_warning(
    memory: Store, limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    def book() -> str:
        return "booked"

    config = RunConfig(max_llm_calls=limit)
    assert "max_llm_calls" in caplog.text
    model = ScriptedModel([call("book"), call("book"), "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[book]), memory)
    assert final_text(await talk.say(run_config=config)) == "Done."


@pytest.mark.spec(206)
def test_settings_that_have_no_effect_say_so() -> None:
    with pytest.warns(UserWarning, match="support_cfc has no effect"):
        RunConfig(support_cfc=True)
    RunConfig(support_cfc=False)
    with pytest.raises(ValueError, match="TelemetryConfig"):
        RunConfig(telemetry={"capture": True})


def test_max_llm_calls_is_500_by_default() -> None:
    assert RunConfig().max_llm_calls == 500


@pytest.mark.spec(113)
async def test_an_answer_of_before_model_is_not_counted_as_a_call(memory: Store) -> None:
    said = LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Cached.")]))
    model = ScriptedModel(["One."])
    agent = LlmAgent(name="clerk", model=model, before_model_callback=once(said))
    talk = Talk(agent, memory)
    assert final_text(await talk.say(run_config=RunConfig(max_llm_calls=1))) == "Cached."
    assert model.requests == []


async def test_a_missing_template_variable_names_the_key_and_the_agent(store: Store) -> None:
    model = ScriptedModel()
    agent = LlmAgent(name="clerk", model=model, instruction="Serve {customer} well.")
    talk = Talk(agent, store)
    error = await talk.fails()
    assert isinstance(error, KeyError)
    assert "customer" in str(error) and "clerk" in f"{error}{getattr(error, '__notes__', '')}"
    agent.instruction = "Serve {customer?} well."
    await talk.check_goes_on(model)


async def test_an_artifact_service_of_the_users_may_load_text() -> None:
    class Texts(InMemoryArtifactService):
        async def load_artifact(self, **_: Any) -> Any:
            return "in Rome"

    model = ScriptedModel(["Ok."])
    agent = LlmAgent(name="clerk", model=model, instruction="You are {artifact.place}.")
    runner = Runner(
        agent=agent,
        app_name="talk",
        session_service=InMemorySessionService(),
        artifact_service=Texts(),
    )
    await runner.run_debug("Go", quiet=True)
    assert "You are in Rome." in str(model.requests[0].config.system_instruction)


async def test_a_missing_artifact_in_an_instruction_names_it(memory: Store) -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(), instruction="{artifact.notes.txt}")
    error = await Talk(agent, memory).fails()
    assert isinstance(error, KeyError) and "notes.txt" in str(error)


def family(*turns: Any, **options: Any) -> tuple[LlmAgent, ScriptedModel]:
    """A root with two children, each with a child; `turns` are those of the first grandchild."""

    def agent(name: str, *children: LlmAgent, model: ScriptedModel, **more: Any) -> LlmAgent:
        return LlmAgent(name=name, model=model, **{"sub_agents": list(children), **more})

    model = ScriptedModel(list(turns))
    down = [call("transfer_to_agent", agent_name=name) for name in ("left", "leaf")]
    leaf = agent("leaf", model=model, **options)
    left = agent("left", leaf, model=ScriptedModel([down[1], "Left."]))
    right = agent("right", agent("cousin", model=ScriptedModel()), model=ScriptedModel())
    return agent("root", left, right, model=ScriptedModel([down[0]])), model


@pytest.mark.spec(154)
@pytest.mark.parametrize("target", ["ghost", "leaf", "cousin", "right", "root"])
async def test_a_transfer_to_an_agent_that_was_not_offered_goes_back_to_the_model(
    store: Store, target: str
) -> None:
    root, model = family(call("transfer_to_agent", agent_name=target), "Sorry.")
    talk = Talk(root, store)
    assert final_text(await talk.say("Go")) == "Sorry."
    error = present(model.requests[1].function_responses[-1].response)["error"]
    assert repr(target) in error and error.count("left") == 1
    await talk.check_goes_on(model)


async def test_a_model_cannot_transfer_where_the_agent_disallows_it(memory: Store) -> None:
    turns = call("transfer_to_agent", agent_name="left"), "Sorry."
    kid = LlmAgent(name="kid", model=ScriptedModel(), instruction="Help.")
    root, model = family(*turns, disallow_transfer_to_parent=True, sub_agents=[kid])
    talk = Talk(root, memory)
    assert final_text(await talk.say("Go")) == "Sorry."
    assert "kid" in present(model.requests[1].function_responses[-1].response)["error"]


@pytest.mark.spec(154, 155)
@pytest.mark.parametrize("target", ["leaf", "cousin", "right", "root"])
async def test_a_tool_that_transfers_beyond_its_agents_reach_raises(
    memory: Store, target: str
) -> None:
    def hand_over(tool_context: Any) -> str:
        tool_context.actions.transfer_to_agent = target
        return "handed over"

    root, _ = family(call("hand_over"), tools=[hand_over])
    error = await Talk(root, memory).fails()
    assert type(error) is ValueError
    assert "'leaf'" in str(error) and "actions.transfer_to_agent" in str(error)


@pytest.mark.parametrize("target", ["line", "second", "root"])
async def test_an_agent_within_a_sequence_reaches_those_around_the_sequence(
    memory: Store, target: str
) -> None:
    def hand_over(tool_context: Any) -> str:
        tool_context.actions.transfer_to_agent = target
        return "handed over"

    first = LlmAgent(
        name="first", model=ScriptedModel([call("hand_over"), "F."]), tools=[hand_over]
    )
    second = LlmAgent(name="second", model=ScriptedModel(["S.", "S."]))
    line = SequentialAgent(name="line", sub_agents=[first, second])
    to_line = call("transfer_to_agent", agent_name="line")
    root = LlmAgent(name="root", model=ScriptedModel([to_line, "R."]), sub_agents=[line])
    events = await Talk(root, memory).say("Go")
    assert {"root": "R.", "line": "F.", "second": "S."}[target] in [final_text([e]) for e in events]


@pytest.mark.spec(154, 155)
async def test_a_tool_that_transfers_to_nobody_raises_too(store: Store) -> None:
    def hand_over(tool_context: Any) -> str:
        tool_context.actions.transfer_to_agent = "ghost"
        return "handed over"

    model = ScriptedModel([call("hand_over")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[hand_over]), store)
    error = await talk.fails()
    assert isinstance(error, ValueError) and "ghost" in str(error) and "root" in str(error)
    await talk.check_goes_on(model)


async def test_an_instruction_function_that_raises_or_gives_no_text_keeps_the_session_usable(
    memory: Store,
) -> None:
    answers: list[Any] = [7, None, "Be kind."]

    def instruction(_: Any) -> Any:
        return answers.pop(0)

    model = ScriptedModel()
    talk = Talk(LlmAgent(name="clerk", model=model, instruction=instruction), memory)
    for _ in range(2):
        error = await talk.fails()
        assert "clerk" in f"{error}{getattr(error, '__notes__', '')}"
    await talk.check_goes_on(model)
