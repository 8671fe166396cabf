"""`events/stream?until=idle` where another process drives the run: it ends with the run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostinato.server.settings import ServerSettings
from ostinato.sessions.store.durable_store import InboxMessage, Place
from tests.unit.server.conftest import Reader, Serve, listening
from tests.unit.server.gate import Gate

pytestmark = pytest.mark.long  # each waits for about a second

SESSIONS = "/apps/gated/users/ann/sessions"
STREAM = f"{SESSIONS}/s/events/stream?until=idle"
PLACE = Place("gated", "ann", "s")


def say(text: str) -> dict[str, Any]:
    message = {"role": "user", "parts": [{"text": text}]}
    return {"appName": "gated", "userId": "ann", "sessionId": "s", "newMessage": message}


async def test_a_stream_ends_with_the_run_of_another_server(
    serve: Serve, settings: ServerSettings, folder: Path, gate: Gate
) -> None:
    settings = replace(settings, agents=folder)
    async with serve(agents=folder) as driving, listening(settings) as other:
        await driving.ask("POST", SESSIONS, {"sessionId": "s"})
        run = asyncio.create_task(driving.ask("POST", "/run", say("go")))
        await gate.waiting.acquire()
        async with other.client.stream("GET", STREAM) as answer:
            reader = Reader(answer)
            assert (await reader.frame())["id"] == "1"  # a stream that ends here ends too soon
            gate.go.release()
            rest = await reader.rest()
        assert (await run).status_code == 200
        assert [one.get("id") for one in rest] == ["2", None]
        assert rest[-1] == {"event": "end", "data": '{"newest": 2}'}


async def test_a_stream_waits_for_what_another_server_has_in_the_inbox(
    serve: Serve, settings: ServerSettings, folder: Path, gate: Gate
) -> None:
    settings = replace(settings, agents=folder)
    async with serve(agents=folder) as driving, listening(settings) as other:
        await driving.ask("POST", SESSIONS, {"sessionId": "s"})
        asking = [
            asyncio.create_task(driving.ask("POST", "/run", say(text))) for text in ("one", "two")
        ]
        await gate.waiting.acquire()
        async with other.client.stream("GET", STREAM) as answer:
            reader = Reader(answer)
            assert (await reader.frame())["id"] == "1"
            for _ in asking:
                gate.go.release()
            rest = await reader.rest()
        assert [(await one).status_code for one in asking] == [200, 200]
        assert [one.get("id") for one in rest] == ["2", "3", "4", None]


async def test_a_stream_does_not_wait_for_ever_for_abandoned_work(
    serve: Serve, folder: Path
) -> None:
    async with serve(agents=folder, lease_seconds=0.1) as server:
        await server.ask("POST", SESSIONS, {"sessionId": "s"})
        await server.host.background.stop()  # so that no process takes the message
        durable: Any = server.host.services.sessions
        await durable.put_message(PLACE, InboxMessage("e-1", "", "", "{}"), 0.0)
        answer = await server.ask("GET", STREAM)
        frames = await Reader(answer).rest()
        assert frames == [{"event": "end", "data": '{"newest": 0, "complete": false}'}]
