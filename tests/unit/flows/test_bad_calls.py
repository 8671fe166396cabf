"""The model's mistakes in calling tools: it is told, it may try again, and not for ever."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.errors import ModelRetriesExceededError, ModelRetry
from ostinato.models.invalid_args import INVALID_ARGS_KEY
from ostinato.testing import ScriptedModel, call, final_text

from .kit import Store, Talk, responses


class Place(BaseModel):
    city: str
    zip: int = 0


class Ran(list[Any]):
    """Counts what reached the tool."""


def agent_of(model: ScriptedModel, *tools: Any, **options: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=model, tools=list(tools), **options)


async def told(store: Store, wanted: types.FunctionCall, tool: Any) -> tuple[str, Talk, Any]:
    """Let the model make one bad call; return what it was told."""
    model = ScriptedModel([wanted, "I see."])
    talk = Talk(agent_of(model, tool), store)
    events = await talk.say()
    assert final_text(events) == "I see."
    (response,) = responses(events)
    assert list(response) == ["error"]
    assert model.requests[1].function_responses[-1].response == response
    return response["error"], talk, model


@pytest.mark.spec(135)
async def test_the_model_is_told_of_an_unknown_tool_and_of_those_there_are(store: Store) -> None:
    ran = Ran()

    def known(day: str) -> str:
        ran.append(day)
        return day

    error, talk, model = await told(store, call("ghost", day="today"), known)
    assert "ghost" in error and "known" in error
    assert ran == []
    await talk.check_goes_on(model)


@pytest.mark.spec(135)
async def test_an_unknown_tool_of_an_agent_without_tools_is_told_too(store: Store) -> None:
    model = ScriptedModel([call("ghost"), "I see."])
    talk = Talk(agent_of(model), store)
    events = await talk.say()
    assert "ghost" in responses(events)[0]["error"]
    await talk.check_goes_on(model)


@pytest.mark.spec(135, 134)
async def test_on_tool_error_may_answer_for_an_unknown_tool(memory: Store) -> None:
    seen: list[Any] = []

    def rescue(*, tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, Any]:
        seen.append((tool.name, args, error))
        return {"instead": 1}

    model = ScriptedModel([call("ghost", x=1), "I see."])
    talk = Talk(agent_of(model, on_tool_error_callback=rescue), memory)
    assert responses(await talk.say()) == [{"instead": 1}]
    ((name, args, error),) = seen
    assert name == "ghost" and args == {"x": 1} and isinstance(error, ValueError)
    assert "ghost" in str(error) and "clerk" in str(error)
    await talk.check_goes_on(model)


@pytest.mark.spec(143)
async def test_the_model_is_told_which_mandatory_arguments_are_missing(store: Store) -> None:
    ran = Ran()

    def book(city: str, day: str, hour: int = 9) -> None:
        ran.append((city, day, hour))

    error, talk, model = await told(store, call("book", day="today"), book)
    assert "book" in error and "city" in error
    assert "hour" not in error and "day\n" not in error
    assert ran == []
    await talk.check_goes_on(model)


@pytest.mark.spec(142)
async def test_arguments_that_the_tool_does_not_take_are_dropped(store: Store) -> None:
    ran = Ran()

    def book(city: str) -> str:
        ran.append(city)
        return city

    model = ScriptedModel([call("book", city="Rome", colour="red"), "Booked."])
    talk = Talk(agent_of(model, book), store)
    assert responses(await talk.say()) == [{"result": "Rome"}]
    assert ran == ["Rome"]
    await talk.check_goes_on(model)


@pytest.mark.spec(141)
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"n": "3"}, (3, None)),
        ({"n": 3.0}, (3, None)),
        ({"n": 1, "place": {"city": "Rome", "zip": "7"}}, (1, Place(city="Rome", zip=7))),
    ],
)
async def test_arguments_that_fit_are_coerced_to_the_declared_types(
    memory: Store, given: dict[str, Any], wanted: Any
) -> None:
    ran = Ran()

    def book(n: int, place: Place | None = None) -> None:
        ran.append((n, place))

    model = ScriptedModel([call("book", **given), "Booked."])
    talk = Talk(agent_of(model, book), memory)
    assert responses(await talk.say()) == [{"result": None}]
    assert ran == [wanted]
    assert type(ran[0][0]) is int


@pytest.mark.spec(141)
@pytest.mark.parametrize(
    "given", [{"n": "many"}, {"n": None}, {"n": [1]}, {"n": 2.5}, {"n": {"a": 1}}]
)
async def test_arguments_that_do_not_fit_are_refused_before_the_tool_runs(
    store: Store, given: dict[str, Any]
) -> None:
    ran = Ran()

    def book(n: int) -> None:
        ran.append(n)

    error, talk, model = await told(store, call("book", **given), book)
    assert "book" in error and "n:" in error and "int" in error
    assert ran == []
    await talk.check_goes_on(model)


@pytest.mark.spec(141)
async def test_a_broken_record_is_refused_with_the_path_of_what_is_wrong(memory: Store) -> None:
    def book(place: Place) -> None:
        raise AssertionError("it may not run")

    error, talk, model = await told(memory, call("book", place={"zip": "x"}), book)
    assert "place" in error and "city" in error and "zip" in error
    await talk.check_goes_on(model)


async def test_arguments_that_are_not_json_go_back_to_the_model(store: Store) -> None:
    ran = Ran()

    def book(city: str = "Rome") -> None:
        ran.append(city)

    broken = types.FunctionCall(name="book", args={INVALID_ARGS_KEY: '{"city": "Ro'})
    error, talk, model = await told(store, broken, book)
    assert "book" in error and "JSON" in error and '{"city": "Ro' in error
    assert ran == []
    await talk.check_goes_on(model)


async def test_the_hooks_around_a_tool_do_not_see_arguments_that_are_not_json(
    memory: Store,
) -> None:
    """A before_tool hook must not take the marker of an adapter for an argument."""
    seen: list[Any] = []

    def before(*, tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        seen.append(dict(args))

    def book(city: str = "Rome") -> None:
        raise AssertionError("it may not run")

    broken = types.FunctionCall(name="book", args={INVALID_ARGS_KEY: "{"})
    model = ScriptedModel([broken, "I see."])
    talk = Talk(agent_of(model, book, before_tool_callback=before), memory)
    await talk.say()
    assert seen == []


async def test_model_retry_hands_its_message_to_the_model(store: Store) -> None:
    tries = Ran()

    def book(city: str) -> str:
        tries.append(city)
        if city != "Rome":
            raise ModelRetry("We only know Rome.")
        return "booked"

    model = ScriptedModel([call("book", city="Oslo"), call("book", city="Rome"), "Done."])
    talk = Talk(agent_of(model, book), store)
    events = await talk.say()
    assert responses(events) == [{"error": "We only know Rome."}, {"result": "booked"}]
    assert final_text(events) == "Done."
    await talk.check_goes_on(model)


@pytest.mark.parametrize("mistake", ["retry", "unknown", "missing", "type", "json"])
async def test_the_same_mistake_is_not_made_for_ever(store: Store, mistake: str) -> None:
    def book(n: int) -> None:
        raise ModelRetry("No.")

    wrong = {
        "retry": call("book", n=1),
        "unknown": call("ghost"),
        "missing": call("book"),
        "type": call("book", n="x"),
        "json": types.FunctionCall(name="book", args={INVALID_ARGS_KEY: "{"}),
    }[mistake]
    model = ScriptedModel([wrong] * 3)
    talk = Talk(agent_of(model, book), store)
    error = await talk.fails(run_config=RunConfig(max_model_retries=2))
    assert isinstance(error, ModelRetriesExceededError)
    message = str(error)
    assert "clerk" in message and "max_model_retries" in message
    assert ("ghost" if mistake == "unknown" else "book") in message
    assert len(model.requests) == 3
    await talk.check_goes_on(model)


async def test_a_success_forgets_earlier_mistakes_of_the_tool(memory: Store) -> None:
    def book(n: int) -> int:
        return n

    bad, good = call("book", n="x"), call("book", n=1)
    model = ScriptedModel([bad, bad, good, bad, bad, "Done."])
    talk = Talk(agent_of(model, book), memory)
    events = await talk.say(run_config=RunConfig(max_model_retries=2))
    assert final_text(events) == "Done."


async def test_mistakes_do_not_count_across_runs(memory: Store) -> None:
    def book(n: int) -> int:
        return n

    model = ScriptedModel([call("book", n="x"), "One.", call("book", n="x"), "Two."])
    talk = Talk(agent_of(model, book), memory)
    config = RunConfig(max_model_retries=1)
    await talk.say(run_config=config)
    assert final_text(await talk.say(run_config=config)) == "Two."


@pytest.mark.spec(131)
async def test_two_calls_with_one_id_are_both_answered_and_the_session_goes_on(
    store: Store,
) -> None:
    """Some providers repeat call ids; the log has to stay usable."""

    def book(n: int) -> int:
        return n

    twice = [
        types.FunctionCall(id="same", name="book", args={"n": 1}),
        types.FunctionCall(id="same", name="book", args={"n": 2}),
    ]
    model = ScriptedModel([twice, "Done."])
    talk = Talk(agent_of(model, book), store)
    events = await talk.say()
    assert responses(events) == [{"result": 1}, {"result": 2}]
    assert final_text(events) == "Done."
    await talk.check_goes_on(model)


@pytest.mark.spec(124)
async def test_an_id_that_a_model_repeats_in_a_later_turn_keeps_the_session_usable(
    store: Store,
) -> None:
    def book(n: int) -> int:
        return n

    def again(n: int) -> types.FunctionCall:
        return types.FunctionCall(id="call_0", name="book", args={"n": n})

    model = ScriptedModel([again(1), "One.", again(2), "Two."])
    talk = Talk(agent_of(model, book), store)
    await talk.say("First")
    await talk.say("Second")
    request = model.requests[-1]
    assert [r.response for r in request.function_responses] == [{"result": 1}, {"result": 2}]
    await talk.check_goes_on(model)


async def test_a_call_without_a_name_is_answered_and_the_session_goes_on(store: Store) -> None:
    def book() -> int:
        return 1

    model = ScriptedModel([types.FunctionCall(args={}), "I see."])
    talk = Talk(agent_of(model, book), store)
    events = await talk.say()
    assert "book" in responses(events)[0]["error"]
    await talk.check_goes_on(model)
