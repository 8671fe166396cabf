"""Requests with an Idempotency-Key: run once on every route that begins a run, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.server.conftest import Serve, Served

KEY = {"Idempotency-Key": "order-7"}
SESSIONS = "/apps/desk/users/ann/sessions"
HI = [{"role": "user", "content": "hi"}]
CHAT = {"model": "desk", "user": "ann", "messages": HI}
TALK = {
    **CHAT,
    "messages": [*HI, {"role": "assistant", "content": "You said hi"}, {**HI[0], "content": "ho"}],
}
RESPONSE = {"model": "desk", "user": "ann", "input": "hi"}
AGUI = {
    "threadId": "t",
    "runId": "r",
    "messages": [{"id": "1", "role": "user", "content": "hi"}],
    "tools": [],
    "forwardedProps": {"userId": "ann"},
}
ROUTES: list[tuple[str, Any]] = [
    ("/v1/chat/completions", CHAT),
    ("/v1/chat/completions", {**CHAT, "stream": True}),
    ("/v1/chat/completions", TALK),
    ("/v1/responses", RESPONSE),
    ("/v1/responses", {**RESPONSE, "stream": True}),
    ("/apps/desk/agui", AGUI),
]


async def stored(served: Served) -> list[list[str]]:
    """Return the texts of the events of each session of the user."""
    found: list[list[str]] = []
    for one in (await served.ask("GET", SESSIONS)).json():
        session = (await served.ask("GET", f"{SESSIONS}/{one['id']}")).json()
        found.append([event["content"]["parts"][-1].get("text") for event in session["events"]])
    return found


@pytest.mark.parametrize(("path", "body"), ROUTES, ids=lambda one: str(one)[:40])
async def test_a_request_that_comes_twice_runs_once(serve: Serve, path: str, body: Any) -> None:
    other = json.loads(json.dumps(body).replace('"hi"', '"hey"'))
    async with serve() as served:
        first = await served.ask("POST", path, body, headers=KEY)
        assert first.status_code == 200, first.text
        known = await stored(served)
        assert len(known) == 1 and known[0][-1].startswith("You said")
        again = await served.ask("POST", path, body, headers=KEY)
        assert again.status_code == 200 and "said" in again.text
        assert await stored(served) == known
        refused = await served.ask("POST", path, other, headers=KEY)
        assert refused.status_code == 422, refused.text
        assert "IdempotencyKeyReused" in refused.text
    async with serve() as later:  # another process knows it from the log
        again = await later.ask("POST", path, body, headers=KEY)
        assert again.status_code == 200 and "said" in again.text
        assert "IdempotencyKeyReused" in (await later.ask("POST", path, other, headers=KEY)).text
        assert await stored(later) == known
        new = await later.ask("POST", path, body, headers={"Idempotency-Key": "order-8"})
        assert new.status_code == 200
        assert await stored(later) != known


async def test_a_conversation_that_is_continued_with_a_key_keeps_its_state(serve: Serve) -> None:
    noted = {**CHAT, "messages": [{"role": "user", "content": "note"}]}
    more = {**CHAT, "messages": [*noted["messages"], {"role": "assistant", "content": "note done"}]}
    more["messages"] = [*more["messages"], {"role": "user", "content": "ho"}]
    async with serve() as served:
        await served.ask("POST", "/v1/chat/completions", noted)
        answers = [
            (await served.ask("POST", "/v1/chat/completions", more, headers=KEY)).json()
            for _ in range(2)
        ]
    async with serve() as later:
        answers.append((await later.ask("POST", "/v1/chat/completions", more, headers=KEY)).json())
        sessions = (await later.ask("GET", SESSIONS)).json()
        states = [one["state"].get("noted") for one in sessions]
    assert {one["choices"][0]["message"]["content"] for one in answers} == {"You said ho"}
    assert states == [True, True]  # the session before, and its copy for the key


async def test_a_response_is_continued_once(served: Served) -> None:
    first = (await served.ask("POST", "/v1/responses", RESPONSE)).json()
    next_one = {**RESPONSE, "input": "ho", "previous_response_id": first["id"]}
    other = {**next_one, "input": "other"}
    for _ in range(2):  # the second time of each, more has been said since
        assert (await served.ask("POST", "/v1/responses", next_one, headers=KEY)).is_success
        key = {"Idempotency-Key": "branch"}
        assert (await served.ask("POST", "/v1/responses", other, headers=key)).is_success
    assert sorted(await stored(served)) == [
        ["hi", "You said hi", "ho", "You said ho"],
        ["hi", "You said hi", "other", "You said other"],
    ]


async def test_an_answer_to_a_call_counts_once(served: Served) -> None:
    asked = (await served.ask("POST", "/v1/responses", {**RESPONSE, "input": "pay"})).json()
    (call,) = [one for one in asked["output"] if one["type"] == "function_call"]
    output = {
        "type": "function_call_output",
        "call_id": call["call_id"],
        "output": '{"confirmed": true}',
    }
    body = {**RESPONSE, "input": [output], "previous_response_id": asked["id"]}
    answers = [await served.ask("POST", "/v1/responses", body, headers=KEY) for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 200]
    assert [one.json()["output"][-1]["content"][0]["text"] for one in answers] == ["pay done"] * 2
    assert len(await stored(served)) == 1


async def test_a_key_that_cannot_be_honoured_is_refused(served: Served) -> None:
    await served.ask("POST", f"{SESSIONS}/s", {})
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    writes: list[tuple[str, str, Any]] = [
        ("POST", SESSIONS, {}),
        ("POST", f"{SESSIONS}/new", {}),
        ("PATCH", f"{SESSIONS}/s", {"stateDelta": {"a": 1}}),
        ("POST", f"{SESSIONS}/s/fork", {}),
        ("POST", f"{SESSIONS}/s/artifacts", {"filename": "x", "artifact": {"text": "x"}}),
        ("POST", "/a2a/desk", rpc),
        ("POST", "/a2a/desk/message:send", {}),
        ("POST", "/mcp", rpc),
    ]
    for method, path, body in writes:
        answer = await served.ask(method, path, body, headers=KEY)
        assert answer.status_code == 400, (path, answer.text)
        assert "Idempotency-Key" in answer.json()["error"]["message"], path
    assert [one["state"] for one in (await served.ask("GET", SESSIONS)).json()] == [{}]
    assert (await served.ask("GET", SESSIONS, headers=KEY)).is_success
    assert (await served.ask("DELETE", f"{SESSIONS}/s", headers=KEY)).is_success


@pytest.mark.parametrize(
    "values", [[b"a", b"b"], [b"a", b"a"], [b"gr\xfcn"], ["grün".encode()], [b""], [b"x" * 257]]
)
async def test_a_key_is_one_short_ascii_text(served: Served, values: list[bytes]) -> None:
    await served.ask("POST", f"{SESSIONS}/s", {})
    run = {
        "appName": "desk",
        "userId": "ann",
        "sessionId": "s",
        "newMessage": {"role": "user", "parts": [{"text": "hi"}]},
    }
    headers: Any = [(b"idempotency-key", one) for one in values]
    for path, body in (("/run", run), ("/run_sse", run), *ROUTES):
        answer = await served.ask("POST", path, body, headers=headers)
        assert answer.status_code == 400, (path, answer.text)
        assert "Idempotency-Key" in answer.json()["error"]["message"]
    assert await stored(served) == [[]]
