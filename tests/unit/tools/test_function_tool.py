"""FunctionTool: arguments, confirmation, and how functions of every kind are called."""

import asyncio
import contextvars
import functools
import json
import sys
import threading
import typing
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import AfterValidator, BaseModel, Field

from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.context.context import Context
from ostinato.errors import AgentConfigError, ToolTimeoutError
from ostinato.tools import TransferToAgentTool, exit_loop, transfer_to_agent
from ostinato.tools.function import worker_pool as _worker_pool
from ostinato.tools.function_tool import FunctionTool
from ostinato.tools.model_mistake import ModelMistake
from ostinato.tools.tool_context import ToolContext
from tests.unit.tools.contexts import make_context
from tests.unit.workflow.kit import adk_ways


class Place(BaseModel):
    city: str
    lat: float = 0.0


class Other(BaseModel):
    code: int


ROME = {"city": "Rome"}


async def run(func: Any, /, context: Context | None = None, **args: Any) -> Any:
    tool = func if isinstance(func, FunctionTool) else FunctionTool(func)
    return await tool.run_async(args=args, tool_context=context or make_context())


@pytest.mark.spec(143)
async def test_missing_arguments_are_answered_to_the_model() -> None:
    calls: list[object] = []

    def weather(city: str, day: str, unit: str = "C", *args: int, **rest: int):
        calls.append(city)

    answer = await run(weather, unit="F")
    assert answer == {
        "error": "Invoking `weather()` failed as the following mandatory input parameters are not "
        "present:\ncity\nday\nYou could retry calling this tool, but it is IMPORTANT for you to "
        "provide all the mandatory parameters."
    }
    assert isinstance(answer, ModelMistake)
    assert answer.message == answer["error"]
    assert json.loads(json.dumps(answer)) == answer
    assert calls == []


@pytest.mark.spec(142)
async def test_unknown_arguments_are_dropped() -> None:
    def rest(a: int, **others: int):
        return a, others

    assert await run(rest, a=1, b=2) == (1, {})


@pytest.mark.spec(142)
async def test_the_context_goes_to_the_parameter_that_asks_for_it() -> None:
    def by_name(a: int, tool_context):
        return tool_context

    def by_type(ctx: ToolContext, a: int):
        return ctx

    context = make_context()
    for func in (by_name, by_type):
        assert await run(func, context, a=1) is context
        assert await run(func, context, a=1, ctx=5, tool_context=6) is context


@pytest.mark.spec(141)
async def test_dicts_become_models_also_in_unions_and_lists() -> None:
    def go(
        one: Place,
        perhaps: Place | None = None,
        many: list[Place] = [],  # noqa: B006
        by: dict[str, Place] = {},  # noqa: B006
    ):
        return one, perhaps, many, by

    rome = {"city": "Rome", "lat": "41.9"}
    place = Place(city="Rome", lat=41.9)
    assert await run(go, one=rome) == (place, None, [], {})
    assert await run(go, one=place, perhaps=rome, many=[rome, place], by={"x": rome}) == (
        place,
        place,
        [place, place],
        {"x": place},
    )
    assert await run(go, one=rome, perhaps=None) == (place, None, [], {})


@pytest.mark.spec(141)
async def test_values_are_converted_where_that_loses_nothing() -> None:
    nothing: Any = None

    def f(i: int = 0, x: float = 0.0, b: bool = False, s: set[int] = set(), n: int = nothing):  # noqa: B006
        return i, x, b, s, n

    assert await run(f, i="5", x=2, b="true", s=[1, "2"], n=None) == (5, 2.0, True, {1, 2}, None)


@pytest.mark.spec(141)
async def test_programs_from_google_adk_get_what_is_for_no_model_as_it_is() -> None:
    class Item(BaseModel):
        count: int

    def buy(
        item: Item,
        items: list[Item],
        other: Optional[Item],
        many: int,
        kind: Literal["a"],
    ) -> list[Any]:
        return [item, items, other, many, kind]

    given: dict[str, Any] = {"item": {"count": "1"}, "items": [{"count": 2}], "other": {"count": 3}}
    args = {**given, "many": "2", "kind": "b"}
    assert isinstance(await run(buy, **args), ModelMistake)
    with adk_ways():
        got = await run(buy, **args)
        refused = await run(buy, **{**args, "item": {}})
    assert got == [Item(count=1), [Item(count=2)], Item(count=3), "2", "b"]
    assert isinstance(refused, ModelMistake) and "item" in refused.message


MODELS: list[tuple[Any, Any, bool]] = [
    (Place, ROME, True),
    (Optional[Place], ROME, True),
    (list[Place], [ROME], True),
    (Optional[list[Place]], [ROME], True),
    (Union[Place, Other], ROME, True),
    (Union[Place, Other, None], ROME, True),
    (Annotated[Place, "where"], ROME, True),
    ("Place", ROME, True),
    ("list[Place]", [ROME], True),
    ("Optional[Place]", ROME, False),
    (Optional["Place"], ROME, False),
    (Union[Place, str], ROME, False),
    (Optional[list["Place"]], [ROME], False),
    (list[Optional[Place]], [ROME], False),
    (dict[str, Place], {"x": ROME}, False),
    (tuple[Place, ...], [ROME], False),
]


@pytest.mark.spec(141)
@pytest.mark.parametrize(("written", "given", "becomes_model"), MODELS)
async def test_programs_from_google_adk_get_the_models_that_it_makes(
    written: Any, given: Any, becomes_model: bool
) -> None:
    def go(place: Any) -> Any:
        return place

    go.__annotations__["place"] = written
    with adk_ways():
        got = await run(go, place=given)
    assert (got != given) == becomes_model


@pytest.mark.spec(141)
@pytest.mark.parametrize(
    ("written", "given"),
    [(Place | None, ROME), (list[Place] | None, [ROME]), (Place | Other, ROME)],
)
async def test_a_bar_between_types_means_no_model_before_python_3_14(
    written: Any, given: Any
) -> None:
    def go(place: Any) -> Any:
        return place

    go.__annotations__["place"] = written
    with adk_ways():
        got = await run(go, place=given)
    assert (got != given) == (sys.version_info >= (3, 14))


@pytest.mark.spec(141)
async def test_an_integer_for_a_float_stays_an_integer() -> None:
    def pay(
        amount: float,
        tip: float | None = None,
        parts: list[float] = [],  # noqa: B006
        rates: dict[str, float] = {},  # noqa: B006
        place: Place | None = None,
    ):
        return f"${amount} ${tip} {parts} {rates} {place and place.lat}"

    assert await run(pay, amount=200) == "$200 $None [] {} None"
    told = await run(
        pay,
        amount=2.5,
        tip=3,
        parts=[1, "2", 2.5],
        rates={"a": 1, "b": 1.5},
        place={"city": "Rome", "lat": 1},
    )
    assert told == "$2.5 $3 [1.0, 2.0, 2.5] {'a': 1, 'b': 1.5} 1.0"
    assert (await run(pay, amount=1, parts=[1, 2.5])).startswith("$1 $None [1, 2.5]")


async def test_a_value_that_a_validator_changed_stays_as_it_made_it() -> None:
    def pay(amount: Annotated[float, AfterValidator(lambda cents: cents / 100)]):
        return amount

    assert await run(pay, amount=250) == 2.5


async def test_an_integer_for_a_float_has_to_fit_the_constraints() -> None:
    def pay(amount: float = Field(gt=100)):
        return amount

    assert "greater than 100" in (await run(pay, amount=5))["error"]
    assert await run(pay, amount=200) == 200


async def test_a_value_of_the_declared_type_is_handed_on_as_it_is() -> None:
    def f(a: dict[str, Any], b: dict, c: list, d: Any, e):
        return [a, b, c, d, e]

    given: list[Any] = [{"x": 1}, {"y": 1}, [1], object(), object()]
    got = await run(f, **dict(zip("abcde", given, strict=True)))
    assert all(one is other for one, other in zip(got, given, strict=True))


async def test_the_own_default_of_a_pydantic_field_is_passed() -> None:
    def f(a: int = Field(gt=0), b: list[int] = Field(default_factory=list)):  # noqa: B008
        return a, b

    assert await run(f, a=1) == (1, [])
    assert "mandatory" in (await run(f))["error"]
    assert "greater than 0" in (await run(f, a=0))["error"]


@pytest.mark.spec(143)
async def test_wrong_types_are_refused_before_the_tool_runs() -> None:
    calls: list[object] = []

    def book(nights: int, where: Place | None, kind: Literal["a", "b"] = "a"):
        calls.append(nights)

    answer = await run(book, nights="many", where={"lat": "north"}, kind="c")
    assert isinstance(answer, ModelMistake)
    assert answer.message.splitlines() == [
        "Invoking `book()` failed as the following input parameters do not fit their declared "
        "types:",
        "nights: expected int, got 'many' (str)",
        "  Input should be a valid integer, unable to parse string as an integer",
        "where: expected Place | None, got {'lat': 'north'} (dict)",
        "  city: Field required",
        "  lat: Input should be a valid number, unable to parse string as a number",
        "kind: expected 'a' | 'b', got 'c' (str)",
        "  Input should be 'a' or 'b'",
        "You could retry calling this tool, but it is IMPORTANT for you to give every parameter a "
        "value of its declared type.",
    ]
    assert calls == []
    long = await run(book, nights="9" * 10_000 + "x", where=None)
    assert len(long["error"]) < 1_000


@pytest.mark.spec(143)
async def test_none_does_not_stand_for_a_mandatory_value() -> None:
    def f(a: int):
        return a

    assert "a: expected int, got None (NoneType)" in (await run(f, a=None))["error"]


@pytest.mark.spec(144)
@pytest.mark.parametrize("sync_tools", ["thread", "inline"])
async def test_targets_of_every_kind_are_called(sync_tools: str) -> None:
    def plain(a: int):
        return a + 1

    async def coroutine(a: int):
        return a + 1

    @functools.wraps(coroutine)
    def wrapper(*args: Any, **kwargs: Any):
        return coroutine(*args, **kwargs)

    class Plain:
        def __call__(self, a: int):
            return a + 1

        def method(self, a: int):
            return a + 1

    class Coroutine:
        async def __call__(self, a: int):
            return a + 1

    def two(b: int, a: int):
        return a + b

    async def async_two(b: int, a: int):
        return a + b

    context = make_context(sync_tools=sync_tools)
    targets = (
        plain,
        coroutine,
        wrapper,
        lambda a: a + 1,
        Plain(),
        Plain().method,
        Coroutine(),
        functools.partial(two, 1),
        functools.partial(async_two, b=1),
    )
    for target in targets:
        assert await run(target, context, a=1) == 2


@pytest.mark.spec(144)
async def test_plain_functions_run_where_the_run_config_says() -> None:
    def plain():
        return threading.get_ident()

    here = threading.get_ident()
    tool = FunctionTool(plain)
    assert await run(tool, make_context(sync_tools="inline")) == here
    assert await run(tool, make_context(sync_tools="thread")) != here
    small = make_context(sync_tools="thread", tool_thread_pool_config={"max_workers": 2})
    assert await run(tool, small) != here

    async def ident():
        return threading.get_ident()

    assert await run(ident, make_context(sync_tools="thread")) == here


@pytest.mark.spec(144)
async def test_a_thread_sees_the_callers_context_variables() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("acme")

    def who():
        return tenant.get()

    assert await run(who, make_context(sync_tools="thread")) == "acme"


@pytest.mark.spec(144)
@pytest.mark.parametrize("sync_tools", ["thread", "inline"])
async def test_what_a_plain_function_sets_in_its_context_does_not_leak(sync_tools: str) -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("acme")

    def change():
        tenant.set("other")

    await run(change, make_context(sync_tools=sync_tools))
    assert tenant.get() == "acme"


@pytest.mark.parametrize("sync_tools", ["thread", "inline"])
async def test_what_a_tool_raises_reaches_the_caller(sync_tools: str) -> None:
    error = KeyError("k")

    def fail():
        raise error

    with pytest.raises(KeyError) as raised:
        await run(fail, make_context(sync_tools=sync_tools))
    assert raised.value is error


async def test_stop_iteration_in_a_thread_does_not_hang_the_run() -> None:
    def empty():
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration") as raised:
        await run(empty, make_context(sync_tools="thread"))
    assert isinstance(raised.value.__cause__, StopIteration)


async def test_a_coroutine_that_takes_too_long_is_cancelled() -> None:
    ended: list[str] = []

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    with pytest.raises(ToolTimeoutError, match=r"'slow'.*0\.01 s"):
        await run(FunctionTool(slow, timeout=0.01))
    assert ended == ["cancelled"]


@pytest.mark.parametrize("sync_tools", ["thread", "inline"])
async def test_a_thread_that_takes_too_long_is_abandoned(sync_tools: str) -> None:
    release = threading.Event()

    def slow():
        release.wait(60)

    try:
        with pytest.raises(ToolTimeoutError, match=r"'slow'.*0\.01 s"):
            await run(FunctionTool(slow, timeout=0.01), make_context(sync_tools=sync_tools))
    finally:
        release.set()


@pytest.mark.parametrize("sync_tools", ["thread", "inline"])
async def test_a_tools_own_timeout_error_stays_what_it_is(sync_tools: str) -> None:
    def plain():
        raise TimeoutError("upstream")

    async def coroutine():
        raise TimeoutError("upstream")

    for func in (plain, coroutine):
        with pytest.raises(TimeoutError, match="upstream") as raised:
            await run(FunctionTool(func, timeout=30), make_context(sync_tools=sync_tools))
        assert type(raised.value) is TimeoutError


async def test_a_tool_within_its_timeout_answers() -> None:
    def plain():
        return 1

    async def coroutine():
        return 2

    assert await run(FunctionTool(plain, timeout=30)) == 1
    assert await run(FunctionTool(coroutine, timeout=30)) == 2


async def test_a_cancelled_caller_waits_a_grace_period_for_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_worker_pool, "GRACE_SECONDS", 30.0)
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def slow():
        started.set()
        release.wait(60)
        ended.set()

    task = asyncio.create_task(run(slow, make_context(sync_tools="thread")))
    await asyncio.to_thread(started.wait, 60)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_generator_functions_are_refused() -> None:
    def plain():
        yield 1

    class Object:
        def __call__(self):
            yield 1

    for func in (plain, Object(), functools.partial(plain)):
        with pytest.raises(TypeError, match="generator"):
            FunctionTool(func)
    with pytest.raises(TypeError, match="callable"):
        FunctionTool("weather")  # pyright: ignore[reportArgumentType]


def test_a_timeout_is_more_than_nothing() -> None:
    with pytest.raises(AgentConfigError, match=r"'pay'.*timeout is 0 s"):
        FunctionTool(pay, timeout=0)


async def test_a_renamed_tool_speaks_of_itself_by_its_new_name() -> None:
    answer = await run(FunctionTool(pay).copy_as("shop_pay"))
    assert answer["error"].startswith("Invoking `shop_pay()` failed")
    context = make_context()
    tool = FunctionTool(pay, require_confirmation=True).copy_as("shop_pay")
    await run(tool, context, amount=1)
    assert "shop_pay()" in context.actions.requested_tool_confirmations["call-1"].hint


UNCONFIRMED = {"error": "This tool call requires confirmation, please approve or reject."}
REJECTED = {"error": "This tool call is rejected."}


def pay(amount: int, to: str = "shop"):
    """Pay."""
    return {"paid": amount}


@pytest.mark.spec(145, 146)
async def test_an_unconfirmed_call_asks_and_answers_so() -> None:
    context = make_context()
    tool = FunctionTool(pay, require_confirmation=True)
    answer = await run(tool, context, amount=5)
    assert answer == UNCONFIRMED
    assert not isinstance(answer, ModelMistake)
    assert context.actions.skip_summarization is True
    (request,) = context.actions.requested_tool_confirmations.items()
    assert request == (
        "call-1",
        ToolConfirmation(
            hint="Please approve or reject the tool call pay() by responding with a "
            "FunctionResponse with an expected ToolConfirmation payload."
        ),
    )


@pytest.mark.spec(146)
async def test_the_users_answer_decides() -> None:
    tool = FunctionTool(pay, require_confirmation=True)
    for confirmed, expected in ((True, {"paid": 5}), (False, REJECTED)):
        context = make_context(confirmation=ToolConfirmation(confirmed=confirmed))
        assert await run(tool, context, amount=5) == expected
        assert context.actions.is_empty()


@pytest.mark.spec(143, 146)
async def test_a_wrong_call_is_answered_before_anybody_is_asked() -> None:
    context = make_context()
    tool = FunctionTool(pay, require_confirmation=True)
    assert isinstance(await run(tool, context), ModelMistake)
    assert isinstance(await run(tool, context, amount="much"), ModelMistake)
    assert context.actions.is_empty()


@pytest.mark.spec(145)
async def test_a_function_of_the_arguments_tells_whether_to_ask() -> None:
    def plain(amount: int):
        return amount > 10

    async def coroutine(amount: int, tool_context: ToolContext):
        assert tool_context.function_call_id == "call-1"
        return amount > 10

    for condition in (plain, coroutine):
        tool = FunctionTool(pay, require_confirmation=condition)
        assert await run(tool, amount="5", to="x", extra=1) == {"paid": 5}
        assert await run(tool, amount="50") == UNCONFIRMED


@pytest.mark.spec(150, 155)
async def test_the_small_tools_set_their_actions() -> None:
    for tool in (FunctionTool(transfer_to_agent), TransferToAgentTool(["other"])):
        context = make_context()
        assert await run(tool, context, agent_name="other") is None
        assert context.actions.transfer_to_agent == "other"
        assert isinstance(await run(tool, context), ModelMistake)
    context = make_context()
    answer = await run(TransferToAgentTool(["one", "two"]), context, agent_name="three")
    assert isinstance(answer, ModelMistake)
    assert "'three'" in answer.message and "one, two" in answer.message
    assert context.actions.transfer_to_agent is None
    context = make_context()
    assert await run(exit_loop, context) is None
    assert (context.actions.escalate, context.actions.skip_summarization) == (True, True)


class Town(typing.TypedDict):
    city: str


def test_a_typed_dict_that_cannot_be_read_is_refused_when_the_tool_is_made() -> None:
    def by_name(place: "list[Town] | None" = None) -> Town:
        return {"city": str(place)}

    def by_type(place: Any) -> None: ...

    by_type.__annotations__["place"] = list[Town]
    for func in (by_name, by_type):
        if sys.version_info >= (3, 12):  # there pydantic reads it
            assert FunctionTool(func)._get_declaration() is not None
            continue
        with pytest.raises(AgentConfigError, match=r"Town is a typing\.TypedDict.*_extensions"):
            FunctionTool(func)


def test_an_unannotated_input_stream_is_hidden_by_its_name() -> None:
    def watch(place: str, input_stream=None) -> str:  # type: ignore[no-untyped-def]  # pyright: ignore
        return f"{place} {input_stream}"

    declared = FunctionTool(watch)._get_declaration()  # pyright: ignore
    assert "input_stream" not in str(declared)
    assert "place" in str(declared)
