"""The names of google-adk's telemetry that programs use on spans of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.oauth2.credentials import Credentials
from opentelemetry import trace
from opentelemetry._logs import LogRecord
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostinato import types
from ostinato.agents import Agent
from ostinato.context.context import Context
from ostinato.context.run_config import RunConfig
from ostinato.events import Event
from ostinato.models import LlmRequest, LlmResponse
from ostinato.telemetry import ContentCapturingMode, TelemetryConfig, google_cloud, tracing
from ostinato.telemetry.google_cloud import get_gcp_exporters, get_gcp_resource
from ostinato.telemetry.node_tracing import start_as_current_node_span
from ostinato.telemetry.sqlite_span_exporter import SqliteSpanExporter
from ostinato.tools import FunctionTool
from ostinato.workflow import FunctionNode, Workflow
from tests.unit.tools.contexts import make_invocation
from tests.wire.background_server import background_server
from tests.wire.fake_server import Answer

OWN = "gcp.vertex.agent"
SWITCHES = [
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS",
    "OTEL_SEMCONV_STABILITY_OPT_IN",
    "ADK_TELEMETRY_IGNORE_RUN_CONFIG",
]
CAPTURE, LEGACY, SEMCONV, IGNORE = SWITCHES
REQUEST = LlmRequest(
    model="m",
    contents=[
        types.UserContent("hi"),
        types.UserContent([types.Part.from_bytes(data=b"x", mime_type="image/png"), "two"]),
    ],
    config=types.GenerateContentConfig(system_instruction="sys", top_p=0.5, max_output_tokens=5),
)
RESPONSE = LlmResponse(
    content=types.ModelContent("yo"),
    finish_reason=types.FinishReason.STOP,
    usage_metadata=types.GenerateContentResponseUsageMetadata(
        prompt_token_count=3,
        candidates_token_count=4,
        thoughts_token_count=2,
        cached_content_token_count=1,
    ),
)
USED = {
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.output_tokens": 6,
    "gen_ai.usage.cache_read.input_tokens": 1,
    "gen_ai.usage.reasoning.output_tokens": 2,
    "gen_ai.response.finish_reasons": ("stop",),
}


@pytest.fixture(autouse=True)
def fixture_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    for switch in SWITCHES:
        monkeypatch.delenv(switch, raising=False)


@pytest.fixture(name="spans")
def fixture_spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    own = provider.get_tracer("own")
    monkeypatch.setattr("ostinato.telemetry.span_attributes.tracer", own)
    monkeypatch.setattr("ostinato.telemetry.node_tracing.tracer", own)
    yield exporter
    provider.shutdown()


def last(spans: InMemorySpanExporter) -> dict[str, Any]:
    return dict(spans.get_finished_spans()[-1].attributes or {})


def open_span() -> Any:
    return trace.get_tracer("test").start_as_current_span("own")


def response_event(response: dict[str, Any]) -> Event:
    answer = types.FunctionResponse(id="c1", name="look", response=response)
    return Event(
        author="a", content=types.UserContent([types.Part(function_response=answer)]), id="e1"
    )


def look(x: Any) -> None:
    """Look."""


def test_a_model_call(spans: InMemorySpanExporter) -> None:
    with open_span():
        tracing.trace_call_llm(make_invocation(), "e1", REQUEST, RESPONSE)
    noted = last(spans)
    request = json.loads(noted.pop(f"{OWN}.llm_request"))
    assert request["config"] == {"system_instruction": "sys", "top_p": 0.5, "max_output_tokens": 5}
    parts = [[part["text"] for part in content["parts"]] for content in request["contents"]]
    assert parts == [["hi"], ["two"]]
    assert json.loads(noted.pop(f"{OWN}.llm_response"))["content"]["parts"] == [{"text": "yo"}]
    assert noted == USED | {
        "gen_ai.system": OWN,
        "gen_ai.request.model": "m",
        "gen_ai.request.top_p": 0.5,
        "gen_ai.request.max_tokens": 5,
        f"{OWN}.invocation_id": "e-1",
        f"{OWN}.session_id": "s",
        f"{OWN}.event_id": "e1",
    }


@pytest.mark.parametrize("by", ["environment", "run_config"])
def test_contents_are_left_out_on_request(
    by: str, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TelemetryConfig(capture_message_content=ContentCapturingMode.NO_CONTENT)
    context = make_invocation(run_config=RunConfig(telemetry=config))
    if by == "environment":
        monkeypatch.setenv(LEGACY, "false")
        context = make_invocation()
    event = response_event({"r": 1})
    with open_span() as span, open_span():
        tracing.trace_call_llm(context, "e", REQUEST, RESPONSE, span)
    assert last(spans)[f"{OWN}.llm_request"] == "{}" == last(spans)[f"{OWN}.llm_response"]
    with open_span():
        tracing.trace_tool_call(FunctionTool(look), {"x": 1}, event, invocation_context=context)
    assert last(spans)[f"{OWN}.tool_call_args"] == "{}" == last(spans)[f"{OWN}.tool_response"]
    with open_span():
        tracing.trace_send_data(context, "e", REQUEST.contents)
    assert last(spans)[f"{OWN}.data"] == "{}"


TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.description": "Look.",
    "gen_ai.tool.name": "look",
    "gen_ai.tool.type": "FunctionTool",
    f"{OWN}.llm_request": "{}",
    f"{OWN}.llm_response": "{}",
}


def test_tool_calls(spans: InMemorySpanExporter) -> None:
    tool = FunctionTool(look)
    with open_span():
        tracing.trace_tool_call(tool, {"x": object(), "api_key": "k"}, response_event({"r": 1}))
    assert last(spans) == TOOL | {
        "gen_ai.tool.call.id": "c1",
        f"{OWN}.event_id": "e1",
        f"{OWN}.tool_call_args": '{"x": "<not serializable>", "api_key": "***"}',
        f"{OWN}.tool_response": '{"r": 1}',
    }
    with open_span():
        tracing.trace_tool_call(tool, {}, None, error=ValueError("bad"), error_type="OTHER")
    assert last(spans) == TOOL | {
        "error.type": "ValueError",
        "gen_ai.tool.call.id": "<not specified>",
        f"{OWN}.tool_call_args": "{}",
        f"{OWN}.tool_response": '{"result": "<not specified>"}',
    }
    with open_span():
        tracing.trace_merged_tool_calls("e9", response_event({"r": 1}))
    assert last(spans)["gen_ai.tool.call.id"] == "e9"
    assert last(spans)["gen_ai.tool.name"] == "(merged tools)"
    assert '"r": 1' in last(spans)[f"{OWN}.tool_response"]


def test_agents_and_data(spans: InMemorySpanExporter) -> None:
    with open_span() as span:
        tracing.trace_agent_invocation(
            span, Agent(name="a", description="d", model="m"), make_invocation()
        )
    assert last(spans) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.description": "d",
        "gen_ai.agent.name": "a",
        "gen_ai.conversation.id": "s",
    }
    with open_span():
        tracing.trace_send_data(make_invocation(), "e2", [types.UserContent("hi")])
    data = json.loads(last(spans)[f"{OWN}.data"])
    assert data == [{"parts": [{"text": "hi"}], "role": "user"}]


async def test_the_span_of_a_model_call(spans: InMemorySpanExporter) -> None:
    context, event = make_invocation(), Event(author="a", id="e1")
    async with tracing.use_inference_span(REQUEST, context, event) as span:
        tracing.trace_inference_result(context, span, LlmResponse(partial=True))
        tracing.trace_inference_result(context, span, RESPONSE)
    tracing.trace_inference_result(None, None, RESPONSE)
    assert spans.get_finished_spans()[-1].name == "generate_content m"
    assert last(spans) == USED | {
        "gen_ai.system": "gemini",
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": "m",
        "gen_ai.agent.name": "caller",
        "gen_ai.conversation.id": "s",
        f"{OWN}.event_id": "e1",
        f"{OWN}.invocation_id": "e-1",
    }


def one(node_input: Any) -> int:
    return 1


async def test_the_spans_of_nodes(spans: InMemorySpanExporter) -> None:
    context = Context(make_invocation())
    async with start_as_current_node_span(context, FunctionNode(func=one)) as noted:
        for number in (1, 2):
            noted.add_event(Event(author="a", id=f"e{number}"))
    assert spans.get_finished_spans()[-1].name == "invoke_node one"
    assert last(spans)[f"{OWN}.associated_event_ids"] == ("e1", "e2")
    graph = Workflow(name="g", edges=[("START", one)])
    with pytest.raises(ValueError, match="no"):
        async with start_as_current_node_span(context, graph):
            raise ValueError("no")
    failed = spans.get_finished_spans()[-1]
    assert failed.name == "invoke_workflow g" and failed.status.status_code.name == "ERROR"
    assert last(spans) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "g",
        "gen_ai.conversation.id": "s",
    }
    before = len(spans.get_finished_spans())
    async with start_as_current_node_span(context, Agent(name="a", model="m")) as noted:
        assert noted.otel_context is not None
    assert len(spans.get_finished_spans()) == before


# Fields, environment, and: experimental, mode, in logs, in experimental and in legacy spans.
MODES: list[tuple[dict[str, Any], dict[str, str], list[Any]]] = [
    ({}, {}, [False, "", False, False, True]),
    ({}, {CAPTURE: "true"}, [False, "EVENT_ONLY", True, False, True]),
    ({}, {CAPTURE: "span_only"}, [False, "SPAN_ONLY", False, True, True]),
    ({}, {CAPTURE: "odd", LEGACY: "0"}, [False, "", False, False, False]),
    ({}, {SEMCONV: "a,gen_ai_latest_experimental"}, [True, "", False, False, True]),
    ({"capture_message_content": "SPAN_ONLY"}, {}, [False, "SPAN_ONLY", False, True, True]),
    (
        {"capture_message_content": "SPAN_AND_EVENT"},
        {LEGACY: "0"},
        [False, "SPAN_AND_EVENT", True, True, True],
    ),
    ({"capture_message_content": "NO_CONTENT"}, {CAPTURE: "1"}, [False, "", False, False, False]),
    ({"genai_semconv_stability_opt_in": "experimental"}, {}, [True, "", False, False, True]),
    (
        {"genai_semconv_stability_opt_in": "stable"},
        {SEMCONV: "gen_ai_latest_experimental"},
        [False, "", False, False, True],
    ),
    (
        {
            "capture_message_content": "SPAN_ONLY",
            "genai_semconv_stability_opt_in": "experimental",
        },
        {IGNORE: "true"},
        [False, "", False, False, True],
    ),
]


@pytest.mark.parametrize(("fields", "environment", "expected"), MODES)
def test_what_is_recorded(
    fields: dict[str, Any],
    environment: dict[str, str],
    expected: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    config = TelemetryConfig(**fields)
    assert expected == [
        config.should_use_experimental_genai_semconv,
        config.content_capturing_mode_value,
        config.should_add_content_to_logs,
        config.should_add_content_to_experimental_spans,
        config.should_add_content_to_legacy_spans,
    ]
    with pytest.raises(ValueError, match="frozen"):
        config.capture_message_content = None  # type: ignore[misc]


def test_spans_in_a_file(tmp_path: Path) -> None:
    exporter = SqliteSpanExporter(db_path=tmp_path / "spans.db")
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    own = provider.get_tracer("own")
    with own.start_as_current_span("root", attributes={"k": [1, 2]}):
        with own.start_as_current_span("one") as span:
            span.set_attribute(f"{OWN}.session_id", "S1")
        with own.start_as_current_span("two") as span:
            span.set_attribute("gen_ai.conversation.id", "S2")
    with own.start_as_current_span("other"):
        pass
    provider.shutdown()
    assert exporter.force_flush()
    again = SqliteSpanExporter(db_path=str(tmp_path / "spans.db"))
    for session in ("S1", "S2"):
        found = again.get_all_spans_for_session(session)
        assert [span.name for span in found] == ["root", "one", "two"]
        root, first = found[0], found[1]
        assert root.attributes == {"k": [1, 2]} and root.parent is None
        assert first.parent and root.context and first.parent.span_id == root.context.span_id
        assert root.start_time and first.end_time and root.start_time < first.end_time
    assert again.get_all_spans_for_session("S3") == []


def test_a_file_that_is_gone_is_told_by_the_result(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    exporter = SqliteSpanExporter(db_path=folder / "spans.db")
    (folder / "spans.db").unlink()
    folder.rmdir()
    assert exporter.export([]) is SpanExportResult.FAILURE


SETUP = """
from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from ostinato.telemetry.setup import OTelHooks, maybe_set_otel_providers

def kinds():
    given = (trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider())
    return [type(provider).__name__ for provider in given]

maybe_set_otel_providers()
maybe_set_otel_providers([OTelHooks()])
assert kinds() == ["ProxyTracerProvider", "_ProxyMeterProvider", "ProxyLoggerProvider"], kinds()
spans, more = InMemorySpanExporter(), InMemorySpanExporter()
maybe_set_otel_providers(
    [OTelHooks(span_processors=[SimpleSpanProcessor(spans)]),
     OTelHooks(metric_readers=[InMemoryMetricReader()])],
    Resource({"a": "b"}),
)
assert kinds() == ["TracerProvider", "MeterProvider", "ProxyLoggerProvider"], kinds()
logs = OTelHooks(log_record_processors=[SimpleLogRecordProcessor(InMemoryLogRecordExporter())])
maybe_set_otel_providers([logs, OTelHooks(span_processors=[SimpleSpanProcessor(more)])])
assert kinds() == ["TracerProvider", "MeterProvider", "LoggerProvider"], kinds()
from ostinato.telemetry import tracer
with tracer.start_as_current_span("own"):
    pass
[span] = spans.get_finished_spans()
assert span.name == "own" and span.resource.attributes["a"] == "b"
assert more.get_finished_spans() == ()
"""
OTLP = """
from opentelemetry import metrics, trace
from ostinato.telemetry.setup import maybe_set_otel_providers
maybe_set_otel_providers()
assert type(trace.get_tracer_provider()).__name__ == "TracerProvider"
assert type(metrics.get_meter_provider()).__name__ == "_ProxyMeterProvider"
"""


BARE = """
import sys
sys.modules["opentelemetry.sdk"] = None  # as if it were not installed
from ostinato.errors import MissingExtraError
from ostinato.telemetry.setup import OTelHooks, maybe_set_otel_providers
maybe_set_otel_providers()
maybe_set_otel_providers([OTelHooks()])
try:
    maybe_set_otel_providers([OTelHooks(span_processors=[print])])
except MissingExtraError:
    sys.exit()
sys.exit("no error")
"""


@pytest.mark.parametrize(
    ("program", "environment"),
    [(SETUP, {}), (BARE, {}), (OTLP, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9"})],
    ids=["hooks", "bare", "otlp"],
)
def test_providers_are_set_once(program: str, environment: dict[str, str]) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_google_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "b=2")
    assert get_gcp_resource("p").attributes == {"gcp.project_id": "p", "b": "2"}
    hooks = get_gcp_exporters()
    assert (hooks.span_processors, hooks.metric_readers, hooks.log_record_processors) == (
        [],
        [],
        [],
    )
    assert get_gcp_exporters(True, google_auth=(object(), "")).span_processors == []
    [processor] = get_gcp_exporters(True, google_auth=(object(), "p")).span_processors
    processor.shutdown()


def test_spans_metrics_and_logs_go_to_google_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    with background_server(otherwise=Answer(b"")) as server:
        monkeypatch.setattr(google_cloud, "_SERVER", f"{server.url}/v1")
        login = Credentials(token="t-1")
        hooks = get_gcp_exporters(True, True, True, google_auth=(login, "payer"))
        spans = TracerProvider(shutdown_on_exit=False)
        spans.add_span_processor(hooks.span_processors[0])
        spans.get_tracer("t").start_span("s").end()
        meters = MeterProvider(hooks.metric_readers, shutdown_on_exit=False)
        meters.get_meter("m").create_counter("c").add(1)
        logs = LoggerProvider(shutdown_on_exit=False)
        logs.add_log_record_processor(hooks.log_record_processors[0])
        logs.get_logger("l").emit(LogRecord(body="told"))
        for provider in (spans, meters, logs):
            provider.shutdown()
    sent = {request.path: request for request in server.requests}
    assert sent.keys() == {"/v1/traces", "/v1/metrics", "/v1/logs"}
    for request in sent.values():
        assert request.headers["authorization"] == "Bearer t-1"
        assert request.headers["x-goog-user-project"] == "payer"
