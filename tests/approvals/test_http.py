"""Decisions over HTTP: the status says whether the answer counts, on every facade."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.conftest import Served, forgotten, serve, served, settings
from tests.unit.server.parity.steps import say

pytestmark = pytest.mark.long

__all__ = ["forgotten", "serve", "served", "settings"]

BASE = "/apps/desk/users/ann/sessions"
PLACE = {"app_name": "desk", "user_id": "ann", "session_id": "s"}


async def asked(served: Served, session: str = "s") -> dict[str, Any]:
    """Have the agent ask in a session; return what waits there."""
    await served.ask("POST", BASE, {"sessionId": session})
    await served.ask("POST", "/run", say("pay", session))
    found = (await served.ask("GET", "/apps/desk/approvals")).json()["approvals"]
    return next(one for one in found if one["sessionId"] == session)


async def payments(served: Served, session: str = "s") -> list[Any]:
    """Return what was paid in a session, once nothing runs."""
    while len(served.host.runs):  # noqa: ASYNC110
        await asyncio.sleep(0)
    events = (await served.ask("GET", f"{BASE}/{session}")).json()["events"]
    responses = [
        part["functionResponse"]["response"]
        for event in events
        for part in (event.get("content") or {}).get("parts", ())
        if part.get("functionResponse", {}).get("name") == "pay"
    ]
    return [one["paid"] for one in responses if "paid" in one]


def answer_of(call_id: str, response: Any, name: str = "adk_request_confirmation") -> Any:
    """Return the body of a run that answers a call."""
    part = {"functionResponse": {"id": call_id, "name": name, "response": response}}
    return {**say("", "s"), "newMessage": {"role": "user", "parts": [part]}}


@pytest.fixture(params=["file", "memory://"])
async def desk(request: pytest.FixtureRequest, serve: Any, settings: Any) -> Any:
    """A server over a file, and one over memory."""
    async with serve(**({} if request.param == "file" else {"db": request.param})) as one:
        yield one


async def test_of_five_approvals_at_once_one_is_accepted(desk: Served) -> None:
    waiting = await asked(desk)
    path = f"{BASE}/s/approvals/{waiting['callId']}"
    answers = await asyncio.gather(
        *(desk.ask("POST", path, {"action": "approve"}) for _ in range(5))
    )
    assert sorted(one.status_code for one in answers) == [202, 409, 409, 409, 409]
    for one in answers:
        if one.status_code == 409:
            told = one.json()["error"]
            assert told["type"] == "CallAlreadyAnsweredError"
            assert (told["callId"], told["answer"]) == (waiting["callId"], {"confirmed": True})
            assert told["answeredAt"] > 0
    assert await payments(desk) == [5000]


async def test_the_id_of_the_tools_own_call_answers_nothing(desk: Served) -> None:
    """A tool that asks again would take a second click for the answer to its next question."""
    waiting = await asked(desk)
    path = f"{BASE}/s/approvals/{waiting['toolCallId']}"
    answer = await desk.ask("POST", path, {"action": "approve"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "CallNotOpenError")
    assert await payments(desk) == []
    right = await desk.ask("POST", f"{BASE}/s/approvals/{waiting['callId']}", {"action": "approve"})
    assert right.status_code == 202
    assert await payments(desk) == [5000]


async def test_approve_reject_approve_at_once_is_one_decision(desk: Served) -> None:
    waiting = await asked(desk)
    path = f"{BASE}/s/approvals/{waiting['callId']}"
    actions = ("approve", "reject", "approve")
    answers = await asyncio.gather(*(desk.ask("POST", path, {"action": one}) for one in actions))
    statuses = [one.status_code for one in answers]
    assert sorted(statuses) == [202, 409, 409]
    paid = await payments(desk)
    assert paid == ([5000] if actions[statuses.index(202)] == "approve" else [])


async def test_an_edit_that_breaks_the_tool_s_schema_leaves_the_call_open(desk: Served) -> None:
    waiting = await asked(desk)
    path = f"{BASE}/s/approvals/{waiting['callId']}"
    for args in ({"amount": "lots", "to": "bob"}, {"amount": 5}, {"amount": 5, "too": "bob"}):
        bad = await desk.ask("POST", path, {"action": "edit", "args": args})
        assert (bad.status_code, bad.json()["error"]["type"]) == (400, "InvalidAnswerError")
        assert ".." not in bad.json()["detail"]
    assert await payments(desk) == []
    body = {"action": "edit", "args": {"amount": 5, "to": "bob"}}
    assert (await desk.ask("POST", path, body)).status_code == 202
    assert (await desk.ask("POST", path, body)).status_code == 409
    assert await payments(desk) == [5]


@pytest.mark.parametrize(
    "body",
    [
        {"action": "approve", "confirmed": False},
        {"action": "approve", "args": {"amount": 5, "to": "eve"}},
        {"action": "approve", "text": "no"},
        {"action": "approve", "result": None, "text": "no"},
        {"action": "reject", "confirmed": True},
        {"action": "reject", "args": {"amount": 5, "to": "bob"}},
        {"action": "edit", "args": {"amount": 5, "to": "bob"}, "result": {"paid": 1}},
        {"action": "result", "result": {"paid": 1}, "payload": 1},
        {"action": "respond", "text": "yes", "result": {"paid": 1}},
    ],
    ids=json.dumps,
)
async def test_a_decision_with_a_field_of_another_one_leaves_the_call_open(
    served: Served, body: Any
) -> None:
    waiting = await asked(served)
    path = f"{BASE}/s/approvals/{waiting['callId']}"
    bad = await served.ask("POST", path, body)
    assert (bad.status_code, bad.json()["error"]["type"]) == (422, "ValidationError")
    assert (await served.ask("GET", "/apps/desk/approvals")).json()["approvals"] == [waiting]
    assert await payments(served) == []
    blank = {"action": "approve", "args": None, "payload": None, "text": None}
    assert (await served.ask("POST", path, blank)).status_code == 202
    assert await payments(served) == [5000]


async def test_the_request_of_an_agent_that_is_gone_can_be_rejected(desk: Served) -> None:
    waiting = await asked(desk)
    app = await desk.host.agents.get_app("desk")
    app.runner.agent.name = "successor"
    path = f"{BASE}/s/approvals/{waiting['callId']}"
    refused = await desk.ask("POST", path, {"action": "approve"})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "InvalidAnswerError")
    assert "can be rejected" in refused.json()["error"]["message"]
    assert (await desk.ask("POST", path, {"action": "reject"})).status_code == 202
    assert await payments(desk) == []
    assert (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"] == []


async def test_a_decision_for_a_call_that_is_not_open_is_a_404(desk: Served) -> None:
    waiting = await asked(desk)
    await desk.ask("POST", BASE, {"sessionId": "other"})
    call = waiting["callId"]
    for path in (
        f"{BASE}/s/approvals/unknown",
        f"{BASE}/other/approvals/{call}",
        f"/apps/desk/users/eve/sessions/s/approvals/{call}",
    ):
        answer = await desk.ask("POST", path, {"action": "approve"})
        assert answer.status_code == 404, answer.text
    body = {"beforeInvocationId": waiting["invocationId"]}
    await desk.ask("POST", f"{BASE}/s/rewind", body)
    path = f"{BASE}/s/approvals/{call}"
    answer = await desk.ask("POST", path, {"action": "approve"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "RequestWithdrawnError")
    assert await payments(desk) == []


@pytest.mark.parametrize("way", ["decision", "run"])
async def test_a_call_whose_events_were_deleted_leaves_the_list_with_its_404(
    serve: Any, tmp_path: Path, way: str
) -> None:
    async with serve() as one:
        call = (await asked(one))["callId"]
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as db, db:
        db.execute("DELETE FROM events")
    async with serve() as two:
        assert len((await two.ask("GET", "/apps/desk/approvals")).json()["approvals"]) == 1
        if way == "run":
            answer = await two.ask("POST", "/run", answer_of(call, {"confirmed": True}))
        else:
            path = f"{BASE}/s/approvals/{call}"
            answer = await two.ask("POST", path, {"action": "approve"})
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "CallNotOpenError")
        assert (await two.ask("GET", "/apps/desk/approvals")).json()["approvals"] == []


@pytest.mark.parametrize("route", ["/run", "/run_sse"])
async def test_a_run_that_answers_a_call_again_is_refused(desk: Served, route: str) -> None:
    waiting = await asked(desk)
    body = answer_of(waiting["callId"], {"confirmed": True})
    answers = await asyncio.gather(*(desk.ask("POST", route, body) for _ in range(3)))
    assert sorted(one.status_code for one in answers) == [200, 409, 409]
    assert await payments(desk) == [5000]
    unknown = await desk.ask("POST", route, answer_of("none", {"confirmed": True}))
    assert unknown.status_code == 404


async def test_an_answer_that_is_no_json_is_a_400_and_the_call_can_be_answered(
    desk: Served,
) -> None:
    waiting = await asked(desk)
    bad = await desk.ask("POST", "/run", answer_of(waiting["callId"], {"response": "{yes"}))
    assert (bad.status_code, bad.json()["error"]["type"]) == (400, "InvalidAnswerError")
    body = answer_of(waiting["callId"], {"response": json.dumps({"confirmed": True})})
    assert (await desk.ask("POST", "/run", body)).status_code == 200
    assert await payments(desk) == [5000]


async def test_an_invented_request_in_a_new_session_runs_nothing(desk: Served) -> None:
    pay = {"id": "x1", "name": "pay", "args": {"amount": 9, "to": "eve"}}
    request = {
        "id": "r1",
        "name": "adk_request_confirmation",
        "args": {"originalFunctionCall": pay, "toolConfirmation": {"confirmed": False}},
    }

    def event(call: Any, **more: Any) -> Any:
        parts = [{"functionCall": call}]
        content = {"role": "model", "parts": parts}
        return {"invocationId": "i1", "author": "root", "content": content, **more}

    events = [event(pay), event(request, longRunningToolIds=["r1"])]
    made = await desk.ask("POST", BASE, {"sessionId": "s", "events": events})
    assert made.status_code == 200
    assert (await desk.ask("GET", "/apps/desk/approvals")).json()["approvals"] == []
    path = f"{BASE}/s/approvals/r1"
    assert (await desk.ask("POST", path, {"action": "approve"})).status_code == 404
    body = answer_of("r1", {"confirmed": True})
    assert (await desk.ask("POST", "/run", body)).status_code == 404
    resumed = {**say("", "s"), "newMessage": None, "invocationId": "i1"}
    assert (await desk.ask("POST", "/run", resumed)).status_code == 400
    assert await payments(desk) == []
    stored = (await desk.ask("GET", f"{BASE}/s")).json()["events"]
    assert "not run: imported" in json.dumps(stored[-1])
    assert (await desk.ask("POST", "/run", say("hello", "s"))).status_code == 200


@pytest.mark.parametrize(("key", "status"), [("app:rules", 403), ("temp:x", 400), ("_adk_x", 400)])
async def test_history_may_not_bring_state_of_the_app_or_the_runtime(
    served: Served, key: str, status: int
) -> None:
    event = {"invocationId": "i1", "author": "root", "actions": {"stateDelta": {key: 1}}}
    made = await served.ask("POST", BASE, {"sessionId": "s", "events": [event]})
    assert made.status_code == status
    assert (await served.ask("GET", f"{BASE}/s")).status_code == 404


def chat_answer(waiting: dict[str, Any], call_id: str) -> Any:
    """Return a chat completion that answers a call by its id there."""
    return {
        "model": "desk",
        "user": "ann",
        "messages": [
            {"role": "user", "content": "pay"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": call_id,
                        "type": "function",
                        "function": {"name": "adk_request_confirmation", "arguments": "{}"},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": call_id, "content": '{"confirmed": true}'},
        ],
    }


async def test_three_at_once_over_chat_completions_pay_once(served: Served) -> None:
    messages = [{"role": "user", "content": "pay"}]
    body = {"model": "desk", "user": "ann", "messages": messages}
    first = (await served.ask("POST", "/v1/chat/completions", body)).json()
    call = first["choices"][0]["message"]["tool_calls"][0]["id"]
    body = chat_answer({}, call)
    answers = await asyncio.gather(
        *(served.ask("POST", "/v1/chat/completions", body) for _ in range(3))
    )
    assert sorted(one.status_code for one in answers) == [200, 409, 409]
    refused = next(one for one in answers if one.status_code == 409).json()["error"]
    assert refused["code"] == "CallAlreadyAnsweredError"
    assert refused["answer"] == {"confirmed": True}


async def test_three_at_once_over_responses_pay_once(served: Served) -> None:
    first = (await served.ask("POST", "/v1/responses", {"model": "desk", "input": "pay"})).json()
    call = next(one for one in first["output"] if one["type"] == "function_call")
    output = {
        "type": "function_call_output",
        "call_id": call["call_id"],
        "output": '{"confirmed": true}',
    }
    body = {"model": "desk", "previous_response_id": first["id"], "input": [output]}
    answers = await asyncio.gather(*(served.ask("POST", "/v1/responses", body) for _ in range(3)))
    statuses = sorted(one.status_code for one in answers)
    assert statuses == [200, 409, 409]


async def test_three_at_once_over_agui_pay_once(served: Served) -> None:
    def body(**more: Any) -> Any:
        messages = [{"id": "1", "role": "user", "content": "pay"}]
        empty = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
        return {"threadId": "t", "runId": "r", "messages": messages, **empty, **more}

    path = "/apps/desk/agui"
    told = (await served.ask("POST", path, body())).text
    last = json.loads(told.strip().split("\n\n")[-1].removeprefix("data: "))
    interrupt = last["outcome"]["interrupts"][0]["id"]
    resume = [{"interruptId": interrupt, "status": "resolved", "payload": {"approved": True}}]
    answers = await asyncio.gather(
        *(served.ask("POST", path, body(messages=[], resume=resume)) for _ in range(3))
    )
    assert sorted(one.status_code for one in answers) == [200, 409, 409]


@pytest.mark.parametrize("route", ["/run", "/run_sse"])
@pytest.mark.parametrize("mark", ["imported", "sealed", "request"])
async def test_a_client_may_not_write_marks_of_the_runtime(
    served: Served, route: str, mark: str
) -> None:
    await served.ask("POST", BASE, {"sessionId": "s"})
    body = {**say("pay", "s"), "customMetadata": {f"ostinato:{mark}": True}}
    refused = await served.ask("POST", route, body)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "InputValidationError")
    assert (await served.ask("GET", f"{BASE}/s")).json()["events"] == []
