"""Turns that are stopped at an odd moment: nothing is left open that nobody goes on with."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.context.run_config import RunConfig
from ostinato.durable.lease import keeper_of
from ostinato.errors import LeaseLostError, RunCancelledError
from ostinato.events import Event
from ostinato.execution import context_factory as setup
from ostinato.execution.run_request import RunRequest
from ostinato.execution.step import Step
from ostinato.execution.store_access import StoreAccess
from ostinato.execution.tree_digest import tree_digest
from ostinato.execution.turn import Turn
from ostinato.sessions.log.resume import RERUN
from ostinato.sessions.store.durable_store import Claim, JournalRow
from ostinato.testing import ScriptedModel
from ostinato.types import Content, FunctionCall, Part
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners


async def test_a_stop_does_not_give_back_what_could_not_be_sealed(two_owners: list[Owner]) -> None:
    """The task of a turn that nobody waits for was cancelled: it leaves its calls open, for whoever
    goes on with it. Were it released then, nobody would.
    """
    service = two_owners[0].service
    await service.create_session(**PLACE._asdict())
    store = StoreAccess(service)
    runner = two_owners[0].talk([]).runner
    request = RunRequest.internal(runner._access(), PLACE, RunConfig())
    turn = Turn(store, keeper_of(service), request, "")
    turn.session = await store.load(PLACE)

    async def run() -> None:
        turn.detach_caller()
        await turn.claim()
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(LeaseLostError, match="another process resumes it"):
                await turn.commit(())
            turn.stop(RunCancelledError("The run was cancelled."))
            await turn.end(None)

    task = asyncio.create_task(run())
    while turn.fence is None:  # noqa: ASYNC110
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    lease = await service.lease(PLACE)
    assert lease is not None and lease.invocation_id and lease.left <= 0
    assert [each.place for each in await service.open_leases()] == [PLACE]


def pay() -> str:
    """Pay."""
    raise AssertionError("nothing runs again: it was stopped before")


async def test_a_run_that_is_stopped_before_its_first_step_answers_what_it_took_over(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, owner = two_owners
    session = await gone.service.create_session(**PLACE._asdict())
    asked = Content(role="model", parts=[Part(function_call=FunctionCall(id="c1", name="pay"))])
    events = [
        Event(author="user", invocation_id="e-left", content=Content(parts=[Part(text="left")])),
        Event(author="root", invocation_id="e-left", content=asked),
    ]
    row = JournalRow("e-left", "c1", "started", "pay")
    digest = tree_digest(LlmAgent(name="root", model=ScriptedModel([]), tools=[pay]))
    claim = Claim("gone", "elsewhere|boot|ns|1|1", -1.0, "e-left", digest)
    await gone.service.append(session, events, [row], claim=claim)
    talk = owner.talk(["Never said."], [pay])
    inner = setup.prepare_resume

    def stopped_then(*arguments: Any) -> None:
        inner(*arguments)
        assert talk.runner._invocations.stop(PLACE, "e-left")

    monkeypatch.setattr(setup, "prepare_resume", stopped_then)
    await talk.runner.resume_open()
    answer = (await talk.stored())[-1]
    assert [response.id for response in answer.get_function_responses()] == ["c1"]
    assert answer.custom_metadata == {RERUN: ["c1"]}
    await talk.runner.close()
    lease = await gone.service.lease(PLACE)
    assert lease is not None and lease.owner == lease.invocation_id == ""
    assert await gone.service.journal(PLACE, "e-left") == []


def test_a_loop_that_does_not_hear_of_a_stop_orphans_its_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was stopped in the middle of a step, or a callback blocks it."""
    now = [0.0]
    monkeypatch.setattr("ostinato.execution.step._now", lambda: now[0])
    deaf, hearing = asyncio.new_event_loop(), asyncio.new_event_loop()
    steps: list[Step] = []

    async def enter() -> None:
        steps.append(Step())
        steps[-1].__enter__()

    for loop in (deaf, hearing):
        loop.run_until_complete(enter())
    for step in steps:
        step.stop(RunCancelledError("Enough."))
    hearing.run_until_complete(asyncio.sleep(0))
    now[0] = 29.0
    assert [step.is_orphaned for step in steps] == [False, False]
    now[0] = 31.0
    assert [step.is_orphaned for step in steps] == [True, False]
    for loop in (deaf, hearing):
        loop.close()
