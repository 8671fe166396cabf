"""AG-UI's own parser reads our events; its records are what is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import Event, EventType, RunAgentInput
from pydantic import TypeAdapter

from tests.unit.server.conftest import Reader, Serve, Served
from tests.unit.server.gate import Gate

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
PATH = "/apps/desk/agui"


def asks(*words: str, thread: str = "t", **more: Any) -> dict[str, Any]:
    """Return a request to run, as the protocol's package writes it."""
    messages = [
        {"id": str(n), "role": "assistant" if n % 2 else "user", "content": text}
        for n, text in enumerate(words)
    ]
    body = {"threadId": thread, "runId": "r", "messages": messages, **more}
    return RunAgentInput.model_validate(body).model_dump(by_alias=True, mode="json")


async def told(served: Served, body: Any) -> list[Any]:
    """Return the events of a run, read by the protocol's package."""
    async with served.client.stream("POST", PATH, json=body) as answer:
        assert answer.status_code == 200, await answer.aread()
        frames = await Reader(answer).rest()
    return [EVENT.validate_json(one["data"]) for one in frames]


def kinds(events: list[Any]) -> list[str]:
    """Return the types of events."""
    return [one.type.value for one in events]


def one_of(events: list[Any], kind: EventType) -> Any:
    """Return the only event of a type."""
    (found,) = [one for one in events if one.type == kind]
    return found


async def test_a_message(served: Served) -> None:
    events = await told(served, asks("hi", parentRunId="p"))
    assert kinds(events) == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        *["TEXT_MESSAGE_CONTENT"] * 3,
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ]
    assert (events[0].thread_id, events[0].run_id, events[0].parent_run_id) == ("t", "r", "p")
    assert events[0].protocol_version == "1.0"
    assert "".join(one.delta for one in events if hasattr(one, "delta")) == "You said hi "
    assert events[-1].outcome.type == "success"
    assert events[-1].usage[0].total_tokens == 5


async def test_tools_and_state(served: Served) -> None:
    events = await told(served, asks("note", state={"a/b": 1}))
    assert one_of(events, EventType.STATE_SNAPSHOT).snapshot == {"a/b": 1}
    start = one_of(events, EventType.TOOL_CALL_START)
    assert start.tool_call_name == "note"
    assert one_of(events, EventType.TOOL_CALL_ARGS).delta == '{"text": "milk"}'
    result = one_of(events, EventType.TOOL_CALL_RESULT)
    assert (result.tool_call_id, result.content) == (start.tool_call_id, '{"version": 0}')
    (patch,) = one_of(events, EventType.STATE_DELTA).delta
    assert (patch.op, patch.path, patch.value) == ("add", "/noted", True)
    session = (await served.ask("GET", "/apps/desk/users/agui/sessions/t")).json()
    assert session["state"] == {"a/b": 1, "noted": True}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"status": "resolved", "payload": {"approved": True}}, '{"paid": 5000, "to": "bob"}'),
        (
            {"status": "resolved", "payload": {"approved": True, "editedArgs": {"amount": 1}}},
            '{"paid": 1, "to": "bob"}',
        ),
        ({"status": "resolved", "payload": {"approved": False}}, None),
        ({"status": "cancelled"}, None),
    ],
)
async def test_an_approval_is_an_interrupt(
    served: Served, answer: dict[str, Any], text: str | None
) -> None:
    events = await told(served, asks("pay"))
    outcome = events[-1].outcome
    assert outcome.type == "interrupt"
    (interrupt,) = outcome.interrupts
    assert interrupt.reason == "tool_call"
    assert interrupt.tool_call_id == one_of(events, EventType.TOOL_CALL_START).tool_call_id
    assert interrupt.metadata["args"] == {"amount": 5000, "to": "bob"}
    assert interrupt.response_schema["required"] == ["approved"]
    if "editedArgs" in answer.get("payload", {}):
        answer["payload"]["editedArgs"]["to"] = "bob"
    body = asks("pay", "", resume=[{"interruptId": interrupt.id, **answer}])
    events = await told(served, body)
    result = one_of(events, EventType.TOOL_CALL_RESULT)
    if text is not None:
        assert result.content == text
    else:
        assert "paid" not in result.content
    assert events[-1].outcome.type == "success"
    refused = await served.ask("POST", PATH, body)
    assert refused.status_code == 409
    assert refused.json()["error"]["callId"] == interrupt.id


@pytest.mark.parametrize("second", ["message", "resume"])
@pytest.mark.parametrize("decisions", [(False, True), (True, False), (True, True)])
async def test_two_answers_to_one_interrupt_are_refused(
    served: Served, second: str, decisions: tuple[bool, bool]
) -> None:
    interrupt = (await told(served, asks("pay")))[-1].outcome.interrupts[0]
    answers = [
        {"interruptId": interrupt.id, "status": "resolved", "payload": one} for one in decisions
    ]
    body = asks("pay", "", resume=answers)
    if second == "message":
        words = f'{{"confirmed": {str(decisions[0]).lower()}}}'
        message = {"id": "9", "role": "tool", "toolCallId": interrupt.id, "content": words}
        body = asks("pay", "", resume=answers[1:])
        body["messages"].append(message)
    refused = await served.ask("POST", PATH, body)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "InvalidAnswerError")
    message = refused.json()["error"]["message"]
    assert interrupt.id in message and "pay" in message and "twice" in message
    done = await told(served, asks("pay", "", resume=answers[:1]))
    assert ("paid" in str(done)) == decisions[0]


@pytest.mark.parametrize(
    "payload",
    [
        {"approved": False, "confirmed": True},
        {"approved": True, "editedArgs": {"amount": 1}, "args": {"amount": 2}},
    ],
)
async def test_a_contradictory_answer_to_an_interrupt_is_refused(
    served: Served, payload: dict[str, Any]
) -> None:
    interrupt = (await told(served, asks("pay")))[-1].outcome.interrupts[0]
    answer = {"interruptId": interrupt.id, "status": "resolved", "payload": payload}
    refused = await served.ask("POST", PATH, asks("pay", "", resume=[answer]))
    assert refused.status_code == 400
    assert interrupt.id in refused.json()["error"]["message"]


async def test_a_thread_goes_on_and_is_told(served: Served) -> None:
    await told(served, asks("one"))
    await told(served, asks("one", "You said one", "two"))
    events = await told(served, asks("one", "You said one", "two", "You said two"))
    assert kinds(events) == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [(one.role, one.content) for one in events[2].messages] == [
        ("user", "one"),
        ("assistant", "You said one"),
        ("user", "two"),
        ("assistant", "You said two"),
    ]


async def test_a_thread_that_is_no_session_yet_keeps_its_past(served: Served) -> None:
    await told(served, asks("a", "b", "c", forwardedProps={"userId": "ann"}))
    session = (await served.ask("GET", "/apps/desk/users/ann/sessions/t")).json()
    texts = [one["content"]["parts"][0]["text"] for one in session["events"]]
    assert texts == ["a", "b", "c", "You said c"]


async def test_files_and_context_go_in(served: Served) -> None:
    content = [
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
        {"type": "document", "source": {"type": "url", "value": "https://example.com/a.pdf"}},
        {"type": "text", "text": "look"},
    ]
    body = asks("x", context=[{"description": "page", "value": "basket"}])
    body["messages"] = [{"id": "1", "role": "user", "content": content}]
    await told(served, body)
    session = (await served.ask("GET", "/apps/desk/users/agui/sessions/t")).json()
    parts = session["events"][0]["content"]["parts"]
    assert parts[0] == {"text": "page: basket"}
    assert parts[1]["inlineData"]["mimeType"] == "image/png"
    assert parts[2]["fileData"]["mimeType"] == "application/pdf"
    assert parts[3] == {"text": "look"}


@pytest.mark.parametrize("words", ["boom", "refused"])
async def test_what_fails_ends_the_stream(served: Served, words: str) -> None:
    events = await told(served, asks(words))
    assert events[-1].type == EventType.RUN_ERROR
    assert "/" not in events[-1].message
    assert EventType.RUN_FINISHED not in [one.type for one in events]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"threadId": "a/b"}, 400),
        ({"threadId": 3}, 422),
        ({"messages": "hi"}, 422),
        ({"messages": [{"id": "1", "role": "king", "content": "x"}]}, 422),
        ({"resume": [{"interruptId": "x", "status": "resolved"}]}, 404),
        ({"messages": [{"id": "1", "role": "tool", "toolCallId": "x", "content": "y"}]}, 404),
        ({"forwardedProps": {"userId": ""}}, 400),
        (
            {
                "messages": [
                    {
                        "id": "1",
                        "role": "user",
                        "content": [{"type": "image", "source": {"type": "file", "value": "x"}}],
                    }
                ]
            },
            400,
        ),
    ],
)
async def test_bad_input_is_refused(served: Served, change: dict[str, Any], status: int) -> None:
    answer = await served.ask("POST", PATH, {**asks("hi"), **change})
    assert answer.status_code == status
    assert (await served.ask("POST", "/apps/no/agui", asks("hi"))).status_code == 404


async def test_a_cancelled_run_says_so(serve: Serve, folder: Any, gate: Gate) -> None:
    async with serve(agents=folder) as served:
        reading = asyncio.create_task(served.ask("POST", "/apps/gated/agui", asks("hi")))
        await gate.waiting.acquire()
        await served.ask("POST", "/apps/gated/users/agui/sessions/t/cancel")
        frames = (await reading).text.split("\n\n")
    assert EVENT.validate_json(frames[-2].removeprefix("data: ")).outcome.type == "cancelled"


async def test_a_client_that_vanishes_ends_the_run(live: Served, gate: Gate) -> None:
    async with live.client.stream("POST", "/apps/gated/agui", json=asks("hi")) as answer:
        assert answer.status_code == 200
        await gate.waiting.acquire()
    await asyncio.wait_for(gate.cancelled.wait(), 60)
