"""a2a-sdk's client against our server, over both bindings: invocations are tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from tests.unit.server.conftest import Served
from tests.unit.server.facades.a2a.conftest import Peer
from tests.unit.server.gate import Gate

pytestmark = pytest.mark.long


def texts(task: Any) -> list[str]:
    """Return the answers of a task."""
    found = ["".join(part["text"] for part in one["parts"]) for one in task.get("artifacts", [])]
    return found


async def test_the_card(desk: Served) -> None:
    card = (await desk.client.get("/a2a/desk/.well-known/agent-card.json")).json()
    assert (card["name"], card["description"]) == ("desk", "Follows rules.")
    base = f"{desk.client.base_url}/a2a/desk"
    assert [one["url"] for one in card["supportedInterfaces"]] == [base, base]
    assert card["skills"][0]["id"] == "desk"
    assert (await desk.client.get("/a2a/no/.well-known/agent-card.json")).status_code == 404


async def test_a_message_is_a_task(peer: Peer) -> None:
    task = await peer.task("hi", contextId="c")
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["contextId"] == "c"
    assert texts(task) == ["You said hi"]
    assert task["history"][0]["parts"] == [{"text": "hi"}]
    stored = await peer.plain.get_task(GetTaskRequest(id=task["id"]))
    assert MessageToDict(stored) == task
    short = await peer.plain.get_task(GetTaskRequest(id=task["id"], history_length=0))
    assert not short.history


async def test_a_context_is_a_session(peer: Peer, desk: Served) -> None:
    first = await peer.task("one", contextId="c")
    second = await peer.task("two", contextId="c")
    other = await peer.task("three")
    assert other["contextId"] != "c"
    listed = await peer.plain.list_tasks(ListTasksRequest(context_id="c"))
    assert [one.id for one in listed.tasks] == [second["id"], first["id"]]
    session = await desk.ask("GET", "/apps/desk/users/A2A_USER_c/sessions/c")
    assert len(session.json()["events"]) == 4
    assert not listed.next_page_token and not any(one.artifacts for one in listed.tasks)


async def pages(peer: Peer, **query: Any) -> list[list[str]]:
    """Return the ids on each page of a list."""
    found: list[list[str]] = []
    token = ""
    while True:
        page = await peer.plain.list_tasks(ListTasksRequest(page_token=token, **query))
        found.append([one.id for one in page.tasks])
        token = page.next_page_token
        if not token:
            return found


async def test_the_store_is_asked_for_pages_of_sessions(
    peer: Peer, desk: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.server.place._PAGE", 2)
    for number in range(3):
        await desk.ask("POST", f"/apps/desk/users/ann/sessions/s{number}", {})  # no contexts
    tasks = [(await peer.task("hi", contextId=f"c{number}"))["id"] for number in range(4)]
    for number in range(3, 6):
        await desk.ask("POST", f"/apps/desk/users/ann/sessions/s{number}", {})
    service, asked = desk.host.services.sessions, list[Any]()
    lists = service.list_sessions

    async def watched(**query: Any) -> Any:
        found = await lists(**query)
        asked.append((query.get("page_size"), len(found.sessions)))
        return found

    monkeypatch.setattr(service, "list_sessions", watched)
    assert await pages(peer, page_size=2) == [tasks[:1:-1], tasks[1::-1]]
    assert {size for size, _ in asked} == {2} and len(asked) <= 8
    monkeypatch.setattr("ostinato.server.a2a.task_list._SCAN", 2)
    found = await pages(peer, page_size=3)
    assert [one for page in found for one in page] == tasks[::-1]
    assert len(found) == 5


async def test_all_contexts_are_listed_page_by_page(peer: Peer, desk: Served) -> None:
    a1 = (await peer.task("one", contextId="a"))["id"]
    pay = (await peer.task("pay", contextId="b"))["id"]
    a2 = (await peer.task("two", contextId="a"))["id"]
    await desk.ask("POST", "/apps/desk/users/ann/sessions/s", {})  # no context
    assert await pages(peer) == [[a2, a1, pay]]
    assert await pages(peer, page_size=2) == [[a2, a1], [pay]]
    assert await pages(peer, page_size=1) == [[a2], [a1], [pay]]
    assert await pages(peer, context_id="a", page_size=1) == [[a2], [a1]]
    assert await pages(peer, status=TaskState.TASK_STATE_INPUT_REQUIRED) == [[pay]]
    assert await pages(peer, status=TaskState.TASK_STATE_WORKING) == [[]]
    done = await peer.plain.list_tasks(ListTasksRequest(include_artifacts=True, page_size=1))
    assert texts(MessageToDict(done.tasks[0]))
    later = Timestamp(seconds=done.tasks[0].status.timestamp.seconds + 60)
    assert await pages(peer, status_timestamp_after=later) == [[]]
    wrong: list[dict[str, Any]] = [
        {"page_token": "tasks_x"},
        {"page_size": 101},
        {"context_id": "a/b"},
    ]
    for bad in wrong:
        with pytest.raises(InvalidParamsError):
            await peer.plain.list_tasks(ListTasksRequest(**bad))
    with pytest.raises(TaskNotFoundError):
        await peer.plain.list_tasks(ListTasksRequest(context_id="nobody"))


async def test_a_stream(peer: Peer) -> None:
    found = await peer.send("hi", stream=True, contextId="c")
    assert found[0]["task"]["status"]["state"] == "TASK_STATE_WORKING"
    updates = [one["artifactUpdate"] for one in found[1:-1]]
    words = [part["text"] for one in updates for part in one["artifact"]["parts"]]
    assert words == ["You ", "said ", "hi ", "You said hi "]
    assert {one["artifact"]["artifactId"] for one in updates} == {"answer-1"}
    assert [one.get("append", False) for one in updates] == [False, True, True, False]
    assert updates[-1]["lastChunk"]
    last = found[-1]["statusUpdate"]
    assert last["status"]["state"] == "TASK_STATE_COMPLETED"
    assert last["taskId"] == found[0]["task"]["id"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_approval_needs_input(peer: Peer, stream: bool) -> None:
    found = await peer.send("pay", stream=stream, contextId="c")
    status = found[-1]["statusUpdate" if stream else "task"]["status"]
    task = found[0]["task"]
    assert status["state"] == "TASK_STATE_INPUT_REQUIRED"
    words, call = status["message"]["parts"]
    assert "pay" in words["text"]
    assert call["metadata"] == {"adk_type": "function_call", "adk_is_long_running": True}
    assert call["data"]["args"]["originalFunctionCall"]["args"] == {"amount": 5000, "to": "bob"}
    response = {
        "data": {
            "id": call["data"]["id"],
            "name": call["data"]["name"],
            "response": {"confirmed": True},
        },
        "metadata": {"adk_type": "function_response"},
    }
    denial = {**response, "data": {**response["data"], "response": {"confirmed": False}}}
    for two in ((response, denial), (denial, response), (response, response)):
        with pytest.raises(InvalidParamsError, match=f"{call['data']['id']}.*twice"):
            await peer.send(*two, stream=stream, taskId=task["id"], contextId="c")
    done = await peer.send(response, stream=stream, taskId=task["id"], contextId="c")
    stored = MessageToDict(await peer.plain.get_task(GetTaskRequest(id=task["id"])))
    assert done[0]["task"]["id"] == task["id"]
    assert stored["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(stored) == ["pay done"]
    with pytest.raises(UnsupportedOperationError):
        await peer.task("yes", taskId=task["id"])
    with pytest.raises(InvalidParamsError, match="answered before"):
        await peer.send(response, stream=stream, taskId=task["id"], contextId="c")
    response["data"]["id"] = "unknown"
    with pytest.raises(InvalidParamsError, match="unknown"):
        await peer.send(response, stream=stream, taskId=task["id"], contextId="c")


async def test_of_approvals_at_once_one_counts(peer: Peer) -> None:
    task = await peer.task("pay", contextId="c")
    call = task["status"]["message"]["parts"][1]["data"]
    response = {
        "data": {"id": call["id"], "name": call["name"], "response": {"confirmed": True}},
        "metadata": {"adk_type": "function_response"},
    }
    found = await asyncio.gather(
        *(peer.send(response, taskId=task["id"], contextId="c") for _ in range(3)),
        return_exceptions=True,
    )
    refused = [one for one in found if isinstance(one, InvalidParamsError)]
    assert len(refused) == 2, found


async def test_an_approval_is_answered_in_words(peer: Peer) -> None:
    task = await peer.task("pay")
    with pytest.raises(InvalidParamsError, match="yes"):
        await peer.task("perhaps", taskId=task["id"])
    with pytest.raises(InvalidParamsError):
        await peer.task("yes", taskId=task["id"], contextId="other")
    done = await peer.task("No.", taskId=task["id"], contextId=task["contextId"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize(
    ("words", "state"), [("boom", "TASK_STATE_FAILED"), ("refused", "TASK_STATE_REJECTED")]
)
async def test_what_fails_is_told(peer: Peer, words: str, state: str) -> None:
    task = await peer.task(words)
    assert task["status"]["state"] == state
    assert "/" not in task["status"]["message"]["parts"][0]["text"]
    (*_, last) = await peer.send(words, stream=True)
    assert last["statusUpdate"]["status"]["state"] == state


async def test_what_cannot_be_done_is_refused(peer: Peer) -> None:
    task = await peer.task("hi")
    with pytest.raises(TaskNotFoundError):
        await peer.plain.get_task(GetTaskRequest(id="task_no"))
    with pytest.raises(TaskNotFoundError):
        await peer.task("hi", taskId="no")
    with pytest.raises(TaskNotCancelableError):
        await peer.plain.cancel_task(CancelTaskRequest(id=task["id"]))
    with pytest.raises(UnsupportedOperationError):
        [one async for one in peer.stream.subscribe(SubscribeToTaskRequest(id=task["id"]))]
    with pytest.raises(InvalidParamsError):
        await peer.task("hi", contextId="a/b")


async def rpc(served: Served, method: str, params: Any, app: str = "gated") -> Any:
    """Call a method by hand."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"A2A-Version": "1.0"}
    return (await served.client.post(f"/a2a/{app}", json=body, headers=headers)).json()


def asks(text: str, **configuration: Any) -> dict[str, Any]:
    """Return the parameters of a message."""
    message = {"messageId": "m", "contextId": "c", "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"message": message, "configuration": configuration}


async def test_a_task_that_runs_is_followed_and_cancelled(live: Served, gate: Gate) -> None:
    sending = await rpc(live, "SendMessage", asks("hi", returnImmediately=True))
    task = sending["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_WORKING"
    await gate.waiting.acquire()
    body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task["id"]}}
    async with live.client.stream(
        "POST", "/a2a/gated", json=body, headers={"A2A-Version": "1.0"}
    ) as answer:
        lines = (line async for line in answer.aiter_lines() if line.startswith("data:"))
        assert "TASK_STATE_WORKING" in await anext(lines)
        got = await rpc(live, "GetTask", {"id": task["id"]})
        assert got["result"]["status"]["state"] == "TASK_STATE_WORKING"
        cancelled = await rpc(live, "CancelTask", {"id": task["id"]})
        assert cancelled["result"]["status"]["state"] == "TASK_STATE_CANCELED"
        assert "TASK_STATE_CANCELED" in [line async for line in lines][-1]
    await asyncio.wait_for(gate.cancelled.wait(), 60)


async def test_a_client_that_vanishes_leaves_the_task(live: Served, gate: Gate) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": asks("hi")}
    async with live.client.stream(
        "POST", "/a2a/gated", json=body, headers={"A2A-Version": "1.0"}
    ) as answer:
        lines = (line async for line in answer.aiter_lines() if line.startswith("data:"))
        await anext(lines)
        await gate.waiting.acquire()
    gate.go.release()
    listed = await rpc(live, "ListTasks", {"contextId": "c"})
    task = listed["result"]["tasks"][0]
    while task["status"]["state"] == "TASK_STATE_WORKING":
        task = (await rpc(live, "GetTask", {"id": task["id"]}))["result"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "Nothing"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": 3}}', -32602),
        (b'{"a": ' * 200 + b"1" + b"}" * 200, -32700),
        (b"[]", -32600),
    ],
)
async def test_bad_calls_are_answered_in_json_rpc(desk: Served, body: bytes, code: int) -> None:
    answer = await desk.client.post(
        "/a2a/desk",
        content=body,
        headers={"content-type": "application/json", "A2A-Version": "1.0"},
    )
    assert answer.json()["error"]["code"] == code
    assert "/site-packages" not in answer.text


async def test_an_app_that_is_not_there_is_told(desk: Served) -> None:
    answer = await rpc(desk, "SendMessage", asks("hi"), "no")
    assert answer["error"]["code"] == -32600
    rest = await desk.client.get("/a2a/no/tasks/x", headers={"A2A-Version": "1.0"})
    assert rest.status_code == 404


async def test_there_are_no_push_notifications(desk: Served) -> None:
    answer = await rpc(desk, "ListTaskPushNotificationConfigs", {"taskId": "x"}, "desk")
    told = answer["error"]["code"]
    assert told == getattr(PushNotificationNotSupportedError(), "code", told)


@pytest.mark.parametrize("name", ["messageId", "taskId", "contextId"])
@pytest.mark.parametrize("value", ["x" * 100_000, "a\u200bb"], ids=["long", "zero width"])
async def test_an_id_that_a_client_makes_up_is_bounded(desk: Served, name: str, value: str) -> None:
    params = asks("hi")
    params["message"][name] = value
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    answer = await desk.client.post("/a2a/desk", json=body, headers={"A2A-Version": "1.0"})
    assert "error" in answer.json() and len(answer.content) < 1_000


async def test_a_function_call_of_a_client_is_refused_and_not_stored(desk: Served) -> None:
    params = asks("hi")
    call = {"id": "x1", "name": "pay", "args": {"amount": 1, "to": "eve"}}
    params["message"]["parts"].append({"data": call, "metadata": {"adk_type": "function_call"}})
    answer = await rpc(desk, "SendMessage", params, "desk")
    assert answer["error"]["code"] == -32602
    assert "functionCall" in answer["error"]["message"]
    assert (await desk.ask("GET", "/apps/desk/sessions")).json()["sessions"] == []
