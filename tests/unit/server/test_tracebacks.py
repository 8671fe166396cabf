"""Tracebacks of the developer's code: on the development server, with lines; elsewhere never."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato.server.traceback_recorder import describe_errors
from tests.unit.server.conftest import Serve, Served

AGENT = """
from ostinato import types
from ostinato.agents import Agent
from ostinato.apps import App
from ostinato.testing import FunctionModel

from .prices import find_price


def pay(order: str) -> dict:
    return {"price": find_price(order)}


def answer(request):
    last = request.contents[-1].parts[-1]
    if last.function_response is not None:
        return "done"
    if last.text == "fall":
        raise RuntimeError("the model fell over")
    return types.Part(function_call=types.FunctionCall(name="pay", args={"order": "A-1"}))


root_agent = Agent(name="root", model=FunctionModel(answer), tools=[pay])
app = App(name="NAME", root_agent=root_agent, tool_errors="ERRORS")
"""
PRICES = """
def find_price(order):
    try:
        return {}[order]
    except KeyError as error:
        raise LookupError("no price, key sk-abcdefghijklmnopqrstuvwxyz0123") from error
"""


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    for name, errors in (("strict", "raise"), ("lax", "feedback")):
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True)
        text = AGENT.replace("NAME", name).replace("ERRORS", errors)
        folder.joinpath("agent.py").write_text(text)
        folder.joinpath("prices.py").write_text(PRICES)
        folder.joinpath("__init__.py").write_text("")
    return tmp_path / "agents"


async def fail(served: Served, app: str, text: str = "pay") -> Any:
    """Run a turn that fails; return the answer of the tracebacks' endpoint."""
    session = f"/apps/{app}/users/ann/sessions/s1"
    await served.ask("POST", session)
    message = {"role": "user", "parts": [{"text": text}]}
    body = {"appName": app, "userId": "ann", "sessionId": "s1", "newMessage": message}
    await served.ask("POST", "/run", body)
    return await served.ask("GET", f"{session}/tracebacks")


@pytest.mark.parametrize("app", ["strict", "lax"])
async def test_a_tools_error_has_the_lines_of_the_developers_code(
    serve: Serve, agents: Path, app: str
) -> None:
    async with serve(agents=agents, developer=True) as served:
        (one,) = (await fail(served, app)).json()["tracebacks"]
    assert (one["name"], bool(one["callId"])) == ("execute_tool pay", True)
    first, cause = one["errors"]
    assert (first["type"], cause["type"]) == ("LookupError", "KeyError")
    assert "no price" in first["message"]
    assert "sk-abcdefghij" not in first["message"]
    own = [frame for frame in first["frames"] if frame["isOwn"]]
    assert [(frame["file"], frame["function"]) for frame in own] == [
        (f"{app}/agent.py", "pay"),
        (f"{app}/prices.py", "find_price"),
    ]
    last = own[-1]
    assert "raise LookupError" in last["lines"][last["line"] - last["first"]]
    foreign = [frame for frame in first["frames"] if not frame["isOwn"]]
    assert foreign
    assert all(frame["lines"] == [] for frame in foreign)
    assert str(agents.parent) not in str(one)


async def test_an_error_outside_of_tools_has_one_too(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents, developer=True) as served:
        (one,) = (await fail(served, "strict", "fall")).json()["tracebacks"]
    (frame,) = [each for each in one["errors"][0]["frames"] if each["isOwn"]]
    assert (frame["file"], frame["function"]) == ("strict/agent.py", "answer")


async def test_a_server_that_is_no_developers_has_none(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents) as served:
        answer = await fail(served, "strict")
        assert (answer.status_code, "prices.py" in answer.text) == (403, False)
        spans = (await served.ask("GET", "/apps/strict/users/ann/sessions/s1/spans")).json()
        for one in spans["spans"]:
            path = f"/apps/strict/users/ann/sessions/s1/spans/{one['id']}"
            assert "prices.py" not in (await served.ask("GET", path)).text


async def test_what_a_development_server_stored_is_shown_by_no_other(
    serve: Serve, agents: Path
) -> None:
    async with serve(agents=agents, developer=True) as served:
        assert (await fail(served, "strict")).json()["tracebacks"]
    async with serve(agents=agents) as served:
        path = "/apps/strict/users/ann/sessions/s1"
        assert (await served.ask("GET", f"{path}/tracebacks")).status_code == 403
        for one in (await served.ask("GET", f"{path}/spans")).json()["spans"]:
            assert "prices.py" not in (await served.ask("GET", f"{path}/spans/{one['id']}")).text


def test_a_chain_of_causes_ends(tmp_path: Path) -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    found = describe_errors(one, tmp_path).errors
    assert [error.message for error in found] == ["one", "other"]
