"""Real processes: SIGTERM with a run in progress, several workers, wrong usage."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.cli.main import main

AGENT = """
import asyncio, pathlib
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse

HERE = pathlib.Path(__file__).parents[2]

class FileLlm(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        HERE.joinpath("begun").touch()
        while not HERE.joinpath("go").exists():
            await asyncio.sleep(0.01)
        yield LlmResponse(content={"role": "model", "parts": [{"text": "done"}]})

root_agent = Agent(name="root", model=FileLlm(model="file"))
"""
SESSIONS = "/apps/slow/users/ann/sessions"
LIMIT = 60.0


def until(what: Callable[[], Any]) -> Any:
    """Ask again and again until there is an answer."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        threading.Event().wait(0.02)
    raise AssertionError("It did not come.")


class Process:
    """A server as a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        with folder.joinpath("log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ostinato", "serve", "agents", "--port", "0", *options],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, folder.joinpath("log.txt").read_text()
        self.base = found[0]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return json.load(answer)

    def begin(self) -> Any:
        """Begin a run whose events are streamed; return the open answer."""
        self.ask("POST", SESSIONS, {"sessionId": "s"})
        message = {"role": "user", "parts": [{"text": "go"}]}
        body = {"appName": "slow", "userId": "ann", "sessionId": "s", "newMessage": message}
        request = urllib.request.Request(
            f"{self.base}/run_sse",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method="POST",
        )
        answer = urllib.request.urlopen(request, timeout=LIMIT)
        until(self.folder.joinpath("begun").exists)
        return answer

    def events(self) -> list[Any]:
        return self.ask("GET", f"{SESSIONS}/s")["events"]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT)


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    folder = tmp_path / "agents" / "slow"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(AGENT)
    begun: list[Process] = []

    def starting(*options: str) -> Process:
        begun.append(Process(tmp_path, *options))
        return begun[-1]

    yield starting
    for one in begun:
        if one.process.poll() is None:
            one.end()
        assert one.process.stdout is not None
        one.process.stdout.close()


def status_of(process: Process, path: str) -> int:
    try:
        with urllib.request.urlopen(process.base + path, timeout=LIMIT) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.mark.service  # real processes, started and ended
def test_a_run_in_progress_ends_before_its_server(start: Start) -> None:
    server = start()
    assert status_of(server, "/health/ready") == 200
    with server.begin() as answer:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: status_of(server, "/health/ready") == 503)
        assert status_of(server, "/health") == 200
        server.folder.joinpath("go").touch()
        text = answer.read().decode()
    assert '"text":"done"' in text
    assert text.endswith("event: end\n\n")
    assert server.process.wait(LIMIT) == 0


@pytest.mark.service
def test_a_run_that_takes_longer_is_handed_over_to_the_next_server(start: Start) -> None:
    server = start("--grace", "0")
    with server.begin():
        assert server.end() == 0
    server.folder.joinpath("go").touch()
    following = start()
    until(lambda: len(following.events()) == 2)
    assert following.events()[-1]["content"]["parts"] == [{"text": "done"}]


@pytest.mark.service
def test_several_processes_serve_one_store(start: Start) -> None:
    server = start("--workers", "2")
    server.folder.joinpath("go").touch()
    for number in range(6):
        server.ask("POST", SESSIONS, {"sessionId": f"s{number}"})
    assert len(server.ask("GET", SESSIONS)) == 6
    assert server.end() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--db", "memory://", "--workers", "2"], "needs sessions that all processes reach"),
        (["--host", "0.0.0.0"], "set a token"),
        (["--workers", "0"], "--workers has to be 1 or more"),
        (["--url-prefix", "x"], "begins with a slash"),
    ],
)
def test_wrong_usage_is_said(
    options: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OSTINATO_TOKEN", raising=False)
    assert main(["serve", ".", "--port", "0", *options]) in (1, 2)
    assert words in capsys.readouterr().err
    monkeypatch.setattr("ostinato.server.page.is_built", lambda: False)
    assert main(["web", "."]) == 1
    assert "`make page`" in capsys.readouterr().err
