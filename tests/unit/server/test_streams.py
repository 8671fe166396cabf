"""Streams over a real socket: taken up again, left by their readers, read by two, read slowly."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from tests.unit.server.conftest import Reader, Served
from tests.unit.server.gate import Gate

BASE = "/apps/gated/users/ann/sessions"


def say(text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "parts": [{"text": text}]}
    place = {"appName": "gated", "userId": "ann", "sessionId": "s"}
    return {**place, "newMessage": message, "streaming": True, **more}


def texts(frames: list[dict[str, str]]) -> list[str]:
    events = [json.loads(one["data"]) for one in frames if one.get("event") != "end"]
    return [part["text"] for event in events for part in event["content"]["parts"]]


async def make(live: Served) -> None:
    assert (await live.ask("POST", BASE, {"sessionId": "s"})).status_code == 200


async def idle(live: Served) -> None:
    """Wait until nothing runs."""
    while len(live.host.runs):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_complete_events_carry_their_number_and_an_end_is_told(
    live: Served, gate: Gate
) -> None:
    await make(live)
    gate.go.release()
    async with live.client.stream("POST", "/run_sse", json=say("hi")) as answer:
        frames = await Reader(answer).rest()
    assert [one.get("id") for one in frames] == [None, "2", None]
    assert frames[-1] == {"event": "end", "data": ""}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    stored = (await live.ask("GET", f"{BASE}/s")).text
    assert '"number"' not in stored


async def test_a_stream_begins_after_the_last_event_id_and_goes_on_live(
    live: Served, gate: Gate
) -> None:
    await make(live)
    gate.go.release()
    async with live.client.stream("POST", "/run_sse", json=say("first")) as answer:
        await Reader(answer).rest()
    await gate.waiting.acquire()
    second = asyncio.create_task(live.ask("POST", "/run", say("second")))
    await gate.waiting.acquire()
    headers = {"Last-Event-ID": "1"}
    stream = live.client.stream("GET", f"{BASE}/s/events/stream?until=idle", headers=headers)
    async with stream as answer:
        reader = Reader(answer)
        stored = [await reader.frame() for _ in range(2)]
        assert [one["id"] for one in stored] == ["2", "3"]
        assert texts(stored) == ["one two", "second"]
        partial = await reader.frame()
        assert "id" not in partial
        assert texts([partial]) == ["one "]
        gate.go.release()
        rest = await reader.rest()
    assert rest[0]["id"] == "4"
    assert rest[-1] == {"event": "end", "data": '{"newest": 4}'}
    assert reader.marks == ["running"]
    assert (await second).status_code == 200


async def test_a_client_that_vanishes_ends_its_run_and_the_session_goes_on(
    live: Served, gate: Gate
) -> None:
    await make(live)
    async with live.client.stream("POST", "/run_sse", json=say("hi")) as answer:
        await Reader(answer).frame()
        await gate.waiting.acquire()
    await gate.cancelled.wait()
    await idle(live)
    gate.go.release()
    assert (await live.ask("POST", "/run", say("again"))).json()[-1]["content"]["parts"]


async def test_a_detached_run_outlives_its_client(live: Served, gate: Gate) -> None:
    await make(live)
    async with live.client.stream("POST", "/run_sse?detach=true", json=say("hi")) as answer:
        await Reader(answer).frame()
        await gate.waiting.acquire()
    assert (await live.ask("GET", f"{BASE}/s/run")).json()["state"] == "running"
    gate.go.release()
    await idle(live)
    events = (await live.ask("GET", f"{BASE}/s")).json()["events"]
    assert events[-1]["content"]["parts"] == [{"text": "one two"}]
    assert (await live.ask("GET", f"{BASE}/s/run")).json() == {
        "state": "idle",
        "here": False,
        "waiting": 0,
    }


async def test_two_tabs_see_one_run_and_their_messages_run_one_after_the_other(
    live: Served, gate: Gate
) -> None:
    await make(live)
    stream = live.client.stream("GET", f"{BASE}/s/events/stream")
    async with stream as answer:
        reader = Reader(answer)
        tabs = [asyncio.create_task(live.ask("POST", "/run", say(text))) for text in ("one", "two")]
        seen: list[dict[str, str]] = []
        for _ in tabs:
            await gate.waiting.acquire()
            seen += await reader.reach("running")  # before the run may end
            gate.go.release()
        answers = [await tab for tab in tabs]
        assert [one.status_code for one in answers] == [200, 200]
        numbers = [one["id"] for one in seen if "id" in one]
        while len(numbers) < 4:
            one = await reader.frame()
            numbers += [one["id"]] if "id" in one else []
    assert numbers == ["1", "2", "3", "4"]


async def test_a_reader_that_takes_nothing_is_let_go(live: Served, gate: Gate) -> None:
    await make(live)
    host, port = live.client.base_url.host, live.client.base_url.port
    reader, writer = await asyncio.open_connection(host, port, limit=1024)
    body = json.dumps(say("much")).encode()
    writer.write(
        b"POST /run_sse HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    await writer.drain()
    await gate.waiting.acquire()
    gate.go.release()
    await asyncio.wait_for(idle(live), 60)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    del reader


async def test_silence_is_filled_with_comments(live: Served, gate: Gate) -> None:
    await make(live)
    object.__setattr__(live.host.settings, "heartbeat", 0.01)
    async with live.client.stream("GET", f"{BASE}/s/events/stream") as answer:
        lines = answer.aiter_lines()
        seen: list[str] = []
        while seen.count(": heartbeat") < 2 or "event: idle" not in seen:
            seen.append(await anext(lines))
    # Comments and marks have their own empty line each, in whatever order they came.
    assert set(seen) <= {": heartbeat", "event: idle", "data: {}", ""}


async def test_a_message_with_a_key_runs_once(live: Served, gate: Gate) -> None:
    await make(live)
    headers = {"Idempotency-Key": "order-7"}
    gate.go.release()
    first = await live.ask("POST", "/run", say("hi"), headers=headers)
    again = await live.ask("POST", "/run", say("hi"), headers=headers)
    complete = [one for one in first.json() if not one.get("partial")]
    assert again.json() == complete
    assert gate.calls == 1
    events = (await live.ask("GET", f"{BASE}/s")).json()["events"]
    assert [one["author"] for one in events] == ["user", "root"]


async def test_cancel_ends_what_runs(live: Served, gate: Gate) -> None:
    await make(live)
    running = asyncio.create_task(live.ask("POST", "/run", say("hi")))
    await gate.waiting.acquire()
    assert (await live.ask("POST", f"{BASE}/s/cancel")).json() == {"cancelled": True}
    answer = await running
    assert answer.status_code == 409
    assert answer.json()["error"]["type"] == "RunCancelledError"
    assert (await live.ask("POST", f"{BASE}/s/cancel")).json() == {"cancelled": False}


async def test_a_server_that_ends_is_not_ready_and_takes_no_runs(live: Served, gate: Gate) -> None:
    await make(live)
    assert (await live.ask("GET", "/health/ready")).status_code == 200
    await live.host.drain()
    assert (await live.ask("GET", "/health/ready")).status_code == 503
    assert (await live.ask("GET", "/health")).status_code == 200
    answer = await live.ask("POST", "/run", say("hi"))
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "Draining")
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "9" * 40])
async def test_a_last_event_id_that_is_none_is_refused(live: Served, value: str) -> None:
    await make(live)
    answer = await live.client.get(f"{BASE}/s/events/stream", headers={"Last-Event-ID": value})
    assert answer.status_code == 400


async def test_events_come_in_pages_by_number(live: Served, gate: Gate) -> None:
    await make(live)
    for _ in range(2):
        gate.go.release()
        await live.ask("POST", "/run", say("hi"))

    async def numbers(query: str) -> tuple[list[int], int]:
        found = (await live.ask("GET", f"{BASE}/s/events{query}")).json()
        return [one["number"] for one in found["events"]], found["newest"]

    assert await numbers("") == ([1, 2, 3, 4], 4)
    assert await numbers("?after=1&limit=2") == ([2, 3], 4)
    assert await numbers("?before=4&limit=2") == ([2, 3], 4)
    assert await numbers("?after=99") == ([], 4)
    assert await numbers("?before=1") == ([], 4)
    answer: httpx2.Response = await live.ask("GET", f"{BASE}/s/events?after=1&before=3")
    assert answer.status_code == 400
