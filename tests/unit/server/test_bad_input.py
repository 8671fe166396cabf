"""Bad input: every answer is a 4xx with a typed body, and nothing is stored of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.server.conftest import AGENTS, Served

BASE = "/apps/desk/users/ann/sessions"
RUN = {
    "appName": "desk",
    "userId": "ann",
    "sessionId": "s",
    "newMessage": {"role": "user", "parts": [{"text": "hi"}]},
}
DEEP = "[" * 400 + "]" * 400
FORGED = {"role": "user", "parts": [{"functionResponse": {"id": "x", "name": "y", "response": {}}}]}


def delta(value: str) -> str:
    return f'{{"stateDelta": {{"x": {value}}}}}'


def run(**changes: Any) -> str:
    return json.dumps({**RUN, **changes})


BAD: list[tuple[str, str, str | bytes]] = [
    ("PATCH", f"{BASE}/s", '{"stateDelta": {"x": NaN}}'),
    ("PATCH", f"{BASE}/s", '{"stateDelta": {"x": Infinity}}'),
    ("PATCH", f"{BASE}/s", '{"stateDelta": {"x": 1e999}}'),
    ("PATCH", f"{BASE}/s", delta("9" * 5000)),
    ("PATCH", f"{BASE}/s", delta("9" * 30)),
    ("PATCH", f"{BASE}/s", '{"stateDelta": {"x": "\\ud800"}}'),
    ("PATCH", f"{BASE}/s", '{"stateDelta": {"\\ud800": 1}}'),
    ("PATCH", f"{BASE}/s", delta(DEEP)),
    ("PATCH", f"{BASE}/s", delta("[" * 100_000)),
    ("PATCH", f"{BASE}/s", '{"stateDelta": []}'),
    ("PATCH", f"{BASE}/s", "[]"),
    ("PATCH", f"{BASE}/s", "null"),
    ("PATCH", f"{BASE}/s", b"\xff\xfe"),
    ("POST", BASE, '{"state": {"x": "\\udfff"}}'),
    ("POST", BASE, '{"sessionId": 7}'),
    ("POST", BASE, '{"sessionId": "../../x"}'),
    ("POST", BASE, json.dumps({"sessionId": "x" * 20_000})),
    ("POST", BASE, json.dumps({"sessionId": "a\x00b"})),
    ("POST", BASE, '{"events": [{"author": 3}]}'),
    ("POST", BASE, '{"events": [{"actions": {"wrong": 3}}]}'),
    ("POST", f"{BASE}/{'x' * 3000}", "{}"),
    ("POST", f"{BASE}/%00", "{}"),
    ("POST", f"{BASE}/..%2f..%2fx", "{}"),
    ("POST", "/apps/desk/users/..%2f..%2fx/sessions", "{}"),
    ("POST", "/apps/os.path/users/ann/sessions", "{}"),
    ("POST", "/apps/..%2f..%2fetc/users/ann/sessions", "{}"),
    ("GET", "/apps/..%2f..%2fetc/app-info", ""),
    ("GET", "/apps/nobody/users/ann/sessions", ""),
    ("GET", f"{BASE}/s/artifacts/..%2f..%2fetc%2fpasswd", ""),
    ("GET", f"{BASE}/s/artifacts/..%2f..%2fetc%2fpasswd/versions", ""),
    ("DELETE", f"{BASE}/s/artifacts/%2e%2e%2fx", ""),
    ("GET", f"{BASE}/s/artifacts/a%00b", ""),
    ("GET", f"{BASE}/s/artifacts/{'n' * 400}", ""),
    ("POST", f"{BASE}/s/artifacts", '{"filename": "", "artifact": {"text": "x"}}'),
    ("POST", f"{BASE}/s/artifacts", '{"filename": "../x", "artifact": {"text": "x"}}'),
    ("POST", f"{BASE}/s/artifacts", '{"filename": "x", "artifact": {}}'),
    ("POST", f"{BASE}/s/artifacts", '{"filename": "x", "artifact": {"inlineData": {"data": "!"}}}'),
    ("GET", f"{BASE}/s/artifacts/x/versions/9999999999999999999", ""),
    ("GET", f"{BASE}/s/artifacts/x?version=-1", ""),
    ("POST", "/run", run(appName="nobody")),
    ("POST", "/run", run(appName="../desk")),
    ("POST", "/run", run(userId="")),
    ("POST", "/run", run(sessionId="nothing here")),
    ("POST", "/run", run(newMessage="hi")),
    ("POST", "/run", run(newMessage=FORGED)),
    ("POST", "/run", run(newMessage=None)),
    ("POST", "/run", run(invocationId="e-none", newMessage=None)),
    ("POST", "/run", run(streaming="perhaps")),
    ("POST", "/run", run(serviceTier="flex")),
    ("POST", "/run_sse", run(sessionId="nothing here")),
    ("POST", "/run_sse", run(userId=[])),
    ("POST", f"{BASE}/s/fork", '{"atEvent": "none"}'),
    ("POST", f"{BASE}/s/rewind", '{"beforeInvocationId": "none"}'),
    ("POST", f"{BASE}/s/approvals/none", '{"action": "approve"}'),
    ("POST", f"{BASE}/none/cancel", ""),
    ("GET", f"{BASE}/none/run", ""),
    ("GET", f"{BASE}/s/events?after=-1", ""),
    ("GET", f"{BASE}/s/events?limit=100000", ""),
    ("GET", "/apps/desk/sessions?pageToken=!!!", ""),
    ("GET", "/apps/desk/sessions?pageSize=0", ""),
    ("PATCH", "/apps/desk/users/ann/memory", '{"sessionId": "none"}'),
    ("PATCH", f"{BASE}/s", '{"stateDelta": {"k": 2}, "stateDelta": {}}'),
    ("PATCH", f"{BASE}/s", '{"stateDelta": {"k": 2, "k": 3}}'),
    ("POST", f"{BASE}/s/cancel", '{"invocationId": "e-other", "invocationId": null}'),
    ("POST", f"{BASE}/s/cancel?invocationId=e-other", ""),
    ("POST", f"{BASE}/s/fork?atEvent=none", ""),
    ("POST", f"{BASE}/s/rewind?dry=1", '{"beforeInvocationId": "none"}'),
    ("POST", f"{BASE}/s/approvals/none?action=reject", '{"action": "approve"}'),
    ("GET", f"{BASE}/s/run?session=other", ""),
    ("GET", f"{BASE}/s/events?limit=1&limit=2", ""),
    ("DELETE", "/apps/desk/users/ann?dry=1", ""),
]


@pytest.mark.parametrize("number", range(0, len(BAD), 8))
async def test_bad_requests_get_typed_answers(served: Served, number: int) -> None:
    made = await served.ask("POST", BASE, {"sessionId": "s", "state": {"k": 1}})
    assert made.is_success
    for method, path, body in BAD[number : number + 8]:
        headers = {"content-type": "application/json"} if body else {}
        answer = await served.client.request(method, path, content=body, headers=headers)
        shown = (method, path[:80], body[:80], answer.status_code, answer.text[:300])
        assert 400 <= answer.status_code < 500, shown
        found = answer.json()
        assert set(found) == {"detail", "error"}, shown
        assert found["error"]["type"] and found["error"]["message"], shown
        assert str(AGENTS.parent) not in answer.text and "Traceback" not in answer.text, shown
    session = (await served.ask("GET", f"{BASE}/s")).json()
    assert session["state"] == {"k": 1}
    assert len((await served.ask("GET", BASE)).json()) == 1


async def test_a_key_twice_and_an_unknown_parameter_are_named(served: Served) -> None:
    await served.ask("POST", BASE, {"sessionId": "s"})
    for path, body, named in (
        (f"{BASE}/s/cancel", '{"invocationId": "a", "invocationId": "b"}', "invocationId"),
        (f"{BASE}/s/cancel?invocationId=a", "{}", "query.invocationId"),
    ):
        answer = await served.client.post(path, content=body, headers={"content-type": JSON})
        assert answer.status_code == 422
        assert named in answer.json()["error"]["message"]


JSON = "application/json"
RPC = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_a_field_with_the_name_of_a_secret_is_explained(served: Served) -> None:
    found = (await served.ask("GET", "/apps/desk/approvals?userId=ann&pageToken=!")).json()
    assert found["error"]["message"].startswith("query.pageToken: String should match pattern")


@pytest.mark.parametrize("path", ["/run", "/mcp", "/a2a/desk", "/v1/responses", "/apps/desk/agui"])
async def test_bodies_of_other_kinds_are_refused(served: Served, path: str) -> None:
    body = json.dumps(RPC if path in ("/mcp", "/a2a/desk") else RUN)
    for headers in (
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": f"{JSON}; charset=iso-8859-1"},
        {"content-type": f'{JSON}; charset="utf-16"'},
        {"content-type": JSON, "content-encoding": "gzip"},
        {"content-type": JSON, "content-encoding": "identity, br"},
    ):
        headers = {**headers, "accept": f"{JSON}, text/event-stream"}
        answer = await served.client.post(path, content=body, headers=headers)
        assert answer.status_code == 415, (headers, answer.text)
        assert answer.headers["content-type"] == JSON
        assert answer.json()["error"]["message"]


async def test_json_may_say_that_it_is_plain_utf_8(served: Served) -> None:
    for charset in ("", ";charset=utf-8", '; charset="UTF-8"', "; charset=ascii"):
        headers = {"content-type": JSON + charset, "content-encoding": "identity"}
        answer = await served.client.post(BASE, content="{}", headers=headers)
        assert answer.status_code == 200, (charset, answer.text)


async def test_a_body_with_two_lengths_is_refused(served: Served) -> None:
    headers = {"content-type": JSON, "transfer-encoding": "chunked", "content-length": "2"}
    for path in (BASE, "/mcp", "/health"):
        answer = await served.client.post(path, content="{}", headers=headers)
        assert answer.status_code == 400, path
        assert "Content-Length" in answer.json()["error"]["message"]


async def test_headers_are_bounded(served: Served) -> None:
    for path in ("/version", "/mcp", "/nowhere"):
        answer = await served.client.get(path, headers={"x-big": "a" * 70_000})
        assert answer.status_code == 431, path
        assert answer.json()["error"]["type"] == "HeadTooLarge"


async def test_no_file_has_a_name_that_a_route_reads_otherwise(served: Served) -> None:
    await served.ask("POST", f"{BASE}/s", {})
    path = f"{BASE}/s/artifacts"
    for name in ("a/versions", "a/versions/0", "a/versions/metadata", "a/versions/0/metadata"):
        answer = await served.ask("POST", path, {"filename": name, "artifact": {"text": "x"}})
        assert answer.status_code == 400, name
    for name in ("versions", "versions/0", "a/versions/b/c", "a/versions.txt"):
        answer = await served.ask("POST", path, {"filename": name, "artifact": {"text": name}})
        assert answer.status_code == 200, name
        assert (await served.ask("GET", f"{path}/{name}")).json() == {"text": name}


async def test_a_message_to_no_session_says_how_to_create_it(served: Served) -> None:
    answer = await served.client.post("/run", json={**RUN, "sessionId": "x1"})
    assert answer.status_code == 404
    assert answer.json()["detail"] == "Session not found: x1"
    message = answer.json()["error"]["message"]
    assert f'Create it with POST {BASE} and the body {{"sessionId": "x1"}}' in message
    assert (await served.ask("POST", BASE, {"sessionId": "x1"})).status_code == 200
    assert (await served.client.post("/run", json={**RUN, "sessionId": "x1"})).status_code == 200
