"""Questions of workflows to a person: what the inbox shows, and the ways to answer them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp.client.client import Client

from ostinato.server.settings import ServerSettings
from ostinato.sessions.store.durable_store import Place
from tests.unit.server.conftest import Serve, Served, listening

FLOW = """
from pydantic import BaseModel, Field

from ostinato.events.request_input import RequestInput
from ostinato.tools import FunctionTool
from ostinato.workflow import START, Workflow, node

starts = []


class Trip(BaseModel):
    city: str
    nights: int


class Refund(BaseModel):
    amount: int = Field(ge=0)


SCHEMAS = {
    "allow": bool, "trip": Trip, "word": str, "number": int, "open": None, "refund": Refund
}


def begin(node_input: str) -> str:
    starts.append(node_input)
    return node_input


def ask(node_input: str) -> RequestInput:
    return RequestInput(
        interrupt_id=f"ask-{len(starts)}",
        message=f"What about {node_input}?",
        payload={"draft": node_input},
        response_schema=SCHEMAS[node_input],
    )


def other(node_input: str):
    if node_input == "open":
        return RequestInput(interrupt_id="other", message="And this?")


def use(node_input):
    if node_input is not None:
        return f"{len(starts)} started, got {node_input!r}"


one = Workflow(name="one", edges=[(START, begin, ask, use)])
two = Workflow(name="two", edges=[(START, begin, (ask, other))])


def pay(amount: int) -> str:
    return f"got {amount}"


def price(node_input: str) -> dict:
    return {"amount": 5}


tool = FunctionTool(pay, require_confirmation=True)
tools = Workflow(name="tools", edges=[(START, price, tool)])
root_agent = {root}
"""


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    """Workflows: `one` asks one question, `two` asks two at a time, `tools` for an approval."""
    for name in ("one", "two", "tools"):
        folder = tmp_path / "flows" / name
        folder.mkdir(parents=True)
        (folder / "agent.py").write_text(FLOW.replace("{root}", name))
    return tmp_path / "flows"


@pytest.fixture
async def asker(serve: Serve, flows: Path) -> AsyncIterator[Served]:
    """A server of the two workflows."""
    async with serve(agents=flows) as served:
        yield served


async def asked(served: Served, text: str, app: str = "one") -> list[dict[str, Any]]:
    """Send a message that a workflow asks something about; return the inbox."""
    await served.ask("POST", f"/apps/{app}/users/u/sessions", {"sessionId": "s"})
    body = {"appName": app, "userId": "u", "sessionId": "s", "newMessage": _said(text)}
    answer = await served.ask("POST", "/run", body)
    assert answer.status_code == 200, answer.text
    return (await served.ask("GET", f"/apps/{app}/approvals")).json()["approvals"]


async def test_a_run_with_an_answer_of_the_wrong_type_is_told_why(asker: Served) -> None:
    (waiting,) = await asked(asker, "number")
    part = {
        "functionResponse": {
            "id": waiting["callId"],
            "name": "adk_request_input",
            "response": {"result": "many"},
        }
    }
    message = {"role": "user", "parts": [part]}
    body = {"appName": "one", "userId": "u", "sessionId": "s", "newMessage": message}
    refused = await asker.ask("POST", "/run", body)
    error = refused.json()["error"]
    assert (refused.status_code, error["type"]) == (400, "InvalidAnswerError")
    assert "ValueError" not in error["message"]
    assert "the answer" in error["message"].partition("its schema: ")[2]


async def test_an_answer_beyond_its_bounds_leaves_the_question_open(asker: Served) -> None:
    (waiting,) = await asked(asker, "refund")
    status, body = await decided(asker, waiting["callId"], action="result", result={"amount": -1})
    assert (status, body["error"]["type"]) == (400, "InvalidAnswerError")
    assert "minimum" in body["error"]["message"]
    status, _ = await decided(asker, waiting["callId"], action="result", result={"amount": 3})
    assert status == 202


def _said(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


async def decided(served: Served, call: str, **decision: Any) -> tuple[int, Any]:
    """Answer a call over HTTP; return the status and the body."""
    path = f"/apps/one/users/u/sessions/s/approvals/{call}"
    answer = await served.ask("POST", path, decision)
    return answer.status_code, answer.json()


async def ended(served: Served, place: Place) -> None:
    """Wait until nothing runs in a session."""
    for run in served.host.runs.runs_of(place):
        await run.result()


async def outputs(served: Served, app: str = "one", user: str = "u", session: str = "s") -> Any:
    """Return the outputs of the session's last node once nothing runs."""
    await ended(served, Place(app, user, session))
    found = await served.ask("GET", f"/apps/{app}/users/{user}/sessions/{session}")
    return [
        event["output"] for event in found.json()["events"] if "got" in str(event.get("output"))
    ]


async def test_the_inbox_shows_the_question_its_schema_and_payload(asker: Served) -> None:
    (one,) = await asked(asker, "allow")
    assert one["kind"] == "input"
    assert one["message"] == "What about allow?"
    assert one["responseSchema"] == {"type": "boolean"}
    assert one["payload"] == {"draft": "allow"}
    assert (one["callId"], one["tool"]) == ("ask-1", "adk_request_input")


@pytest.mark.parametrize(
    ("question", "decision", "wanted"),
    [
        ("allow", {"action": "respond", "text": "Yes."}, "True"),
        ("allow", {"action": "result", "result": False}, "False"),
        ("allow", {"action": "result", "result": {"result": True}}, "True"),
        ("word", {"action": "respond", "text": "yes"}, "'yes'"),
        ("word", {"action": "respond", "text": "12"}, "'12'"),
        ("number", {"action": "respond", "text": "12"}, "12"),
        ("open", {"action": "respond", "text": "as you like"}, "'as you like'"),
        (
            "trip",
            {"action": "result", "result": {"city": "Rome", "nights": 2}},
            "{'city': 'Rome', 'nights': 2}",
        ),
        (
            "trip",
            {"action": "respond", "text": '{"city": "Rome", "nights": 2}'},
            "{'city': 'Rome', 'nights': 2}",
        ),
    ],
)
async def test_an_answer_reaches_the_node(
    asker: Served, question: str, decision: dict[str, Any], wanted: str
) -> None:
    await asked(asker, question)
    status, body = await decided(asker, "ask-1", **decision)
    assert status == 202, body
    assert await outputs(asker) == [f"1 started, got {wanted}"]
    assert (await asker.ask("GET", "/apps/one/approvals")).json()["approvals"] == []


@pytest.mark.parametrize(
    ("question", "decision", "words"),
    [
        ("number", {"action": "respond", "text": "many"}, "not of type integer"),
        ("allow", {"action": "result", "result": "perhaps"}, "not of type boolean"),
        ("trip", {"action": "result", "result": {"city": "Rome"}}, "lacks nights"),
        ("allow", {"action": "approve"}, "only by respond or result"),
        ("allow", {"action": "respond"}, "needs 'text'"),
        ("allow", {"action": "result"}, "needs 'result'"),
    ],
)
async def test_an_answer_that_does_not_fit_leaves_the_question_open(
    asker: Served, question: str, decision: dict[str, Any], words: str
) -> None:
    before = await asked(asker, question)
    status, body = await decided(asker, "ask-1", **decision)
    assert status in (400, 422)
    assert words in body["error"]["message"]
    await ended(asker, Place("one", "u", "s"))
    assert (await asker.ask("GET", "/apps/one/approvals")).json()["approvals"] == before


async def test_a_call_of_a_tool_node_is_approved_though_its_id_has_slashes(asker: Served) -> None:
    (waiting,) = await asked(asker, "pay", "tools")
    assert "/" in waiting["callId"]
    path = f"/apps/tools/users/u/sessions/s/approvals/{quote(waiting['callId'], safe='')}"
    answer = await asker.ask("POST", path, {"action": "result", "result": True})
    assert answer.status_code == 202, answer.text
    assert await outputs(asker, "tools") == ["got 5"]


async def _complete(served: Served, messages: list[Any], model: str = "one") -> Any:
    body = {"model": model, "user": "u", "messages": messages}
    answer = await served.ask("POST", "/v1/chat/completions", body)
    return answer.status_code, answer.json()


async def test_words_in_a_chat_completion_answer_the_open_question(asker: Served) -> None:
    messages: list[Any] = [{"role": "user", "content": "number"}]
    _, first = await _complete(asker, messages)
    told = first["choices"][0]["message"]
    assert told["content"] == "What about number?"
    messages.append({key: told[key] for key in ("role", "content", "tool_calls")})
    status, body = await _complete(asker, [*messages, {"role": "user", "content": "many"}])
    assert status == 400
    assert "not of type integer" in body["error"]["message"]
    status, body = await _complete(
        asker,
        [*messages, {"role": "system", "content": "Be brief."}, {"role": "user", "content": "3"}],
    )
    assert status == 200
    session = (await asker.ask("GET", "/apps/one/sessions?userId=u")).json()["sessions"][0]["id"]
    assert await outputs(asker, session=session) == ["1 started, got 3"]


async def test_a_tool_result_of_a_chat_completion_answers_a_question_for_text(
    asker: Served,
) -> None:
    messages: list[Any] = [{"role": "user", "content": "word"}]
    _, first = await _complete(asker, messages)
    told = first["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": told["tool_calls"][0]["id"], "content": "12"}
    status, _ = await _complete(asker, [*messages, told, result])
    assert status == 200
    session = (await asker.ask("GET", "/apps/one/sessions?userId=u")).json()["sessions"][0]["id"]
    assert await outputs(asker, session=session) == ["1 started, got '12'"]


async def test_a_streamed_chat_completion_tells_the_question_in_words(asker: Served) -> None:
    body = {
        "model": "one",
        "user": "u",
        "stream": True,
        "messages": [{"role": "user", "content": "allow"}],
    }
    answer = await asker.ask("POST", "/v1/chat/completions", body)
    chunks = [json.loads(line[6:]) for line in answer.text.splitlines() if line[6:7] == "{"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(one.get("content") or "" for one in deltas) == "What about allow?"


async def test_words_where_several_questions_are_open_are_refused(asker: Served) -> None:
    messages: list[Any] = [{"role": "user", "content": "open"}]
    _, first = await _complete(asker, messages, "two")
    told = first["choices"][0]["message"]
    status, body = await _complete(
        asker, [*messages, told, {"role": "user", "content": "yes"}], "two"
    )
    assert status == 400
    assert "Several questions are open" in body["error"]["message"]
    assert "And this?" in body["error"]["message"]


async def test_words_in_a_response_answer_the_open_question(asker: Served) -> None:
    body = {"model": "one", "user": "u", "input": "allow"}
    first = (await asker.ask("POST", "/v1/responses", body)).json()
    assert first["output"][0]["content"][0]["text"] == "What about allow?"
    body = {
        "model": "one",
        "input": "yes",
        "instructions": "Be brief.",
        "previous_response_id": first["id"],
    }
    second = await asker.ask("POST", "/v1/responses", body)
    assert second.status_code == 200, second.text
    session = (await asker.ask("GET", "/apps/one/sessions?userId=u")).json()["sessions"][0]["id"]
    assert await outputs(asker, session=session) == ["1 started, got True"]


def _thread(*messages: tuple[str, str], **more: Any) -> dict[str, Any]:
    told = [{"id": str(n), "role": r, "content": text} for n, (r, text) in enumerate(messages)]
    return {"threadId": "t", "runId": "r", "messages": told, **more}


async def test_words_in_a_thread_of_agui_answer_the_open_question(asker: Served) -> None:
    answer = await asker.ask("POST", "/apps/one/agui", _thread(("user", "trip")))
    *_, last = [json.loads(line[6:]) for line in answer.text.splitlines() if line[:6] == "data: "]
    (interrupt,) = last["outcome"]["interrupts"]
    assert interrupt["message"] == "What about trip?"
    assert set(interrupt["responseSchema"]["properties"]) == {"city", "nights"}
    thread = _thread(
        ("user", "trip"),
        ("assistant", "What about trip?"),
        ("user", '{"city": "Oslo", "nights": 1}'),
        context=[{"description": "mood", "value": "good"}],
    )
    await asker.ask("POST", "/apps/one/agui", thread)
    found = await outputs(asker, user="agui", session="t")
    assert found == ["1 started, got {'city': 'Oslo', 'nights': 1}"]


async def test_a_message_over_the_servers_own_api_is_a_message_as_with_the_runner(
    asker: Served,
) -> None:
    await asked(asker, "allow")
    await asked(asker, "word")
    found = (await asker.ask("GET", "/apps/one/approvals")).json()["approvals"]
    assert {one["callId"] for one in found} == {"ask-1", "ask-2"}, "both graphs run and wait"


async def test_words_answer_the_question_of_an_a2a_task(asker: Served) -> None:
    async def send(words: str, **more: Any) -> Any:
        message = {"messageId": words, "role": "ROLE_USER", "parts": [{"text": words}], **more}
        headers = {"A2A-Version": "1.0"}
        path = "/a2a/one/message:send"
        answer = await asker.ask("POST", path, {"message": message}, headers=headers)
        return answer.status_code, answer.json()

    _, first = await send("allow")
    task = first["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert task["status"]["message"]["parts"][0]["text"] == "What about allow?"
    status, refused = await send("perhaps", taskId=task["id"])
    assert status == 400
    assert "not of type boolean" in str(refused)
    _, last = await send("yes", taskId=task["id"])
    assert {"result": True} == last["task"]["history"][-1]["parts"][0]["data"]["response"]


@pytest.mark.long
async def test_words_answer_the_question_of_an_mcp_tool(
    settings: ServerSettings, flows: Path
) -> None:
    async with listening(replace(settings, agents=flows)) as live:
        async with Client(f"{live.client.base_url}/mcp") as client:
            first: Any = await client.call_tool("one", {"message": "number"})
            assert "What about number?" in first.content[0].text
            session = first.structured_content["session"]
            refused = await client.call_tool("one", {"message": "many", "session": session})
            assert refused.is_error
            await client.call_tool("one", {"message": "3", "session": session})
        found = await outputs(live, user="mcp", session=session)
    assert found == ["1 started, got 3"]
