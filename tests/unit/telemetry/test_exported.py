"""What a program's own OpenTelemetry gets: attributes, metrics, and contents only where asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.metrics import _internal
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.models.llm_response import LlmResponse
from ostinato.plugins import BasePlugin
from ostinato.runners import Runner
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.telemetry.model_call import redact_value
from ostinato.testing import Conversation, ScriptedModel, call

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.delenv(CAPTURE, raising=False)
    yield exporter
    provider.shutdown()


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    monkeypatch.setattr(_internal, "_METER_PROVIDER", provider)
    assert metrics.get_meter_provider() is provider
    yield reader
    provider.shutdown()


def book(city: str, token: str = "") -> str:
    return "booked"


ANSWER = LlmResponse(
    content=types.Content(role="model", parts=[types.Part(text="Done.")]),
    finish_reason=types.FinishReason.STOP,
    model_version="m-1",
    usage_metadata=types.GenerateContentResponseUsageMetadata(
        prompt_token_count=11,
        candidates_token_count=3,
        cached_content_token_count=8,
        thoughts_token_count=2,
    ),
)


async def run(*turns: Any) -> None:
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(list(turns)), tools=[book], instruction="Book."
    )
    await Conversation(agent).say("To Rome with key sk-abcdefghijklmnop")


def named(spans: Any, name: str) -> dict[str, Any]:
    return dict(next(s for s in spans.get_finished_spans() if s.name == name).attributes)


async def test_a_model_call_carries_the_conventions_attributes(spans: Any) -> None:
    await run(ANSWER)
    found = named(spans, "chat scripted")
    first = found.pop("gen_ai.response.time_to_first_chunk")
    assert first > 0
    assert found.pop("ostinato.invocation_id").startswith("e-")
    assert found == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 8,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }
    root = named(spans, "invocation")
    assert root["gen_ai.conversation.id"] == "session"
    assert (root["ostinato.app"], root["ostinato.user"]) == ("test", "user")


async def test_contents_stay_at_home_unless_asked_for(spans: Any) -> None:
    await run(call("book", city="Rome"), ANSWER)
    everything = json.dumps([dict(s.attributes) for s in spans.get_finished_spans()], default=str)
    assert "Rome" not in everything
    assert "Book." not in everything


async def test_contents_that_are_asked_for_come_without_secrets(
    spans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, "true")
    await run(call("book", city="Rome", token="abc"), ANSWER)
    last = [dict(s.attributes) for s in spans.get_finished_spans() if s.name == "chat scripted"][1]
    messages = json.loads(last["gen_ai.input.messages"])
    assert [m["role"] for m in messages] == ["user", "assistant", "tool"]
    assert messages[0]["parts"] == [{"type": "text", "content": "To Rome with key ***"}]
    assert messages[1]["parts"][0]["type"] == "tool_call"
    assert messages[1]["parts"][0]["arguments"] == {"city": "Rome", "token": "***"}
    assert messages[2]["parts"][0]["response"] == {"result": "booked"}
    assert json.loads(last["gen_ai.output.messages"])[0]["parts"][0]["content"] == "Done."
    assert "Book." in json.loads(last["gen_ai.system_instructions"])[0]["content"]
    tool = named(spans, "execute_tool book")
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"city": "Rome", "token": "***"}
    assert json.loads(tool["gen_ai.tool.call.result"]) == {"result": "booked"}


@pytest.mark.parametrize("captures", [False, True])
async def test_a_run_may_say_whether_its_spans_hold_contents(
    spans: Any, monkeypatch: pytest.MonkeyPatch, captures: bool
) -> None:
    monkeypatch.setenv(CAPTURE, str(not captures))
    telemetry = SimpleNamespace(should_add_content_to_experimental_spans=captures)
    model = ScriptedModel([call("book", city="Rome"), ANSWER])
    talk = Conversation(LlmAgent(name="clerk", model=model, tools=[book]))
    await talk.say("To Rome", run_config=RunConfig(telemetry=telemetry))
    names = {name for s in spans.get_finished_spans() for name in s.attributes}
    contents = {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.result"}
    assert names & contents == (contents if captures else set())


def current() -> str:
    return getattr(trace.get_current_span(), "name", "")


class Watcher(BasePlugin):
    """Notes the span that is current in each hook around a model call."""

    def __init__(self) -> None:
        super().__init__("watcher")
        self.seen: list[tuple[str, str]] = []

    def note(self, hook: str) -> None:
        context = trace.get_current_span().get_span_context()
        self.seen.append((f"{hook}: {current()}", str(context.span_id)))

    async def before_model_callback(self, **_: Any) -> None:
        self.note("before")

    async def after_model_callback(self, **_: Any) -> None:
        self.note("after")

    async def on_model_error_callback(self, **_: Any) -> Any:
        self.note("error")
        return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Sorry.")]))

    async def on_event_callback(self, **_: Any) -> None:
        self.note("event")


@pytest.mark.parametrize("turn", [ANSWER, RuntimeError("quota")])
async def test_the_hooks_around_a_model_call_run_within_its_span(spans: Any, turn: Any) -> None:
    watcher = Watcher()
    agent = LlmAgent(name="clerk", model=ScriptedModel([turn]))
    await Conversation(agent, plugins=[watcher]).say("Go")
    hooks = ["before", *(["error"] if turn is not ANSWER else []), "after"]
    around = [one for one in watcher.seen if "event" not in one[0]]
    assert [name for name, _ in around] == [f"{hook}: chat scripted" for hook in hooks]
    assert len({span for _, span in around}) == 1
    assert all("chat" not in name for name, _ in watcher.seen if "event" in name)


async def test_a_call_that_a_hook_answers_has_a_span_and_is_not_counted(
    spans: Any, figures: InMemoryMetricReader
) -> None:
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(), before_model_callback=lambda **_: ANSWER.model_copy()
    )
    await Conversation(agent).say("Go")
    assert named(spans, "chat scripted")["ostinato.outcome"] == "not asked"
    assert figures.get_metrics_data() is None


async def test_a_hook_that_raises_ends_the_span_with_its_error(spans: Any) -> None:
    def refuse(**_: Any) -> None:
        raise KeyError("no")

    agent = LlmAgent(name="clerk", model=ScriptedModel(), before_model_callback=refuse)
    with pytest.raises(KeyError):
        await Conversation(agent).say("Go")
    assert named(spans, "chat scripted")["error.type"] == "KeyError"


async def test_the_span_is_named_by_the_model_that_a_hook_chose(spans: Any) -> None:
    def choose(llm_request: Any, **_: Any) -> None:
        llm_request.model = "better"

    agent = LlmAgent(name="clerk", model=ScriptedModel(["Ok."]), before_model_callback=choose)
    await Conversation(agent).say("Go")
    assert named(spans, "chat better")["gen_ai.request.model"] == "better"


@pytest.mark.parametrize("traced", [True, False])
async def test_metrics_count_calls_tokens_and_errors(
    figures: InMemoryMetricReader, traced: bool
) -> None:
    provider = TracerProvider(shutdown_on_exit=False) if traced else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "_TRACER_PROVIDER", provider)
        await run(ANSWER)
        with pytest.raises(RuntimeError):
            await run(RuntimeError("quota"))
    data = figures.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    points: dict[str, list[Any]] = {m.name: list(m.data.data_points) for m in scope.metrics}
    durations = points["gen_ai.client.operation.duration"]
    assert sum(p.count for p in durations) == 2
    assert {p.attributes.get("error.type") for p in durations} == {None, "RuntimeError"}
    tokens = {p.attributes["gen_ai.token.type"]: p.sum for p in points["gen_ai.client.token.usage"]}
    assert tokens == {"input": 11, "output": 3}
    assert points["gen_ai.client.operation.time_to_first_chunk"][0].count == 1
    models = {p.attributes["gen_ai.request.model"] for p in durations}
    assert models == {"scripted"}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"api_key": "x", "apiKey": "y", "city": "Rome"}, {"api_key": "***", "apiKey": "***"}),
        ({"password": "x", "db_password": "y"}, {"password": "***", "db_password": "***"}),
        ({"max_tokens": "5", "prompt_tokens": 7, "nextPageToken": "n"}, {}),
        ({"inner": [{"access_token": "x"}]}, {"inner": [{"access_token": "***"}]}),
        ({"text": "Authorization: Bearer abcdefgh123"}, {"text": "Authorization: ***"}),
        ({"token_count": 3, "secretary": "Ann"}, {}),
    ],
)
def test_secrets_are_known_by_name_and_by_look(
    given: dict[str, Any], wanted: dict[str, Any]
) -> None:
    assert redact_value(given) == {**given, **wanted}


async def test_a_message_that_waits_keeps_the_trace_of_its_sender(
    spans: Any, tmp_path: Path
) -> None:
    store = SqliteSessionService(tmp_path / "s.db")
    names: dict[str, Any] = {"user_id": "ann", "session_id": "one"}
    agent = LlmAgent(name="clerk", model=ScriptedModel(["Done."]))
    runner = Runner(app_name="desk", agent=agent, session_service=store, auto_create_session=True)
    with trace.get_tracer("test").start_as_current_span("sender") as sender:
        await runner.submit(**names, new_message="Hi.")
        sent = sender.get_span_context()
    [recovered] = await runner.resume_open()
    assert recovered.outcome == "finished"
    [run] = [one for one in spans.get_finished_spans() if one.name == "invocation"]
    assert run.context.trace_id == sent.trace_id
    assert run.parent.span_id == sent.span_id
    await runner.close()
    await store.close()
