"""Tools that raise, hang or return what JSON cannot carry."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.agents import LlmAgent, RunConfig
from ostinato.apps import App
from ostinato.errors import ToolResultError
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import FunctionTool, ToolContext

from .kit import Store, Talk, once, responses


class Boom(Exception):
    """What the tools of these tests raise."""


def agent_of(model: ScriptedModel, *tools: Any, **options: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=model, tools=list(tools), **options)


@pytest.mark.spec(134, 29)
async def test_a_raising_tool_ends_the_run_with_its_own_exception(store: Store) -> None:
    raised = Boom("no paper")

    def print_it() -> None:
        raise raised

    model = ScriptedModel([call("print_it")])
    talk = Talk(agent_of(model, print_it), store)
    error = await talk.fails()
    assert error is raised
    notes = "\n".join(error.__notes__)
    assert "print_it" in notes and "clerk" in notes
    log = await talk.stored()
    (call_id,) = [c.id for e in log for c in e.get_function_calls()]
    assert str(call_id) in notes
    (response,) = responses(log)
    assert "no paper" in response["error"] and "Boom" in response["error"]
    assert log[-1].error_code == "Boom" and log[-1].error_message == "no paper"
    await talk.check_goes_on(model)


@pytest.mark.spec(131, 134)
async def test_siblings_of_a_raising_tool_finish_and_share_one_event_with_its_error(
    store: Store,
) -> None:
    raised = Boom("no paper")
    done: list[str] = []
    failed = asyncio.Event()

    async def bad() -> None:
        failed.set()
        raise raised

    async def slow(name: str, tool_context: Any) -> str:
        await failed.wait()
        await asyncio.sleep(0)
        done.append(name)
        tool_context.state[name] = True
        return name

    model = ScriptedModel([[call("slow", name="a"), call("bad"), call("slow", name="b")]])
    talk = Talk(agent_of(model, bad, slow), store)
    error = await talk.fails()
    assert error is raised
    assert sorted(done) == ["a", "b"]
    log = await talk.stored()
    (answers,) = [e for e in log if e.get_function_responses()]
    first, second, third = answers.get_function_responses()
    assert (first.name, second.name, third.name) == ("slow", "bad", "slow")
    assert first.response == {"result": "a"} and third.response == {"result": "b"}
    assert second.response and "no paper" in second.response["error"]
    state = await talk.state()
    assert state["a"] and state["b"]
    await talk.check_goes_on(model)


async def test_of_two_raising_tools_the_first_call_s_exception_is_raised(memory: Store) -> None:
    errors = {"a": Boom("a"), "b": Boom("b")}

    async def bad(name: str) -> None:
        await asyncio.sleep(0 if name == "b" else 0.001)
        raise errors[name]

    model = ScriptedModel([[call("bad", name="a"), call("bad", name="b")]])
    talk = Talk(agent_of(model, bad), memory)
    assert await talk.fails() is errors["a"]
    assert [list(r) for r in responses(await talk.stored())] == [["error"], ["error"]]
    await talk.check_goes_on(model)


@pytest.mark.parametrize("where", ["app", "run"])
async def test_tool_errors_feedback_hands_the_error_to_the_model(store: Store, where: str) -> None:
    def print_it() -> None:
        raise Boom("no paper")

    model = ScriptedModel([call("print_it"), "The printer is empty."])
    agent = agent_of(model, print_it)
    options: dict[str, Any] = {}
    if where == "app":
        talk = Talk(App(name="talk", root_agent=agent, tool_errors="feedback"), store)
    else:
        talk = Talk(agent, store)
        options["run_config"] = RunConfig(tool_errors="feedback")
    events = await talk.say(**options)
    assert final_text(events) == "The printer is empty."
    assert "no paper" in responses(events)[0]["error"]
    await talk.check_goes_on(model)


@pytest.mark.spec(134)
async def test_on_tool_error_may_answer_for_a_raising_tool(memory: Store) -> None:
    def print_it() -> None:
        raise Boom("no paper")

    model = ScriptedModel([call("print_it"), "Fine."])
    agent = agent_of(model, print_it, on_tool_error_callback=once({"sorry": "empty"}))
    talk = Talk(agent, memory)
    assert responses(await talk.say()) == [{"sorry": "empty"}]


async def test_an_async_tool_that_hangs_is_cancelled_at_its_timeout(store: Store) -> None:
    stopped = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    model = ScriptedModel([call("hang"), "Too slow."])
    talk = Talk(agent_of(model, FunctionTool(hang, timeout=0.01)), store)
    events = await talk.say()
    error = responses(events)[0]["error"]
    assert "hang" in error and "0.01" in error and "timeout" in error
    assert stopped.is_set()
    assert final_text(events) == "Too slow."
    await talk.check_goes_on(model)


async def test_a_plain_tool_that_hangs_is_given_up_at_its_timeout(store: Store) -> None:
    release = threading.Event()

    def hang() -> None:
        release.wait(60)

    model = ScriptedModel([call("hang"), "Too slow."])
    talk = Talk(agent_of(model, FunctionTool(hang, timeout=0.01)), store)
    try:
        events = await talk.say(run_config=RunConfig(sync_tools="inline"))
    finally:
        release.set()
    assert "hang" in responses(events)[0]["error"]
    await talk.check_goes_on(model)


class Odd:
    def __repr__(self) -> str:
        return "<Odd>"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (float("nan"), "NaN"),
        ({"deep": [1.0, float("inf")]}, "deep[1]"),
        (b"\xff\xfe", "bytes"),
        (Odd(), "Odd"),
        ({"x": Odd()}, "Odd"),
        (lambda: 1, "function"),
    ],
)
async def test_a_result_that_json_cannot_carry_is_the_developer_s_error(
    store: Store, value: Any, names: str
) -> None:
    def odd() -> Any:
        return value

    model = ScriptedModel([call("odd")])
    talk = Talk(agent_of(model, odd), store)
    error = await talk.fails()
    assert isinstance(error, ToolResultError)
    message = str(error)
    assert "odd" in message and "clerk" in message and names in message
    await talk.check_goes_on(model)


async def test_a_result_that_refers_to_itself_is_the_developer_s_error(store: Store) -> None:
    def odd() -> Any:
        circle: list[Any] = []
        circle.append(circle)
        return circle

    model = ScriptedModel([call("odd")])
    talk = Talk(agent_of(model, odd), store)
    assert isinstance(await talk.fails(), ToolResultError)
    await talk.check_goes_on(model)


def _circle() -> Any:
    circle: list[Any] = []
    circle.append(circle)
    return circle


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "make",
    [
        lambda: float("nan"),
        lambda: b"\xff\xfe",
        Odd,
        lambda: Boom("returned"),
        _circle,
        lambda: "\ud800",
        *(lambda depth=depth: _nested(depth) for depth in (185, 195, 210, 253, 254, 5000)),
    ],
    ids=range(12),
)
async def test_feedback_tells_the_model_of_a_result_that_cannot_be_stored(
    store: Store, make: Any
) -> None:
    def odd() -> Any:
        return make()

    model = ScriptedModel([call("odd"), "Never mind."])
    talk = Talk(agent_of(model, odd), store)
    events = await talk.say(run_config=RunConfig(tool_errors="feedback"))
    assert "ToolResultError: Tool 'odd'" in responses(events)[0]["error"]
    assert final_text(events) == "Never mind."
    await talk.check_goes_on(model)


async def test_a_deep_result_that_can_be_stored_comes_back(store: Store) -> None:
    def odd() -> Any:
        return _nested(170)

    model = ScriptedModel([call("odd"), "Done."])
    talk = Talk(agent_of(model, odd), store)
    assert responses(await talk.say()) == [{"result": _nested(170)}]
    await talk.check_goes_on(model)


@pytest.mark.parametrize("depth", [185, 195, 210, 253])
async def test_a_result_too_deep_for_the_log_is_the_developer_s_error(
    memory: Store, depth: int
) -> None:
    def odd() -> Any:
        return _nested(depth)

    error = await Talk(agent_of(ScriptedModel([call("odd")]), odd), memory).fails()
    assert isinstance(error, ToolResultError) and "nested" in str(error)


async def test_feedback_tells_the_model_of_state_that_breaks_the_schema(memory: Store) -> None:
    class Count(BaseModel):
        n: int = 0

    def count(tool_context: ToolContext) -> str:
        tool_context.actions.state_delta["n"] = "many"
        return "counted"

    model = ScriptedModel([call("count"), "Never mind."])
    talk = Talk(agent_of(model, count, state_schema=Count), memory)
    events = await talk.say(run_config=RunConfig(tool_errors="feedback"))
    assert "StateSchemaError" in responses(events)[0]["error"]
    assert final_text(events) == "Never mind."
    assert await talk.state() == {}


async def test_a_result_nested_too_deep_keeps_the_session_usable(store: Store) -> None:
    def odd() -> Any:
        deep: list[Any] = []
        for _ in range(5000):
            deep = [deep]
        return deep

    model = ScriptedModel([call("odd")])
    talk = Talk(agent_of(model, odd), store)
    assert isinstance(await talk.fails(), ToolResultError)
    await talk.check_goes_on(model)


NUL = ["a\x00b", {"a\x00": 1}, [["\\\x00"]]]


@pytest.mark.parametrize("value", NUL)
async def test_a_result_with_nul_is_the_developer_s_error_in_every_store(
    store: Store, value: Any
) -> None:
    def odd() -> Any:
        return value

    error = await Talk(agent_of(ScriptedModel([call("odd")]), odd), store).fails()
    assert isinstance(error, ToolResultError)
    assert "'odd'" in str(error) and "has run" in str(error) and "NUL" in str(error)


@pytest.mark.parametrize("value", NUL)
async def test_nul_in_the_result_of_others_is_replaced(store: Store, value: Any) -> None:
    class Outside(FunctionTool):
        has_outside_results = True

    def odd() -> Any:
        return value

    model = ScriptedModel([call("odd"), "Done."])
    (told,) = responses(await Talk(agent_of(model, Outside(odd)), store).say())
    wanted = json.loads(json.dumps(value).replace("\\u0000", "\\ufffd"))
    assert told == (wanted if isinstance(wanted, dict) else {"result": wanted})


async def test_a_text_about_nul_is_kept(store: Store) -> None:
    def odd() -> Any:
        return {"\\u0000": "\\\\u0000"}

    model = ScriptedModel([call("odd"), "Done."])
    assert responses(await Talk(agent_of(model, odd), store).say()) == [odd()]


async def test_nul_in_the_text_of_an_exception_is_replaced(store: Store) -> None:
    def odd() -> Any:
        raise ValueError("a\x00b")

    talk = Talk(agent_of(ScriptedModel([call("odd")]), odd), store)
    assert str(await talk.fails()) == "a\x00b"
    assert responses(await talk.stored()) == [{"error": "ValueError: a\ufffdb"}]


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}])
async def test_a_text_that_no_encoding_carries_keeps_the_session_usable(
    store: Store, value: Any
) -> None:

    def odd() -> Any:
        return value

    model = ScriptedModel([call("odd"), "Done."])
    talk = Talk(agent_of(model, odd), store)
    try:
        events = await talk.say()
    except ToolResultError as error:
        assert "odd" in str(error)
        model.add("All right.")
        model = ScriptedModel()
        talk.runner.agent.model = model
    else:
        assert final_text(events) == "Done."
    await talk.check_goes_on(model)


async def test_a_result_of_ten_megabytes_is_refused_and_the_model_is_told(store: Store) -> None:
    def huge() -> str:
        return "x" * 10_000_000

    model = ScriptedModel([call("huge"), "Too much."])
    talk = Talk(agent_of(model, huge), store)
    events = await talk.say()
    error = responses(events)[0]["error"]
    assert "huge" in error and len(error) < 1000
    assert final_text(events) == "Too much."
    await talk.check_goes_on(model)


async def test_the_greatest_size_of_a_result_may_be_set(memory: Store) -> None:
    def small() -> str:
        return "x" * 100

    model = ScriptedModel([call("small"), "A", call("small"), "B"])
    talk = Talk(agent_of(model, small), memory)
    events = await talk.say(run_config=RunConfig(max_tool_result_bytes=50))
    assert "small" in responses(events)[0]["error"]
    assert responses(await talk.say()) == [{"result": "x" * 100}]


class Row(BaseModel):
    n: int


@pytest.mark.spec(137)
@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, {"result": None}),
        (0, {"result": 0}),
        ([], {"result": []}),
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        (Row(n=1), {"result": {"n": 1}}),
        ((1, 2), {"result": [1, 2]}),
    ],
)
async def test_a_result_that_is_no_dict_is_wrapped(
    memory: Store, value: Any, wanted: dict[str, Any]
) -> None:
    def odd() -> Any:
        return value

    model = ScriptedModel([call("odd"), "Done."])
    assert responses(await Talk(agent_of(model, odd), memory).say()) == [wanted]


async def test_a_result_edited_after_the_call_shows_neither_in_the_log_nor_in_requests(
    store: Store,
) -> None:
    kept: dict[str, Any] = {"a": [1]}

    def keep() -> Any:
        return kept

    model = ScriptedModel([call("keep"), "Done."])
    talk = Talk(agent_of(model, keep), store)
    await talk.say()
    kept["a"].append(2)
    assert responses(await talk.stored()) == [{"a": [1]}]
    await talk.check_goes_on(model)
    assert model.requests[-1].function_responses[0].response == {"a": [1]}


@pytest.mark.parametrize("value", [float("nan"), Odd(), b"\xff", {1: {2, 3}}, "\ud800", lambda: 1])
async def test_a_state_value_that_cannot_be_stored_keeps_the_session_usable(
    store: Store, value: Any
) -> None:
    """Memory keeps what it is given; a file refuses with an error. Both stay usable."""

    def write(tool_context: Any) -> str:
        tool_context.state["odd"] = value
        return "written"

    def read() -> str:
        return "read"

    model = ScriptedModel([[call("write"), call("read")]])
    model.add("Done.")
    agent = agent_of(model, write, read)
    talk = Talk(agent, store)
    try:
        await talk.say()
    except Exception as error:
        assert "odd" in f"{error}{getattr(error, '__notes__', '')}"
    if len(model.requests) < 2:
        agent.model = model = ScriptedModel()
    await talk.check_goes_on(model)


async def test_an_interrupt_of_the_keyboard_during_a_tool_leaves_a_valid_session(
    memory: Store,
) -> None:
    """It is not swallowed, and the log is sealed all the same."""

    async def leave() -> None:
        raise KeyboardInterrupt

    model = ScriptedModel([call("leave")])
    talk = Talk(agent_of(model, leave), memory)
    with pytest.raises(KeyboardInterrupt):
        await talk.say()
    await talk.check_goes_on(model)


async def test_a_tool_that_raises_stop_async_iteration_does_not_end_the_run_silently(
    store: Store,
) -> None:
    async def leave() -> None:
        raise StopAsyncIteration("odd")

    model = ScriptedModel([call("leave")])
    talk = Talk(agent_of(model, leave), store)
    error = await talk.fails()
    assert "odd" in str(error) or isinstance(error.__cause__, StopAsyncIteration)
    await talk.check_goes_on(model)


@pytest.mark.parametrize("value", [b"\xff", "\ud800", float("nan"), object(), [{1}]])
async def test_state_that_cannot_be_stored_is_fed_back(store: Store, value: Any) -> None:
    def note(tool_context: ToolContext) -> str:
        tool_context.state["kept"] = 1
        tool_context.state["k"] = value
        return "noted"

    agent = LlmAgent(name="clerk", model=ScriptedModel([call("note"), "Sorry."]), tools=[note])
    app = App(name="talk", root_agent=agent, tool_errors="feedback")
    events = await Talk(app, store).say()
    (answer,) = events[1].get_function_responses()
    assert answer.response is not None
    assert "State key 'k' holds a value that JSON cannot carry" in answer.response["error"]
    assert events[1].actions.state_delta == {"kept": 1}
    assert final_text(events) == "Sorry."
