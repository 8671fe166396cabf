"""What a server's log says of requests: ids, an access log without secrets, a lost store once."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import StoreError
from ostinato.hosting.log_setup import log_to_stderr
from tests.unit.server.conftest import Serve

AGENT = """
import logging
from ostinato.agents import Agent
from ostinato.testing import FunctionModel

def answer(request):
    logging.getLogger("agent").warning("thinking")
    return "Noted."

root_agent = Agent(name="root", model=FunctionModel(answer))
"""
DESK = "/apps/desk/users/ann/sessions"
SESSIONS = "/apps/noted/users/ann/sessions"


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """A folder with one app, whose model writes into the log."""
    app = tmp_path / "agents" / "noted"
    app.mkdir(parents=True)
    app.joinpath("agent.py").write_text(AGENT)
    return app.parent


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the records that were logged since the last call."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)

    def take() -> list[dict[str, Any]]:
        text = stream.getvalue()
        stream.seek(0)
        stream.truncate()
        return [json.loads(line) for line in text.splitlines()]

    with log_to_stderr("info", "json"):
        yield take


async def test_records_name_run_session_app_and_request(
    serve: Serve, agents: Path, log: Any
) -> None:
    message = {"role": "user", "parts": [{"text": "milk"}]}
    body = {"appName": "noted", "userId": "ann", "sessionId": "s", "newMessage": message}
    async with serve(agents=agents, access_log=True) as server:
        await server.ask("POST", SESSIONS, {"sessionId": "s"})
        log()
        answer = await server.ask("POST", "/run", body, headers={"X-Request-Id": "req-7"})
        assert answer.headers["x-request-id"] == "req-7"
        thinking = next(one for one in log() if one["message"] == "thinking")
    assert thinking["invocation_id"] == answer.json()[0]["invocationId"]
    named = {key: thinking[key] for key in ("app_name", "user_id", "session_id", "request_id")}
    assert named == {
        "app_name": "noted",
        "user_id": "ann",
        "session_id": "s",
        "request_id": "req-7",
    }


async def test_records_of_a_failed_request_name_its_session(
    serve: Serve, agents: Path, log: Any
) -> None:
    agents.joinpath("noted", "agent.py").write_text(
        AGENT.replace('return "Noted."', 'raise ValueError("broken")')
    )
    message = {"role": "user", "parts": [{"text": "milk"}]}
    body = {"appName": "noted", "userId": "ann", "sessionId": "s", "newMessage": message}
    async with serve(agents=agents, access_log=True) as server:
        await server.ask("POST", SESSIONS, {"sessionId": "s"})
        log()
        assert (await server.ask("POST", "/run", body)).status_code == 500
        failed = log()
        await server.ask("GET", f"{SESSIONS}/s")
        read = log()
    loggers = ("ostinato.server.problems", "ostinato.access")
    told = [one for one in failed + read if one["logger"] in loggers]
    assert [one["logger"] for one in told] == [*loggers, "ostinato.access"]
    for one in told:
        assert (one["app_name"], one["user_id"], one["session_id"]) == ("noted", "ann", "s")
    watched = next(one for one in failed if one["logger"] == "ostinato.server.active_runs")
    assert watched["invocation_id"].startswith("e-")
    assert told[0]["invocation_id"] == watched["invocation_id"]


async def test_records_of_a_failed_completion_name_what_ran(
    serve: Serve, agents: Path, log: Any
) -> None:
    agents.joinpath("noted", "agent.py").write_text(
        AGENT.replace('return "Noted."', 'raise ValueError("broken")')
    )
    chat = {"model": "noted", "user": "ann", "messages": [{"role": "user", "content": "hi"}]}
    async with serve(agents=agents) as server:
        log()
        assert (await server.ask("POST", "/v1/chat/completions", chat)).status_code == 500
        told = next(one for one in log() if one["logger"] == "ostinato.server.problems")
        (session,) = (await server.ask("GET", SESSIONS)).json()
    assert (told["app_name"], told["user_id"]) == ("noted", "ann")
    assert told["session_id"] == session["id"]
    assert told["invocation_id"].startswith("e-")


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\tb", "-x", "é"])
async def test_an_id_that_is_not_well_formed_is_replaced(serve: Serve, given: str) -> None:
    async with serve() as server:
        headers = [(b"x-request-id", given.encode())]
        answer = await server.client.get("/health", headers=headers)
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
        refused = await server.client.get("/nothing", headers={"x-request-id": "mine"})
        assert (refused.status_code, refused.headers["x-request-id"]) == (404, "mine")


async def test_the_access_log_tells_each_request_without_its_query(serve: Serve, log: Any) -> None:
    async with serve(access_log=True, token="geheim") as server:
        log()
        await server.client.get("/health?token=geheim")
        await server.client.get("/list-apps?token=geheim")
        told = log()
    assert [(one["method"], one["path"], one["status"]) for one in told] == [
        ("GET", "/health", 200),
        ("GET", "/list-apps", 401),
    ]
    assert all(one["ms"] >= 0 and one["request_id"] for one in told)
    assert "geheim" not in json.dumps(told)


async def test_there_is_no_access_log_unless_it_is_asked_for(serve: Serve, log: Any) -> None:
    async with serve() as server:
        log()
        await server.client.get("/health")
        assert log() == []


async def test_a_lost_store_is_one_line_without_a_stack(
    serve: Serve, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as server:
        store: Any = server.host.services.sessions
        await server.host.background.stop()
        await server.ask("GET", DESK)  # the app is loaded, which is told too

        async def lost(*args: Any, **more: Any) -> Any:
            cause = OSError("connect call failed ('127.0.0.1', 5432)")
            raise StoreError("The session store 'agents' cannot be reached.") from cause

        log()
        with monkeypatch.context() as patched:
            for name in ("list_sessions", "open_leases"):
                patched.setattr(store, name, lost)
            for _ in range(5):
                assert (await server.ask("GET", DESK)).status_code == 503
            assert (await server.ask("GET", "/health/ready")).status_code == 503
        assert (await server.ask("GET", "/health/ready")).status_code == 200
        told = log()
    assert [one["level"] for one in told] == ["ERROR", "INFO"]
    assert told[0]["message"].startswith("The session store 'agents' cannot be reached.")
    assert "6 operation(s) failed" in told[1]["message"]
    assert not any("exception" in one for one in told)
    assert logging.getLogger("ostinato").level == logging.INFO
