"""The mcp package's client against our server, over HTTP in both eras of the protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitResult

from tests.unit.server.conftest import AGENTS, Served

pytestmark = pytest.mark.long

MODES = ("auto", "legacy")


def text_of(result: Any) -> str:
    """Return the text that a tool answered."""
    return result.content[0].text


@pytest.fixture(params=MODES)
def connect(request: pytest.FixtureRequest, desk: Served) -> Callable[..., Client]:
    """Return a client that speaks one era of the protocol."""

    def connected(**more: Any) -> Client:
        return Client(f"{desk.client.base_url}/mcp", mode=request.param, **more)

    return connected


async def test_apps_are_tools(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.description) == ("desk", "Follows rules.")
        found = await client.call_tool("desk", {"message": "hi"})
    assert not found.is_error
    assert text_of(found) == "You said hi"
    assert found.structured_content["text"] == "You said hi"


async def test_a_conversation_goes_on(connect: Callable[..., Client], desk: Served) -> None:
    async with connect() as client:
        first = await client.call_tool("desk", {"message": "one"})
        session = first.structured_content["session"]
        await client.call_tool("desk", {"message": "two", "session": session})
    stored = await desk.ask("GET", f"/apps/desk/users/mcp/sessions/{session}")
    assert len(stored.json()["events"]) == 4


async def test_steps_are_progress(connect: Callable[..., Client]) -> None:
    seen: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, message))

    async with connect() as client:
        await client.call_tool("desk", {"message": "add"}, progress_callback=note)
    assert seen == [(1, "add"), (2, "desk")]


@pytest.mark.parametrize(
    ("answer", "approved"),
    [
        (ElicitResult(action="accept", content={"approve": True}), True),
        (ElicitResult(action="accept", content={"approve": False}), False),
        (ElicitResult(action="decline"), False),
    ],
)
async def test_approvals_are_asked_of_the_client(
    connect: Callable[..., Client], desk: Served, answer: ElicitResult, approved: bool
) -> None:
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return answer

    async with connect(elicitation_callback=elicit) as client:
        found = await client.call_tool("desk", {"message": "pay"})
    assert text_of(found) == "pay done"
    assert asked == ['May pay be called with {"amount": 5000, "to": "bob"}?']
    session = found.structured_content["session"]
    stored = (await desk.ask("GET", f"/apps/desk/users/mcp/sessions/{session}")).text
    assert ('"paid"' in stored) is approved


async def test_an_approval_that_was_given_elsewhere_meanwhile_counts(
    connect: Callable[..., Client], desk: Served
) -> None:
    async def elicit(context: Any, params: Any) -> ElicitResult:
        (one,) = (await desk.ask("GET", "/apps/desk/approvals?userId=mcp")).json()["approvals"]
        path = f"/apps/desk/users/mcp/sessions/{one['sessionId']}/approvals/{one['callId']}"
        assert (await desk.ask("POST", path, {"action": "reject"})).status_code == 202
        return ElicitResult(action="accept", content={"approve": True})

    async with connect(elicitation_callback=elicit) as client:
        found = await client.call_tool("desk", {"message": "pay"})
    assert found.is_error and "answered before" in text_of(found)


async def test_a_client_that_cannot_be_asked_is_told(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        found = await client.call_tool("desk", {"message": "pay"})
    assert "pay waits for an answer (approval)" in text_of(found)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("no", {"message": "hi"}, "Agent not found"),
        ("desk", {}, "message"),
        ("desk", {"message": 3}, "message"),
        ("desk", {"message": "hi", "session": "a/b"}, "session"),
        ("desk", {"message": "boom"}, "Failed with RuntimeError"),
        ("desk", {"message": "refused"}, "not that"),
    ],
)
async def test_what_fails_is_the_tools_answer(
    connect: Callable[..., Client], tool: str, arguments: dict[str, Any], text: str
) -> None:
    async with connect() as client:
        found = await client.call_tool(tool, arguments)
    assert found.is_error
    assert text in text_of(found)


async def test_the_command_serves_standard_input(tmp_path: Path) -> None:
    arguments = ["-m", "ostinato", "mcp", str(AGENTS), "--db", str(tmp_path / "s.db")]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
        found = await client.call_tool("desk", {"message": "hi"})
    assert text_of(found) == "You said hi"


@pytest.mark.parametrize(
    ("method", "status"),
    [("POST", 406), ("DELETE", 405)],
)
async def test_what_is_refused_before_it_is_read_is_told(
    served: Served, method: str, status: int
) -> None:
    headers = {"accept": "text/html", "mcp-protocol-version": "2026-07-28"}
    answer = await served.ask(method, "/mcp", {}, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == -32600
    assert answer.headers.get("allow") == ("POST" if status == 405 else None)
