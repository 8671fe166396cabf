"""Answers under one idempotency key at two processes: one run, and the call stays closed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import RunCancelledError
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Place
from ostinato.testing import call
from tests.approvals.kit import Desk, decide, make_hold


async def test_an_answer_under_one_key_at_two_processes_stays_answered(tmp_path: Path) -> None:
    """Two stores on one file stand for two processes."""
    path = str(tmp_path / "sessions.db")
    desk = Desk(SqliteSessionService(path))
    request = await desk.ask()
    other = Desk(SqliteSessionService(path), "Done.")
    other.paid = desk.paid
    await asyncio.gather(
        *(one.outcome(decide(request), idempotency_key="k") for one in (desk, other))
    )
    assert desk.paid == [5]
    assert (await desk.service.open_requests("desk")).requests == []


async def test_a_duplicate_that_is_withdrawn_leaves_the_queued_answer(tmp_path: Path) -> None:
    """A client that repeats a queued answer at another process, and leaves, cancels its own copy
    only."""
    hold, entered, gate = make_hold()
    path = str(tmp_path / "sessions.db")
    desk = Desk(
        SqliteSessionService(path), call("pay", amount=5), call("hold"), "Held.", "Done.", tools=[]
    )
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    options: dict[str, Any] = {
        "user_id": "ann",
        "session_id": "one",
        "new_message": decide(request),
        "idempotency_key": "k",
    }
    first = desk.runner.start(**options)
    await first.wait_until_accepted()
    other = Desk(SqliteSessionService(path), "Done.")
    repeated = other.runner.start(**options)
    await repeated.wait_until_accepted()
    await repeated.cancel()
    with pytest.raises(RunCancelledError):
        await repeated.result()
    assert (await desk.service.open_requests("desk")).requests == []
    gate.set()
    await busy
    await first.result()
    assert desk.paid == [5]


async def test_a_withdrawn_duplicate_opens_no_call_whose_answer_is_stored(store: Any) -> None:
    desk = Desk(store)
    request = await desk.ask()
    events = await desk.say(decide(request), idempotency_key="k")
    await store.release_answers(Place("desk", "ann", "one"), events[0].invocation_id)
    assert (await store.open_requests("desk")).requests == []


@pytest.mark.parametrize("leaving", ["first", "repeated"])
async def test_a_caller_that_leaves_takes_no_answer_from_another_under_its_key(
    store: Any, leaving: str
) -> None:
    hold, entered, gate = make_hold()
    desk = Desk(store, call("pay", amount=5), call("hold"), "Held.", "Done.", tools=[])
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    busy = asyncio.create_task(desk.say("Hold."))
    await entered.wait()
    options: dict[str, Any] = {
        "user_id": "ann",
        "session_id": "one",
        "new_message": decide(request),
        "idempotency_key": "k",
    }
    runs = {"first": desk.runner.start(**options)}
    await runs["first"].wait_until_accepted()
    runs["repeated"] = desk.runner.start(**options)
    await runs["repeated"].wait_until_accepted()
    gone = runs.pop(leaving)
    cancelling = asyncio.create_task(gone.cancel())
    for _ in range(5):
        await asyncio.sleep(0)
    assert (await store.open_requests("desk")).requests == []
    gate.set()
    await busy
    for run in runs.values():
        await run.result()
    assert await cancelling is (leaving == "repeated")
    assert desk.paid == [5]
    if leaving == "repeated":
        with pytest.raises(RunCancelledError):
            await gone.result()
