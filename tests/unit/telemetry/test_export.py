"""Export by OpenTelemetry's environment variables, to a real OTLP receiver over HTTP."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ostinato.cli.main import main

AGENT = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel

root_agent = Agent(name="desk", model=FunctionModel(lambda request: "Noted."))
"""
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_EXPORTER = "opentelemetry.exporter"


class Receiver:
    """Takes what an exporter sends, and decodes it."""

    def __init__(self) -> None:
        self.spans: list[tuple[dict[str, str], Any]] = []
        self.metrics: set[str] = set()
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                received.take(self.path, body)
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Write nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def take(self, path: str, body: bytes) -> None:
        kind = {"traces": "trace", "metrics": "metrics"}[path.rpartition("/")[2]]
        service = import_module(f"opentelemetry.proto.collector.{kind}.v1.{kind}_service_pb2")
        request = getattr(service, f"Export{kind.capitalize()}ServiceRequest")
        found = request.FromString(body)
        for one in getattr(found, "resource_spans", ()):
            resource = {pair.key: pair.value.string_value for pair in one.resource.attributes}
            self.spans += [(resource, s) for scope in one.scope_spans for s in scope.spans]
        for one in getattr(found, "resource_metrics", ()):
            self.metrics |= {m.name for scope in one.scope_metrics for m in scope.metrics}

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver on this machine."""
    pytest.importorskip(f"{_EXPORTER}.otlp.proto.http", reason="the exporter is not installed")
    with closing(Receiver()) as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    app = tmp_path / "agents" / "desk"
    app.mkdir(parents=True)
    app.joinpath("agent.py").write_text(AGENT)
    return tmp_path


def post(base: str, path: str, body: Any, **headers: str) -> Any:
    named = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(base + path, json.dumps(body).encode(), named)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.service  # a real process
def test_a_server_exports_and_continues_its_callers_trace(receiver: Receiver, folder: Path) -> None:
    environment = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_SERVICE_NAME": "shop",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=prod",
    }
    command = [sys.executable, "-m", "ostinato", "serve", "agents", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            base = found[0]
            post(base, "/apps/desk/users/ann/sessions", {"sessionId": "s"})
            message = {"role": "user", "parts": [{"text": "milk"}]}
            body = {"appName": "desk", "userId": "ann", "sessionId": "s", "newMessage": message}
            post(base, "/run", body, traceparent=f"00-{TRACE}-{CALLER}-01")
            post(base, "/run", body)
        finally:
            process.terminate()
            assert process.wait(60) == 0
    roots = [s for _, s in receiver.spans if s.name == "invocation"]
    assert [s.parent_span_id.hex() for s in roots] == [CALLER, ""]
    below = {s.name for _, s in receiver.spans if s.trace_id.hex() == TRACE}
    assert below == {"invocation", "invoke_agent desk", "chat function"}
    resource = receiver.spans[0][0]
    assert resource["service.name"] == "shop"
    assert resource["deployment.environment"] == "prod"
    assert "gen_ai.client.operation.duration" in receiver.metrics


@pytest.mark.service
def test_a_worker_exports_under_its_own_name_unless_it_is_disabled(
    receiver: Receiver, folder: Path
) -> None:
    submit = (
        "import asyncio\n"
        "from ostinato import Agent, Runner\n"
        "from ostinato.sessions.sqlite_session_service import SqliteSessionService\n"
        "async def main():\n"
        "    store = SqliteSessionService('s.db')\n"
        "    runner = Runner(agent=Agent(name='desk', model='offline'), app_name='desk',\n"
        "                    session_service=store, auto_create_session=True)\n"
        "    await runner.submit(user_id='ann', session_id='s', new_message='milk')\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-m", "ostinato", "worker", "agents/desk", "--db", "s.db", "--once"]
    for disabled, count in (("true", 0), ("false", 1)):
        subprocess.run([sys.executable, "-c", submit], cwd=folder, check=True)
        environment = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{receiver.url}/v1/traces",
            "OTEL_SDK_DISABLED": disabled,
        }
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        assert [s.name for _, s in receiver.spans].count("invocation") == count
    assert receiver.spans[0][0]["service.name"] == "ostinato"
    assert not receiver.metrics


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER=zipkin: 'zipkin' is not"),
        ("OTEL_METRICS_EXPORTER", "prometheus", "For Prometheus use --metrics"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "The OTLP protocol 'http/json' is not"),
    ],
)
def test_what_is_not_supported_is_said_at_the_start(
    variable: str,
    value: str,
    words: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv(variable, value)
    assert main(["serve", "agents", "--port", "0"]) == 1
    assert words in capsys.readouterr().err


def test_a_missing_exporter_is_named_with_the_line_that_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    for name in [name for name in sys.modules if name.startswith(_EXPORTER)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, _EXPORTER, None)
    assert main(["serve", "agents", "--port", "0"]) == 1
    assert "pip install 'ostinato[otel]'" in capsys.readouterr().err
