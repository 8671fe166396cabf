"""Calls and events that could not be read again once they were stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, RunConfig
from ostinato.errors import InputValidationError, ModelAnswerError, ModelRetriesExceededError
from ostinato.events import Event
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import ScriptedModel, final_text

from .kit import Store, Talk, responses


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def assigned(**fields: Any) -> types.Part:
    """A call with fields that were assigned, as an adapter may do, and not validated."""
    call = types.FunctionCall(name="look", args={})
    for name, value in fields.items():
        setattr(call, name, value)
    return types.Part(function_call=call)


class Raw(BaseLlm):
    """Gives ready parts, response by response."""

    model: str = "raw"
    turns: list[Any] = []
    asked: int = 0

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked += 1
        yield LlmResponse(content=types.Content(role="model", parts=self.turns.pop(0)))


class Tool:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def look(self, where: str = "here") -> str:
        self.seen.append(where)
        return f"looked {where}"


BAD_ARGS = {
    "text": '{"where": "there"}',
    "list": ["there"],
    "number": 7,
    "not a number": {"where": float("nan")},
    "infinite": {"where": [float("inf")]},
    "surrogate": {"where": "\ud800"},
    "surrogate key": {"\ud800": 1},
    "surrogate text": "\ud800",
    "bytes": {"where": b"\xff"},
    "object": {"where": object()},
    "number as key": {1: "x"},
    "deep": {"where": nested(195)},
    "very deep": {"where": nested(5000)},
}


@pytest.mark.parametrize("args", BAD_ARGS.values(), ids=BAD_ARGS.keys())
async def test_the_model_is_asked_to_mend_arguments_that_json_cannot_carry(
    store: Store, args: Any
) -> None:
    tool = Tool()
    model = Raw(turns=[[assigned(args=args)], [assigned(args={"where": "there"})], ["Done."]])
    model.turns[2] = [types.Part(text="Done.")]
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[tool.look]), store)
    events = await talk.say()
    told, result = responses(events)
    assert "JSON" in told["error"] and "look" in told["error"]
    assert result == {"result": "looked there"}
    assert tool.seen == ["there"]
    assert final_text(events) == "Done."
    await talk.check_sound()


async def test_a_model_that_does_not_mend_them_is_stopped(store: Store) -> None:
    model = Raw(turns=[[assigned(args="no")] for _ in range(9)])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[Tool().look]), store)
    error = await talk.fails(run_config=RunConfig(max_model_retries=2))
    assert isinstance(error, ModelRetriesExceededError)
    assert model.asked == 3
    await talk.check_sound()


@pytest.mark.parametrize("name", [7, ["look"], b"look", "lo\ud800ok", "lo\x00ok", nested(3)])
async def test_a_name_that_is_no_text_names_no_tool(store: Store, name: Any) -> None:
    model = Raw(turns=[[assigned(name=name)], [types.Part(text="Done.")]])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[Tool().look]), store)
    (told,) = responses(await talk.say())
    assert "no tool with that name" in told["error"]
    await talk.check_sound()


async def test_arguments_with_nul_go_back_to_the_model(store: Store) -> None:
    model = Raw(turns=[[assigned(args={"where": "a\x00"})], [types.Part(text="Done.")]])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[Tool().look]), store)
    (told,) = responses(await talk.say())
    assert "are not valid JSON" in told["error"] and "\0" not in told["error"]
    await talk.check_sound()


@pytest.mark.parametrize(
    "part",
    [
        types.Part(text="a\x00b"),
        types.Part(text="a\x00b", thought=True),
        types.Part.from_executable_code(code="\x00", language=types.Language.PYTHON),
    ],
)
async def test_an_answer_with_nul_is_the_models_error_in_every_store(
    store: Store, part: types.Part
) -> None:
    talk = Talk(LlmAgent(name="clerk", model=Raw(turns=[[part]])), store)
    error = await talk.fails()
    assert isinstance(error, ModelAnswerError) and not error.retryable
    assert "NUL" in str(error) and "'raw'" in str(error)
    stored = "".join(event.model_dump_json() for event in await talk.stored())
    assert "\\u0000" not in stored


@pytest.mark.parametrize("id", [7, ["x"], "x\ud800", "x\x00", ""])
async def test_a_call_with_an_odd_id_gets_another(store: Store, id: Any) -> None:
    model = Raw(turns=[[assigned(id=id)], [types.Part(text="Done.")]])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[Tool().look]), store)
    assert responses(await talk.say()) == [{"result": "looked here"}]
    log = await talk.check_sound()
    ids = [call.id for event in log for call in event.get_function_calls()]
    assert ids[0] and ids[0].startswith("adk-")


async def test_two_calls_with_one_id_are_told_apart(store: Store) -> None:
    turn = [assigned(id="x", args={"where": where}) for where in ("here", "there")]
    model = Raw(turns=[turn, [types.Part(text="Done.")]])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[Tool().look]), store)
    assert responses(await talk.say()) == [{"result": "looked here"}, {"result": "looked there"}]
    log = await talk.check_sound()
    ids = [call.id for event in log for call in event.get_function_calls()]
    assert ids[0] == "x" and len(set(ids)) == 2


def call_event(**fields: Any) -> Event:
    return Event(author="own", content=types.Content(role="model", parts=[assigned(**fields)]))


def text_event(text: Any) -> Event:
    part = types.Part(text="x")
    part.text = text
    return Event(author="own", content=types.Content(role="model", parts=[part]))


def answer_event(**fields: Any) -> Event:
    answer = types.FunctionResponse(id="1", name="look", response={})
    for name, value in fields.items():
        setattr(answer, name, value)
    part = types.Part(function_response=answer)
    return Event(author="own", content=types.Content(role="user", parts=[part]))


UNREADABLE = {
    "args": lambda: call_event(args="text"),
    "deep args": lambda: call_event(args={"a": nested(195)}),
    "call name": lambda: call_event(name=7),
    "call id": lambda: call_event(id=7),
    "text": lambda: text_event(7),
    "response": lambda: answer_event(response="text"),
    "deep response": lambda: answer_event(response={"a": nested(195)}),
    "response name": lambda: answer_event(name=7),
    "response id": lambda: answer_event(id=7),
    "deep state": lambda: Event(author="own", actions={"state_delta": {"a": nested(250)}}),  # type: ignore[arg-type]
    "surrogate": lambda: text_event("\ud800"),
}


class Own(BaseAgent):
    """Yields one event of its developer's."""

    made: Any = None

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        event = self.made()
        event.invocation_id = ctx.invocation_id
        yield event


@pytest.mark.parametrize("made", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_an_agent_s_own_event_that_could_not_be_read_again_is_refused(
    store: Store, made: Any
) -> None:
    talk = Talk(Own(name="own", made=made), store)
    error = await talk.fails()
    assert isinstance(error, InputValidationError)
    assert "own" in str(error) or "'a'" in str(error)
    assert [e.author for e in await talk.stored() if e.content is not None] == ["user"]


async def test_a_model_s_text_that_could_not_be_read_again_is_not_stored(store: Store) -> None:
    part = types.Part(text="x")
    part.text = 7  # type: ignore[assignment]
    talk = Talk(LlmAgent(name="clerk", model=Raw(turns=[[part]])), store)
    assert isinstance(await talk.fails(), InputValidationError)
    assert [e.author for e in await talk.stored() if e.content is not None] == ["user"]


async def test_ordinary_calls_pass_as_they_are(memory: Store) -> None:
    tool = Tool()
    call = types.FunctionCall(id="own id 1", name="look", args={"where": "there"})
    talk = Talk(
        LlmAgent(name="clerk", model=ScriptedModel([call, "Done."]), tools=[tool.look]), memory
    )
    events = await talk.say()
    assert events[0].get_function_calls() == [call]
