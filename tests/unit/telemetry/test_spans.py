"""Spans and log records of runs; the API alone records nothing and is not imported for us."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostinato._log import InvocationIdFilter, get_logger
from ostinato.agents import LlmAgent
from ostinato.testing import ScriptedModel, call
from tests.unit.flows.kit import Store, Talk


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def book() -> str:
    return "booked"


def agent(*turns: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(list(turns)), tools=[book])


def below(exporter: Any) -> dict[str, str | None]:
    """Names of spans to names of their parents."""
    finished = exporter.get_finished_spans()
    names = {s.context.span_id: s.name for s in finished}
    return {s.name: names.get(s.parent.span_id) if s.parent else None for s in finished}


@pytest.mark.spec(7)
async def test_a_run_is_a_tree_of_spans(memory: Store, spans: Any) -> None:
    await Talk(agent(call("book"), "Done."), memory).say()
    assert below(spans) == {
        "invocation": None,
        "invoke_agent clerk": "invocation",
        "chat scripted": "invoke_agent clerk",
        "execute_tool book": "invoke_agent clerk",
    }
    operations = {s.name: s.attributes["gen_ai.operation.name"] for s in spans.get_finished_spans()}
    assert operations == {
        "invocation": "invocation",
        "invoke_agent clerk": "invoke_agent",
        "chat scripted": "chat",
        "execute_tool book": "execute_tool",
    }


@pytest.mark.spec(7)
@pytest.mark.parametrize("stop_at", [1, 2])
async def test_a_caller_that_stops_early_ends_all_spans_quietly(
    memory: Store, spans: Any, stop_at: int, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(agent(call("book"), "Done."), memory)
    run = talk.run()
    for _ in range(stop_at):
        await anext(run)
        assert trace.get_current_span() is trace.INVALID_SPAN
    await run.aclose()
    assert {"invocation", "invoke_agent clerk"} <= set(below(spans))
    assert "detach" not in caplog.text
    assert trace.get_current_span() is trace.INVALID_SPAN


@pytest.mark.spec(7)
async def test_a_generator_dropped_by_break_ends_its_spans_quietly(
    memory: Store, spans: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async for _ in Talk(agent(call("book"), "Done."), memory).run():
        break
    for _ in range(30):
        await asyncio.sleep(0)
    assert {"invocation", "invoke_agent clerk"} <= set(below(spans))
    assert "detach" not in caplog.text


@pytest.mark.spec(7)
async def test_a_failing_run_marks_its_spans(memory: Store, spans: Any) -> None:
    await Talk(agent(RuntimeError("quota")), memory).fails()
    failed = {s.name for s in spans.get_finished_spans() if not s.status.is_ok}
    assert failed == {"invocation", "invoke_agent clerk", "chat scripted"}


def test_a_run_without_opentelemetry_does_not_import_it() -> None:
    script = """
import asyncio, sys
from ostinato.agents import LlmAgent
from ostinato.testing import Conversation, ScriptedModel, call
def book() -> str: return "booked"
agent = LlmAgent(name="clerk", model=ScriptedModel([call("book"), "Done."]), tools=[book])
asyncio.run(Conversation(agent).say("Go"))
assert not [m for m in sys.modules if m.startswith("opentelemetry")]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_log_records_written_in_a_run_carry_its_id(
    memory: Store, caplog: pytest.LogCaptureFixture
) -> None:
    users, ours = logging.getLogger("users"), get_logger("ostinato.test")
    caplog.handler.addFilter(InvocationIdFilter())
    caplog.set_level(logging.INFO)

    def tell() -> str:
        users.info("in the tool")
        return "told"

    def callback(callback_context: Any) -> None:
        ours.info("in a callback")

    model = ScriptedModel([call("tell"), "Done."])
    root = LlmAgent(name="clerk", model=model, tools=[tell], before_agent_callback=callback)
    invocation_id = ""
    async for event in Talk(root, memory).run():
        invocation_id = event.invocation_id
        users.info("at the caller")
    found = {(r.message, getattr(r, "invocation_id", None)) for r in caplog.records}
    assert ("in the tool", invocation_id) in found
    assert ("in a callback", invocation_id) in found
    assert ("at the caller", "-") in found
