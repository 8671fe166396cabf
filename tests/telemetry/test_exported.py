"""What a program's own OpenTelemetry gets: attributes, metrics, and contents only where asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from ostinato.agents import LlmAgent
from ostinato.models.llm_response import LlmResponse
from ostinato.telemetry.redaction import redacted
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
    points = {m.name: list(m.data.data_points) for m in scope.metrics}
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
    assert redacted(given) == {**given, **wanted}
