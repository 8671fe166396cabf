"""Requests whose run this server gives up: it shuts down, or its lease was lost in an outage."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.durable.lease import keeper_of
from ostinato.errors import LeaseLostError, StoreError
from ostinato.server.problems import problem_of
from tests.unit.server.conftest import Served
from tests.unit.server.gate import Gate

KEY = {"Idempotency-Key": "order-7"}
RUN: dict[str, Any] = {
    "appName": "gated",
    "userId": "ann",
    "sessionId": "s",
    "newMessage": {"role": "user", "parts": [{"text": "hi"}]},
}
CHAT: dict[str, Any] = {"model": "gated", "messages": [{"role": "user", "content": "hi"}]}
RESPONSE: dict[str, Any] = {"model": "gated", "input": "hi"}
AGUI: dict[str, Any] = {
    "threadId": "s",
    "runId": "r",
    "messages": [{"id": "1", "role": "user", "content": "hi"}],
    "tools": [],
    "forwardedProps": {"userId": "ann"},
}
ANSWERS = [("/run", RUN), ("/v1/chat/completions", CHAT), ("/v1/responses", RESPONSE)]
STREAMS = [
    ("/run_sse", {**RUN, "streaming": True}),
    ("/v1/chat/completions", {**CHAT, "stream": True}),
    ("/v1/responses", {**RESPONSE, "stream": True}),
    ("/apps/gated/agui", AGUI),
]
ROUTES = [*ANSWERS, *STREAMS]
HEADERS = pytest.mark.parametrize(
    "headers", [pytest.param({}, id="no key", marks=pytest.mark.long), pytest.param(KEY, id="key")]
)


async def lose_leases(live: Served) -> None:
    """Have the keepers find that no lease was renewed in time."""
    store: Any = live.host.services.sessions
    keeper = keeper_of(store, live.host.settings.lease_seconds)
    for (place, _), held in list(keeper._held.items()):
        keeper.drop(place, held.fence)
        held.holder.stop(LeaseLostError("The lease was not renewed before it expired."))


async def begin(live: Served, gate: Gate, path: str, body: Any, headers: Any) -> Any:
    """Return the task of a request whose model has been asked."""
    assert (await live.ask("POST", "/apps/gated/users/ann/sessions", {"sessionId": "s"})).is_success
    task = asyncio.create_task(live.ask("POST", path, body, headers=headers))
    await gate.waiting.acquire()
    return task


@HEADERS
@pytest.mark.parametrize(("path", "body"), ROUTES, ids=lambda one: str(one)[:24])
async def test_a_run_that_is_handed_over_is_asked_for_again(
    live: Served, gate: Gate, path: str, body: Any, headers: Any
) -> None:
    task = await begin(live, gate, path, body, headers)
    await live.host.drain()
    answer = await task
    assert "shutting down" in answer.text and "LeaseLost" not in answer.text
    if (path, body) in ANSWERS:
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "Draining" in answer.text
    else:
        assert answer.status_code == 200


@HEADERS
@pytest.mark.parametrize(("path", "body"), ROUTES, ids=lambda one: str(one)[:24])
async def test_a_run_whose_lease_is_lost_is_asked_for_again(
    live: Served, gate: Gate, path: str, body: Any, headers: Any
) -> None:
    task = await begin(live, gate, path, body, headers)
    await lose_leases(live)
    answer = await task
    assert "not renewed" in answer.text
    if (path, body) in ANSWERS:
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "LeaseLostError" in answer.text
    else:
        assert answer.status_code == 200
    if headers:
        gate.go.release()
        again = await live.ask("POST", path, body, headers=headers)
        assert again.status_code == 200 and "two" in again.text


def test_an_outage_tells_when_to_ask_again() -> None:
    problem = problem_of(StoreError("The store cannot be reached."))
    assert (problem.status, problem.headers) == (503, {"Retry-After": "1"})
