"""Requests for credentials: what the inbox shows, and answers that leave no secret behind."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.conftest import Serve, Served

DESK = """
from ostinato import types
from ostinato.agents import Agent
from ostinato.auth.auth_tool import AuthConfig
from ostinato.testing import FunctionModel

SCHEMES = {
    "key": {"type": "apiKey", "name": "X-Key", "in": "header"},
    "login": {"type": "oauth2", "flows": {"authorizationCode": {
        "authorizationUrl": "https://login.test/authorize",
        "tokenUrl": "https://login.test/token", "scopes": {}}}},
}
CLIENT = {"authType": "oauth2", "oauth2": {
    "clientId": "me", "clientSecret": "hush", "redirectUri": "https://app.test/back"}}


def fetch(kind: str, tool_context) -> dict:
    config = AuthConfig(auth_scheme=SCHEMES[kind], credential_key="news",
        raw_auth_credential=CLIENT if kind == "login" else None)
    given = tool_context.get_auth_response(config)
    if given is None:
        tool_context.request_credential(config)
        return {"status": "asked"}
    return {"length": len(given.api_key or given.oauth2.access_token)}


def answer(request):
    last = request.contents[-1].parts[-1]
    if last.function_response is not None:
        return f"Result: {last.function_response.response}"
    call = types.FunctionCall(name="fetch", args={"kind": last.text})
    return types.Part(function_call=call)


root_agent = Agent(name="root", model=FunctionModel(answer), tools=[fetch])
"""
SECRET = "sk-very-secret-0123456789"
SESSION = "/apps/desk/users/ann/sessions/s1"


@pytest.fixture
async def desk(serve: Serve, tmp_path: Path) -> AsyncIterator[Served]:
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(DESK)
    async with serve(agents=folder.parent) as served:
        await served.ask("POST", SESSION)
        yield served


async def ask_for(desk: Served, kind: str) -> dict[str, Any]:
    """Let the tool ask for a credential; return the entry of the inbox."""
    message = {"role": "user", "parts": [{"text": kind}]}
    body = {"appName": "desk", "userId": "ann", "sessionId": "s1", "newMessage": message}
    assert (await desk.ask("POST", "/run", body)).is_success
    (one,) = (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"]
    return one


async def give(desk: Served, one: dict[str, Any], credential: Any) -> Any:
    body = {"action": "credential", "credential": credential}
    return await desk.ask("POST", f"{SESSION}/approvals/{one['callId']}", body)


async def read_last_text(desk: Served) -> str:
    """Return the last answer, once nothing runs any more."""
    while (await desk.ask("GET", f"{SESSION}/run")).json()["state"] == "running":
        pass  # each request lets the run go on
    events = (await desk.ask("GET", SESSION)).json()["events"]
    return events[-1]["content"]["parts"][0].get("text", "")


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_key_is_given_once_and_kept_nowhere(
    desk: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    one = await ask_for(desk, "key")
    assert (one["kind"], one["tool"]) == ("credential", "fetch")
    assert one["credential"]["key"] == "news"
    scheme = one["credential"]["scheme"]
    assert (scheme["type"], scheme["name"], scheme["in"]) == ("apiKey", "X-Key", "header")

    answer = await give(desk, one, {"authType": "apiKey", "apiKey": SECRET})
    assert answer.status_code == 202, answer.text
    assert str(len(SECRET)) in await read_last_text(desk)
    assert (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"] == []

    again = await give(desk, one, {"authType": "apiKey", "apiKey": "another"})
    assert again.status_code == 409
    assert SECRET not in again.text
    assert SECRET not in caplog.text
    assert SECRET not in (await desk.ask("GET", SESSION)).text
    written = read_files(tmp_path)
    assert "sessions.db" in written
    assert [name for name, data in written.items() if SECRET.encode() in data] == []


async def test_a_request_for_consent_names_its_address_and_no_secret(desk: Served) -> None:
    one = await ask_for(desk, "login")
    asked = one["credential"]
    assert asked["consentUri"].startswith("https://login.test/authorize?")
    assert asked["redirectUri"] == "https://app.test/back"
    assert "hush" not in str(one)
    token = {"authType": "oauth2", "oauth2": {"accessToken": "t" * 7}}
    assert (await give(desk, one, token)).status_code == 202
    assert "'length': 7" in await read_last_text(desk)


@pytest.mark.parametrize(
    "body",
    [
        {"action": "approve"},
        {"action": "result", "result": {"apiKey": SECRET}},
        {"action": "credential"},
        {"action": "credential", "credential": {"apiKey": SECRET}},
        {"action": "credential", "credential": {"authType": SECRET}},
        {"action": "credential", "credential": {"authType": "http", "http": SECRET}},
        {"action": "approve", "credential": {"authType": "apiKey", "apiKey": SECRET}},
        {"action": "credential", "credential": SECRET},
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_without_its_secret(
    desk: Served, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    one = await ask_for(desk, "key")
    answer = await desk.ask("POST", f"{SESSION}/approvals/{one['callId']}", body)
    assert answer.status_code in (400, 422), answer.text
    assert SECRET not in answer.text
    assert SECRET not in caplog.text
    waiting = (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"]
    assert [each["callId"] for each in waiting] == [one["callId"]]


async def test_a_credential_answers_nothing_else(desk: Served) -> None:
    one = await ask_for(desk, "key")
    assert one["kind"] == "credential"
    answer = await give(desk, {"callId": "none"}, {"authType": "apiKey", "apiKey": SECRET})
    assert answer.status_code == 404
    assert SECRET not in answer.text


async def test_a_refusal_is_taken_once_and_the_model_reads_it(desk: Served) -> None:
    one = await ask_for(desk, "key")
    where = f"{SESSION}/approvals/{one['callId']}"
    with_reason = await desk.ask("POST", where, {"action": "reject", "reason": "no"})
    assert with_reason.status_code == 400
    assert (await desk.ask("POST", where, {"action": "reject"})).status_code == 202
    assert "The user refused to give the credential" in await read_last_text(desk)
    assert (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"] == []
    assert (await desk.ask("POST", where, {"action": "reject"})).status_code == 409
    assert (await give(desk, one, {"authType": "apiKey", "apiKey": SECRET})).status_code == 409
