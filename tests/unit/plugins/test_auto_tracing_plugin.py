"""AutoTracingPlugin: which functions are wrapped, and what the spans of each kind say."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from types import ModuleType
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.plugins import auto_tracing_helpers as helpers
from ostinato.plugins._redaction import redacted_text
from ostinato.plugins.auto_tracing_helpers import Caps, StreamResult, build_tracing_wrapper
from ostinato.plugins.auto_tracing_plugin import AutoTracingPlugin
from ostinato.runners import InMemoryRunner
from ostinato.testing import ScriptedModel, call

CAPS = Caps()
MODULES = {
    "traced_app": "",
    "traced_app.util": """
def double(x): return x * 2
def _hidden(x): return double(x)
class Store:
    def get(self, key): return key
    def _raw(self): return 1
    @staticmethod
    def fixed(a): return a
    @classmethod
    def made(cls, a): return a
    def __len__(self): return 3
""",
    "traced_app.tools": """
from traced_app.util import Store, double, _hidden
import traced_other, traced_prefix
store = Store()
def brew(cups: int) -> int:
    "Brews tea."
    store.get("k"); store._raw(); Store.fixed(1); Store.made(2); len(store)
    traced_other.out_of_scope(); traced_prefix.asked_for()
    return double(cups) + _hidden(cups)
""",
    "traced_other": "def out_of_scope(): return 1\n",
    "traced_prefix": "def asked_for(): return 1\n",
}


class Spans:
    """A tracer, and the spans that it has ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("test")

    @property
    def ended(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    @property
    def last(self) -> dict[str, Any]:
        return dict(self.ended[-1].attributes or {})


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def program() -> Iterator[ModuleType]:
    """A program of its own, in modules that only this test knows."""
    try:
        for name in sorted(MODULES, key=lambda name: (name == "traced_app.tools", name)):
            module = sys.modules[name] = ModuleType(name)
            exec(MODULES[name], vars(module))
        yield sys.modules["traced_app.tools"]
    finally:
        for name in MODULES:
            sys.modules.pop(name, None)


async def run(program: ModuleType, plugin: AutoTracingPlugin) -> None:
    model = ScriptedModel([call("brew", cups=3), "done"])
    agent = LlmAgent(name="clerk", model=model, tools=[program.brew])
    runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[plugin]))
    await runner.run_debug("Tea.", quiet=True)
    await runner.close()


async def test_functions_of_the_packages_that_an_agent_uses_make_spans(
    program: ModuleType, spans: Spans
) -> None:
    plugin = AutoTracingPlugin(tracer=spans.tracer, extra_scope_prefixes=["traced_pre"])
    await run(program, plugin)
    names = [span.name for span in spans.ended]
    assert names == [
        "Store.get",
        "Store._raw",
        "Store.fixed",
        "Store.made",
        "asked_for",
        "double",
        "double",
    ]
    wrapped = program.double
    await run(program, plugin)
    assert program.double is wrapped
    assert [span.name for span in spans.ended] == [*names, *names, "brew"]
    assert wrapped is sys.modules["traced_app.util"].double


@pytest.mark.parametrize(("depth", "count"), [(0, 0), (30, 6)])
async def test_the_walk_is_bounded(
    program: ModuleType, spans: Spans, depth: int, count: int
) -> None:
    await run(program, AutoTracingPlugin(tracer=spans.tracer, max_walk_depth=depth))
    assert len(spans.ended) == count


async def test_nothing_is_wrapped_for_a_tracer_that_records_nothing(program: ModuleType) -> None:
    await run(program, AutoTracingPlugin(tracer=trace.NoOpTracer()))
    assert not hasattr(program.double, helpers.WRAPPED_ATTR)
    assert AutoTracingPlugin().name == "AutoTracingPlugin"


def test_a_call_says_its_arguments_and_result(spans: Spans) -> None:
    def order(item: str, *more: int, api_key: str = "", **rest: Any) -> str:
        return item

    wrapper = build_tracing_wrapper(order, spans.tracer, CAPS)
    assert wrapper("tea", 2, api_key="k-123", size="big") == "tea"
    assert inspect.signature(wrapper) == inspect.signature(order)
    assert spans.last == {
        "adk.fn.arg.item": "'tea'",
        "adk.fn.arg.arg1": "2",
        "adk.fn.arg.api_key": "[redacted]",
        "adk.fn.arg.size": "'big'",
        "adk.fn.return": "'tea'",
    }


def test_an_exception_is_recorded_without_secrets(spans: Spans) -> None:
    def fail() -> None:
        try:
            raise KeyError("password=hunter2hunter2")
        except KeyError as error:
            raise ValueError("no login with token=sk-live-abcdef123 " + "x" * 9_000) from error

    with pytest.raises(ValueError, match="sk-live"):
        build_tracing_wrapper(fail, spans.tracer, CAPS)()
    (span,) = spans.ended
    (event,) = span.events
    told = dict(event.attributes or {})
    assert told["exception.type"] == "ValueError"
    assert str(told["exception.message"]).startswith("no login with token=[redacted] xxx")
    assert "in fail" in str(told["exception.stacktrace"])
    written = f"{told}{span.attributes}{span.status.description}"
    assert "sk-live" not in written and "hunter2" not in written
    assert len(str(told["exception.message"])) < CAPS.max_repr_len + 40


@pytest.mark.long
def test_only_the_beginning_of_a_value_is_searched_for_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    def note(text: str) -> str:
        seen.append(len(text))
        return redacted_text(text)

    monkeypatch.setattr(helpers, "redacted_text", note)

    class Plain:
        def __init__(self) -> None:
            self.first, self.second, self.third = "a" * 10**6, b"b" * 10**6, ["c" * 10**6]

    caps = Caps(max_repr_len=100)
    for value in ("y" * 10**6, b"y" * 10**6, ["y" * 10**6], Plain()):
        text = helpers.safe_repr(value, caps)
        assert "more chars]" in text and len(text) < 150, text
    assert sum(seen) < 8 * 2_000
    # A key that the cut halves is not shown, wherever it lies.
    for length in range(1, 2_300):
        text = helpers.safe_repr("z" * length + " sk-aaaaaaaaaaaa" + "z" * 3_000, caps)
        assert "sk-" not in text


def test_an_exception_is_recorded_and_raised(spans: Spans) -> None:
    class Till:
        def pay(self, amount: int) -> None:
            raise KeyError(amount)

    Till.pay = build_tracing_wrapper(Till.pay, spans.tracer, CAPS)  # type: ignore[method-assign]
    with pytest.raises(KeyError):
        Till().pay(1)
    (span,) = spans.ended
    assert span.name == "Till.pay" and span.status.description == "KeyError: 1"
    assert [event.name for event in span.events] == ["exception"]
    assert spans.last == {
        "adk.fn.arg.amount": "1",
        "adk.fn.exc_type": "KeyError",
        "adk.fn.exc_repr": "KeyError(1)",
    }


async def test_a_cancelled_coroutine_ends_its_span_without_an_error(spans: Spans) -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    wrapper = build_tracing_wrapper(wait, spans.tracer, CAPS)
    assert inspect.iscoroutinefunction(wrapper)
    task = asyncio.create_task(wrapper())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert spans.last["adk.fn.exc_type"] == "CancelledError"
    assert spans.ended[0].status.is_unset


def test_a_generator_gets_what_is_sent_and_returns(spans: Spans) -> None:
    heard: list[Any] = []

    def talk(count: int) -> Generator[int, Any, str]:
        for number in range(count):
            try:
                heard.append((yield number))
            except ValueError:
                heard.append("error")
            assert trace.get_current_span().is_recording()
        return "bye"

    wrapper = build_tracing_wrapper(talk, spans.tracer, Caps(max_recorded_yields=2))
    stream = wrapper(4)
    assert inspect.isgeneratorfunction(wrapper) and next(stream) == 0
    assert not trace.get_current_span().is_recording()  # its span does not leak to the consumer
    assert stream.send("hi") == 1 and stream.throw(ValueError()) == 2 and next(stream) == 3
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == "bye" and heard == ["hi", "error", None, None]
    assert spans.last["adk.fn.return"] == (
        "<generator: 4 items yielded; first 2: [0, 1] ... + 2 more>"
    )
    closed = wrapper(4)
    next(closed)
    closed.close()
    assert spans.last["adk.fn.exc_type"] == "GeneratorExit"


async def test_an_async_generator_gets_what_is_sent_and_is_closed(spans: Spans) -> None:
    heard: list[Any] = []

    async def talk(count: int) -> AsyncGenerator[int, Any]:
        try:
            for number in range(count):
                answer = yield number
                heard.append(answer)
        finally:
            heard.append("closed")

    wrapper = build_tracing_wrapper(talk, spans.tracer, CAPS)
    assert inspect.isasyncgenfunction(wrapper)
    stream = wrapper(3)
    assert await anext(stream) == 0 and await stream.asend("hi") == 1
    await stream.aclose()
    assert heard == ["hi", "closed"] and spans.last["adk.fn.exc_type"] == "GeneratorExit"
    assert [item async for item in wrapper(2)] == [0, 1]
    assert spans.last["adk.fn.return"] == "<generator: 2 items yielded; first 2: [0, 1]>"


class Plain:
    def __init__(self) -> None:
        self.x, self._y, self.password = 1, 2, "p"


class Slotted:
    __slots__ = ("_s", "r")

    def __init__(self) -> None:
        self.r, self._s = 1, 2


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Plain(), "<Plain fields={x=1, password=[redacted]}>"),
        (Slotted(), "<Slotted fields={r=1}>"),
        (Broken(), "<unrepr-able Broken: ValueError>"),
        ("abcdefgh" * 3, "'abcdefghabcdefghabcdefgh'"),
        ("x" * 60, "'" + "x" * 49 + "...[12 more chars]"),
        (object(), "<object>"),
        (StreamResult([], CAPS, 0), "<generator: 0 items yielded>"),
    ],
)
def test_a_value_is_told_in_bounds(value: Any, text: str) -> None:
    assert helpers.safe_repr(value, Caps(max_repr_len=50)) == text


def test_a_repr_that_calls_traced_functions_makes_no_further_spans(spans: Spans) -> None:
    class Loop:
        def __repr__(self) -> str:
            return label(self)

    label: Callable[[Any], str] = build_tracing_wrapper(lambda one: "loop", spans.tracer, CAPS)
    wrapper = build_tracing_wrapper(lambda one: one, spans.tracer, CAPS)
    wrapper(Loop())
    assert spans.last["adk.fn.arg.one"] == "loop" and len(spans.ended) == 1


def test_names_and_parameters() -> None:
    def free(a: int, b: int, *c: int, d: int) -> None: ...

    assert helpers.display_name_for(Plain.__init__) == "Plain.__init__"
    assert helpers.positional_param_names(free) == ("a", "b")
    assert helpers.positional_param_names(print) == ()
    assert helpers.public_slot_names(Slotted) == {"r"}
    pairs = helpers.name_value_pairs(("self", "a"), ("S", 1), {"self": 3}, CAPS)
    assert pairs == [("a", "1"), ("self", "3")]
