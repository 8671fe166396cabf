"""What a server loads: at its start and for its first answer no SDK of another protocol, and later
the true one, whatever lies beside the agents.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

# A server without a socket, asked as its own process would be; what it printed last is the finding.
SCRIPT = """
import asyncio, json, sys
from pathlib import Path
from ostinato.server.settings import ServerSettings
from ostinato.server.serving import make_app

found = {}

async def ask(app, method, path, body=None):
    sent = []
    data = b"" if body is None else json.dumps(body).encode()
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    headers += [(b"accept", b"application/json, text/event-stream"), (b"a2a-version", b"1.0")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "headers": headers, "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    asked = [{"type": "http.request", "body": data, "more_body": False}]
    async def receive():
        return asked.pop() if asked else await asyncio.Event().wait()
    async def send(message):
        sent.append(message)
    await app(scope, receive, send)
    text = b"".join(one.get("body", b"") for one in sent[1:]).decode()
    return sent[0]["status"], text

def note(name):
    found[name] = sorted(sys.modules)

async def main():
    app = make_app(ServerSettings(agents=Path("agents"), db="sessions.db", page=True))
    async with app.router.lifespan_context(app):
        await ask(app, "GET", "/page/")
        await ask(app, "GET", "/list-apps")
        note("start")
        users = "/apps/desk/users/ann/sessions"
        assert (await ask(app, "POST", users, {"sessionId": "s"}))[0] == 200
        words = {"role": "user", "parts": [{"text": "hi"}]}
        body = {"appName": "desk", "userId": "ann", "sessionId": "s", "newMessage": words}
        found["answer"] = (await ask(app, "POST", "/run", body))[1]
        note("first answer")
        for name in ("mcp", "calendar"):
            found["app " + name] = await ask(app, "GET", f"/apps/{name}/app-info")
        found["card"] = await ask(app, "GET", "/a2a/desk/.well-known/agent-card.json")
        asked = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "none"}}
        found["a2a"] = await ask(app, "POST", "/a2a/desk", asked)
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        found["mcp"] = await ask(app, "POST", "/mcp", asked)
    found["names"] = {name: getattr(sys.modules.get(name), "__file__", "") for name in HIDDEN}
    print(json.dumps(found))

HIDDEN = %r
asyncio.run(main())
"""
AGENT = """
from shared_words import ANSWER
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse

class Fixed(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content={"role": "model", "parts": [{"text": ANSWER}]})

root_agent = Agent(name="desk", model=Fixed(model="fixed"))
"""
NAMED_LIKE_A_MODULE = """
from .words import NAME
from ostinato.agents import Agent
root_agent = Agent(name=NAME)
"""
# Modules that the SDKs need, and that nothing has loaded before they are.
HIDDEN = ("a2a", "mcp", "calendar", "jsonrpc", "sse_starlette", "mcp_types", "httpx")
SDKS = (
    "a2a",
    "aiohttp",
    "anthropic",
    "cryptography",
    "google",
    "grpc",
    "httpx",
    "httpx2",
    "mcp",
    "mcp_types",
    "openai",
    "opentelemetry",
    "pygments",
    "rich",
    "sqlalchemy",
    "yaml",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a server tells that is asked one thing after the other, in a process of its own."""
    folder = tmp_path_factory.mktemp("start")
    agents = folder / "agents"
    for name, text in (
        ("desk", AGENT),
        ("mcp", NAMED_LIKE_A_MODULE),
        ("calendar", NAMED_LIKE_A_MODULE),
    ):
        agents.joinpath(name).mkdir(parents=True)
        agents.joinpath(name, "agent.py").write_text(text)
        agents.joinpath(name, "words.py").write_text(f"NAME = 'agent_{name}'\n")
    agents.joinpath("shared_words.py").write_text("ANSWER = 'from a neighbour'\n")
    for name in set(HIDDEN) - {"mcp", "calendar"}:
        agents.joinpath(name).mkdir()
        agents.joinpath(name, "__init__.py").write_text("raise RuntimeError('hidden by me')\n")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT % (HIDDEN,)],
        cwd=folder,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("when", ["start", "first answer"])
def test_no_sdk_is_loaded_before_it_is_asked_for(found: dict[str, Any], when: str) -> None:
    loaded = {name.partition(".")[0] for name in found[when]}
    assert loaded.isdisjoint(SDKS), sorted(loaded.intersection(SDKS))


def test_a_start_loads_few_modules(found: dict[str, Any]) -> None:
    # Time and memory go with their number, which no other work on the machine changes: with the
    # SDKs of A2A and MCP they were 1,403 and 114 MB.
    assert len(found["start"]) < 872
    assert len(set(found["first answer"]) - set(found["start"])) < 50


def test_neighbours_are_imported_by_their_names(found: dict[str, Any]) -> None:
    assert "from a neighbour" in found["answer"]


def test_neighbours_hide_no_sdk(found: dict[str, Any]) -> None:
    assert found["card"][0] == 200
    assert "TASK_NOT_FOUND" in found["a2a"][1]
    assert found["mcp"][0] == 200 and '"ostinato"' in found["mcp"][1]
    for name, file in found["names"].items():
        assert "agents" not in Path(file or "").parts, name


def test_an_app_may_be_called_like_a_module(found: dict[str, Any]) -> None:
    for name in ("mcp", "calendar"):
        status, text = found[f"app {name}"]
        assert status == 200 and f"agent_{name}" in text


def test_the_folder_of_a_command_hides_no_sdk(tmp_path: Path) -> None:
    for name in ("agents/desk", "mcp"):
        tmp_path.joinpath(name).mkdir(parents=True)
    tmp_path.joinpath("agents/desk/agent.py").write_text(NAMED_LIKE_A_MODULE)
    tmp_path.joinpath("mcp/__init__.py").write_text("raise RuntimeError('hidden by me')\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "ostinato", "mcp", "agents", "--db", "sessions.db"],
        cwd=tmp_path,
        env=environment,
        input="",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
