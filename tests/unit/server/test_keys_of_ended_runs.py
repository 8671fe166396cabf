"""Keys of runs that outlive their reader, were cancelled, failed, or began twice at once."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ostinato.server.settings import ServerSettings
from tests.unit.server.conftest import Serve, Served, listening
from tests.unit.server.gate import Gate

pytestmark = pytest.mark.service  # a server each, half a second

KEY = {"Idempotency-Key": "order-7"}
BASE = "/apps/gated/users/ann/sessions"
HI = [{"role": "user", "content": "hi"}]
RUN = {
    "appName": "gated",
    "userId": "ann",
    "sessionId": "s",
    "newMessage": {"role": "user", "parts": [{"text": "hi"}]},
    "streaming": True,
}
CHAT = {"model": "gated", "user": "ann", "messages": HI}
TALK = {**CHAT, "messages": [*HI, {"role": "assistant", "content": "one two"}, *HI]}
RESPONSE = {"model": "gated", "user": "ann", "input": "hi"}
AGUI = {
    "threadId": "s",
    "runId": "r",
    "messages": [{"id": "1", "role": "user", "content": "hi"}],
    "tools": [],
    "forwardedProps": {"userId": "ann"},
}
ROUTES: list[tuple[str, Any]] = [
    ("/run", RUN),
    ("/run_sse", RUN),
    ("/v1/chat/completions", CHAT),
    ("/v1/chat/completions", {**CHAT, "stream": True}),
    ("/v1/responses", RESPONSE),
    ("/v1/responses", {**RESPONSE, "stream": True}),
    ("/apps/gated/agui", AGUI),
]
each_route = pytest.mark.parametrize(("path", "body"), ROUTES, ids=lambda one: str(one)[:40])


@pytest.fixture
def gated(settings: ServerSettings, folder: Path) -> ServerSettings:
    """Settings of a server of `gated`."""
    return replace(settings, agents=folder, grace=0.0)


async def ask(served: Served, path: str, body: Any) -> httpx2.Response:
    """Send a request with the key."""
    return await served.ask("POST", path, body, headers=KEY)


def saying(body: Any, word: str) -> Any:
    """Return a body that says another word."""
    return json.loads(json.dumps(body).replace('"hi"', json.dumps(word)))


async def session_of(served: Served) -> str:
    """Return the path of the one session of the user."""
    (one,) = (await served.ask("GET", BASE)).json()
    return f"{BASE}/{one['id']}"


@each_route
async def test_a_run_with_a_key_outlives_its_reader(
    gated: ServerSettings, gate: Gate, path: str, body: Any
) -> None:
    async with listening(gated) as first, listening(gated) as second:
        if "run" in path:
            await first.ask("POST", BASE, {"sessionId": "s"})
        leaving = asyncio.create_task(ask(first, path, body))
        await gate.waiting.acquire()
        leaving.cancel()
        await asyncio.wait([leaving])
        retry = asyncio.create_task(ask(second, path, body))
        await asyncio.sleep(0.1)
        assert not gate.cancelled.is_set() and not retry.done()
        gate.go.release()
        followed, later = await retry, await ask(second, path, body)
    for answer in (followed, later):
        assert answer.status_code == 200 and "two" in answer.text
    assert gate.calls == 1


@each_route
async def test_the_key_of_a_cancelled_run_is_answered_alike_each_time(
    gated: ServerSettings, gate: Gate, path: str, body: Any
) -> None:
    async with listening(gated) as one, listening(gated) as two:
        if "run" in path:
            await one.ask("POST", BASE, {"sessionId": "s"})
        running = [asyncio.create_task(ask(one, path, body))]
        await gate.waiting.acquire()
        running += [asyncio.create_task(ask(each, path, body)) for each in (one, two)]
        await asyncio.sleep(0.1)
        cancelled = await one.ask("POST", f"{await session_of(one)}/cancel")
        assert cancelled.json() == {"cancelled": True}
        answers = [await each for each in running]
        answers += [await ask(one, path, body), await ask(two, path, body)]
        reused = await ask(two, path, saying(body, "ho"))
    assert len({each.status_code for each in answers}) == 1
    marks = ("RunCancelledError", '"cancelled"', "response.failed", '"error"')
    for each in answers:
        assert any(mark in each.text for mark in marks), each.text
    assert reused.status_code == 422
    assert gate.calls == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/run", {**RUN, "appName": "desk"}),
        ("/run_sse", {**RUN, "appName": "desk"}),
        ("/v1/chat/completions", {**CHAT, "model": "desk"}),
        ("/v1/responses", {**RESPONSE, "model": "desk"}),
    ],
    ids=lambda one: str(one)[:40],
)
async def test_a_failed_run_has_one_status(serve: Serve, path: str, body: Any) -> None:
    boom = saying(body, "boom")
    async with serve() as served:
        await served.ask("POST", BASE.replace("gated", "desk"), {"sessionId": "s"})
        answers = [await ask(served, path, boom) for _ in range(2)]
    async with serve() as later:
        answers.append(await ask(later, path, boom))
    assert {one.status_code for one in answers} == {200 if path == "/run_sse" else 500}
    assert all("RuntimeError" in one.text for one in answers)


@pytest.mark.parametrize(
    ("path", "body"), [*ROUTES[2:], ("/v1/chat/completions", TALK)], ids=lambda one: str(one)[:40]
)
async def test_a_key_that_two_processes_get_at_once_runs_once(
    gated: ServerSettings, gate: Gate, path: str, body: Any
) -> None:
    async with AsyncExitStack() as stack:
        both = [await stack.enter_async_context(listening(gated)) for _ in range(2)]
        barrier = asyncio.Barrier(2)
        for served in both:
            service: Any = served.host.services.sessions
            service.create_session = meet(barrier, service.create_session)
        running = [asyncio.create_task(ask(each, path, body)) for each in both]
        await gate.waiting.acquire()
        gate.go.release()
        answers = [await each for each in running]
        events = (await both[0].ask("GET", await session_of(both[0]))).json()["events"]
    for answer in answers:
        assert answer.status_code == 200 and "two" in answer.text
    assert gate.calls == 1
    assert len(events) == (4 if body is TALK else 2)


def meet(barrier: asyncio.Barrier, create: Any) -> Any:
    """Return `create_session` of a service, called when both processes are about to call it."""

    async def create_together(**place: Any) -> Any:
        await barrier.wait()
        return await create(**place)

    return create_together
