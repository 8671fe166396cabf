"""Parameters of wrong types are the client's mistake: one line in the log, and no traceback."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.unit.server.conftest import Served

pytestmark = pytest.mark.long

MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


def call_of(params: Any, method: str = "SendMessage") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(
    "body",
    [
        call_of({"message": {**MESSAGE, "taskId": 5}}),
        call_of({"message": {**MESSAGE, "contextId": ["c"]}}),
        call_of({"message": {**MESSAGE, "messageId": {}}}),
        call_of({"message": {**MESSAGE, "parts": "hi"}}),
        call_of({"message": {**MESSAGE, "role": {}}}),
        call_of({"message": "hi"}),
        call_of([]),
        call_of("hi"),
        call_of({"id": 5}, "GetTask"),
        call_of({"id": "t", "historyLength": "many"}, "GetTask"),
        call_of({"pageSize": "many"}, "ListTasks"),
        call_of({}, "Nothing"),
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": 2, "id": 1, "method": "GetTask"},
        {"jsonrpc": "2.0", "id": [], "method": "GetTask"},
        [call_of({})],
    ],
    ids=str,
)
async def test_a_call_is_refused_in_one_line(
    desk: Served, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await desk.client.post("/a2a/desk", json=body, headers={"A2A-Version": "1.0"})
    assert answer.json()["error"]["code"] in (-32600, -32601, -32602)
    check_log(caplog)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/message:send", {"message": {**MESSAGE, "taskId": 5}}),
        ("POST", "/message:stream", {"message": {**MESSAGE, "contextId": []}}),
        ("POST", "/message:send", {"message": "hi"}),
        ("POST", "/message:send", []),
        ("GET", "/tasks?pageSize=many", None),
        ("GET", "/tasks/t?historyLength=many", None),
    ],
)
async def test_a_request_is_refused_in_one_line(
    desk: Served, method: str, path: str, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await desk.client.request(
        method, f"/a2a/desk{path}", json=body, headers={"A2A-Version": "1.0"}
    )
    assert 400 <= answer.status_code < 500, answer.text
    check_log(caplog)


def check_log(caplog: pytest.LogCaptureFixture) -> None:
    told = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert len(told) <= 1, [one.getMessage() for one in told]
    assert not [one for one in told if one.exc_info or one.levelno > logging.WARNING]
    assert "\n" not in "".join(one.getMessage() for one in told)
