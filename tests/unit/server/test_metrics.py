"""`/metrics`: what is counted, in the text format that Prometheus reads, over all processes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from ostinato.telemetry.prometheus import PrometheusMetrics
from ostinato.telemetry.recorder import SpanRecord
from tests.unit.server.conftest import Serve

SAMPLE = re.compile(
    r"([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*=\"(?:[^\"\\\n]|\\[\\n\"])*\",?)*)\})? (\S+)"
)


def parse(text: str) -> dict[str, float]:
    """Read the text strictly: each sample below the HELP and the TYPE of its own metric."""
    assert text.endswith("\n")
    found: dict[str, float] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
        elif line.startswith("# TYPE "):
            assert re.fullmatch(f"# TYPE {name} (counter|gauge|histogram)", line)
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert re.sub("_(bucket|sum|count)$", "", sample[1]) == name
            assert line.rpartition(" ")[0] not in found
            found[line.rpartition(" ")[0]] = float(sample[3])
    return found


def span(operation: str, **attributes: Any) -> SpanRecord:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    record = SpanRecord("a" * 16, "b" * 32, None, operation, operation, 100.0, 100.3)
    record.place, record.invocation_id, record.attributes = ("desk", "ann", "s"), "e-1", named
    return record


async def test_requests_and_runs_are_counted(serve: Serve) -> None:
    sessions = "/apps/desk/users/ann/sessions"
    message = {"role": "user", "parts": [{"text": "hi"}]}
    body = {"appName": "desk", "userId": "ann", "sessionId": "s", "newMessage": message}
    async with serve(metrics=True) as server:
        await server.ask("POST", sessions, {"sessionId": "s"})
        assert (await server.ask("POST", "/run", body)).status_code == 200
        await server.ask("GET", "/nothing")
        answer = await server.ask("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        counts = parse(answer.text)
    assert counts['ostinato_runs_total{app="desk",outcome="completed"}'] == 1
    assert counts['ostinato_runs_running{app="desk"}'] == 0
    assert counts['ostinato_http_requests_total{method="POST",status="200"}'] == 2
    assert counts['ostinato_http_requests_total{method="GET",status="404"}'] == 1
    assert counts["ostinato_sessions_waiting"] == counts["ostinato_store_errors_total"] == 0


async def test_they_are_served_by_option_and_to_who_has_the_token(serve: Serve) -> None:
    async with serve() as server:
        assert (await server.ask("GET", "/metrics")).status_code == 404
    async with serve(metrics=True, token="t") as server:
        assert (await server.ask("GET", "/metrics")).status_code == 401


def test_spans_are_counted_by_outcome() -> None:
    metrics = PrometheusMetrics()
    usage = {"gen_ai__usage__input_tokens": 7, "gen_ai__usage__output_tokens": 2}
    metrics.on_end(span("chat", gen_ai__request__model='m"1\n', **usage))
    failed = span("chat", gen_ai__request__model="m2", error__type="ModelTimeoutError")
    failed.error = "ModelTimeoutError: late"
    metrics.on_end(failed)
    for number, error in enumerate((None, "ValueError: no")):
        tool = span("execute_tool", gen_ai__tool__name="pay")
        tool.error = error
        metrics.on_end(tool)
        run = span("invocation", ostinato__outcome="paused") if number else span("invocation")
        metrics.on_start(run)
        metrics.on_end(run)
    metrics.on_start(span("invocation"))
    counts = parse(metrics.render())
    assert counts['ostinato_model_tokens_total{model="m\\"1\\n",type="input"}'] == 7
    assert counts['ostinato_model_errors_total{model="m2",error="ModelTimeoutError"}'] == 1
    assert counts['ostinato_model_call_seconds_bucket{model="m2",le="0.25"}'] == 0
    assert counts['ostinato_model_call_seconds_bucket{model="m2",le="0.5"}'] == 1
    assert counts['ostinato_model_call_seconds_bucket{model="m2",le="+Inf"}'] == 1
    assert counts['ostinato_tool_calls_total{tool="pay",outcome="error"}'] == 1
    assert counts['ostinato_runs_total{app="desk",outcome="paused"}'] == 1
    assert counts['ostinato_runs_running{app="desk"}'] == 1


def test_label_values_without_bound_are_counted_together() -> None:
    metrics = PrometheusMetrics()
    for number in range(2_000):
        metrics.on_end(span("execute_tool", gen_ai__tool__name=f"made-up-{number}"))
    counts = parse(metrics.render())
    tools = {name: count for name, count in counts.items() if "tool_calls" in name}
    assert len(tools) == 501 and sum(tools.values()) == 2_000


def test_processes_are_added_up_and_dead_ones_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive, dead = os.getppid(), 2**22 + 1  # beyond the largest number of a process
    for number in (alive, dead):
        with monkeypatch.context() as patched:
            patched.setattr(os, "getpid", lambda number=number: number)
            other = PrometheusMetrics(tmp_path)
            other.on_start(span("invocation"))
            other.on_end(span("execute_tool", gen_ai__tool__name="pay"))
            other.save()
    here = PrometheusMetrics(tmp_path)
    here.on_start(span("invocation"))
    here.save()
    counts = parse(here.render())
    assert counts['ostinato_runs_running{app="desk"}'] == 2
    assert counts['ostinato_tool_calls_total{tool="pay",outcome="ok"}'] == 2
