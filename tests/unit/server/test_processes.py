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
        found = re.search(r'http://[^\s"]+', line)
        assert found is not None, folder.joinpath("log.txt").read_text()
        self.line, self.base = line, found[0]

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
    assert text.endswith("\n\nevent: end\ndata\n\n")
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
def test_requests_are_accepted_for_a_while_after_readiness_ended(start: Start) -> None:
    server = start("--drain-delay", "600")
    server.folder.joinpath("go").touch()
    assert status_of(server, "/health/ready") == 200
    server.process.send_signal(signal.SIGTERM)
    until(lambda: status_of(server, "/health/ready") == 503)
    with server.begin() as answer:
        assert "event: end\n" in answer.read().decode()
    assert len(server.events()) == 2
    assert server.end() == 0  # the second signal waits for nothing


@pytest.mark.service
def test_all_processes_log_in_one_form(start: Start) -> None:
    server = start("--workers", "2", "--log-format", "json", "--access-log")
    log = server.folder.joinpath("log.txt")
    until(lambda: log.read_text().count("Application startup complete") == 2)
    server.ask("GET", "/health")
    assert server.end() == 0
    lines = log.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert all(one["time"] and one["level"] for one in records)
    ended = [one for one in records if one["message"].startswith("Shutting down: runs")]
    assert len({one["process"] for one in ended}) == 2
    assert [one["path"] for one in records if "path" in one] == ["/health"]
    told = json.loads(server.line)
    assert told["message"] == f"Serving on {server.base}" and told["time"]


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
        (["--db", "memory://", "--workers", "2"], "needs sessions that all processes share"),
        (["--host", "0.0.0.0"], "set a token"),
        (["--workers", "0"], "--workers has to be 1 or more"),
        (["--url-prefix", "x"], "has to begin with a slash"),
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


@pytest.mark.service
def test_tokens_come_from_a_file_and_the_command_line_takes_the_rest(
    start: Start, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("old\nnew\n")
    server = start(
        *("--token-file", str(tokens), "--trusted-proxies", "127.0.0.1,10.0.0.0/8"),
        *("--allow-app-state", "--max-connections", "50", "--rate-limit", "1000"),
    )

    def status(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"{server.base}/version", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    assert [status(one) for one in ("old", "new", "other")] == [200, 200, 401]
    assert server.end() == 0


EXITING = """
import sys
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call

def leave() -> None:
    sys.exit(3)

async def leave_at_once() -> None:
    sys.exit(3)

def answer(request):
    text = request.contents[-1].parts[0].text
    return call(text) if text.startswith("leave") else f"Heard {text}."

root_agent = Agent(name="root", model=FunctionModel(answer), tools=[leave, leave_at_once])
"""


@pytest.mark.service
def test_a_tool_that_exits_ends_no_process_of_the_server(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "exiting"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(EXITING)
    server = start("--workers", "2")
    log = server.folder.joinpath("log.txt")
    until(lambda: log.read_text().count("Application startup complete") == 2)
    sessions = "/apps/exiting/users/ann/sessions"

    def body(session: str, text: str) -> dict[str, Any]:
        message = {"role": "user", "parts": [{"text": text}]}
        return {"appName": "exiting", "userId": "ann", "sessionId": session, "newMessage": message}

    for number in range(6):  # either process takes some
        server.ask("POST", sessions, {"sessionId": f"s{number}"})
        with pytest.raises(urllib.error.HTTPError) as raised:
            server.ask("POST", "/run", body(f"s{number}", ("leave", "leave_at_once")[number % 2]))
        with raised.value as answer:
            assert json.load(answer)["error"]["type"] == "ToolAbortedError"
        events = server.ask("POST", "/run", body(f"s{number}", "me"))
        assert events[-1]["content"]["parts"] == [{"text": "Heard me."}]
    assert log.read_text().count("Application startup complete") == 2
    assert server.end() == 0


ENDING = """
import asyncio
import sys
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call


async def leave() -> None:
    sys.exit(3)


async def interrupt() -> None:
    raise KeyboardInterrupt


async def leave_in_a_task() -> str:
    asyncio.create_task(leave())
    await asyncio.sleep(0.01)
    return "left"


async def wait_for_interrupt() -> None:
    await asyncio.create_task(interrupt())


async def leave_in_a_callback() -> str:
    asyncio.get_running_loop().call_soon(sys.exit)
    await asyncio.sleep(0.01)
    return "left"


def interrupt_plainly() -> None:
    raise KeyboardInterrupt


def answer(request):
    part = request.contents[-1].parts[0]
    if part.function_response:
        return "Done."
    if part.text == "model":
        raise KeyboardInterrupt
    return call(part.text) if "_" in part.text or part.text == "interrupt" else "Heard."


def before(callback_context):
    if callback_context.user_content.parts[0].text == "callback":
        sys.exit(3)


root_agent = Agent(
    name="root",
    model=FunctionModel(answer),
    tools=[
        interrupt, leave_in_a_task, wait_for_interrupt, leave_in_a_callback, interrupt_plainly
    ],
    before_agent_callback=before,
)
"""


@pytest.mark.service
def test_no_code_of_an_agent_ends_the_server(start: Start, tmp_path: Path) -> None:
    for name, text in (
        ("ending", ENDING),
        ("exits", "import sys; sys.exit(3)"),
        ("stops", "raise KeyboardInterrupt"),
    ):
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True)
        folder.joinpath("agent.py").write_text(text)
    server = start()
    for name in ("exits", "stops"):
        with pytest.raises(urllib.error.HTTPError) as raised:
            server.ask("GET", f"/apps/{name}/app-info")
        with raised.value as answer:
            assert json.load(answer)["error"]["type"] == "AgentLoadError"
    names = {"appName": "ending", "userId": "ann", "sessionId": "s"}
    server.ask("POST", "/apps/ending/users/ann/sessions/s", {})

    def run(text: str) -> list[Any]:
        message = {"role": "user", "parts": [{"text": text}]}
        return server.ask("POST", "/run", {**names, "newMessage": message})

    for word in ("interrupt", "wait_for_interrupt", "interrupt_plainly", "model", "callback"):
        with pytest.raises(urllib.error.HTTPError) as raised:
            run(word)
        with raised.value as answer:
            assert json.load(answer)["error"]["type"] == "ToolAbortedError", word
        assert run("hello")[-1]["content"]["parts"] == [{"text": "Heard."}]
    for word in ("leave_in_a_task", "leave_in_a_callback"):
        assert run(word)[-1]["content"]["parts"] == [{"text": "Done."}]
    assert "the server continues" in server.folder.joinpath("log.txt").read_text()
    assert server.end() == 0
