"""Bad input: every answer is a 4xx with a typed body, and nothing is stored of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.conftest import AGENTS, Served

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
    ("POST", "/run", run(newMessage={"role": "user", "parts": []})),
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


async def test_other_content_types_are_refused(served: Served) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = {"content-type": kind} if kind else {}
        answer = await served.client.post("/run", content=json.dumps(RUN), headers=headers)
        assert answer.status_code == 415
