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
from ostinato.running import setup
from ostinato.running.request import RunRequest
from ostinato.running.store_access import StoreAccess
from ostinato.running.tree_digest import tree_digest
from ostinato.running.turn import Turn
from ostinato.sessions._durable_store import Claim, JournalRow
from ostinato.sessions._resume import RERUN
from ostinato.testing import ScriptedModel
from ostinato.types import Content, FunctionCall, Part
from tests.runners.owners import PLACE, Owner
from tests.runners.owners import two_owners as two_owners


async def test_a_stop_does_not_give_back_what_could_not_be_sealed(two_owners: list[Owner]) -> None:
    """The task of a turn that nobody waits for was cancelled: it leaves its calls open, for whoever
    goes on with it. Were it released then, nobody would.
    """
    service = two_owners[0].service
    await service.create_session(**PLACE._asdict())
    store = StoreAccess(service)
    turn = Turn(store, keeper_of(service), RunRequest.internal(PLACE, RunConfig()), "")
    turn.session = await store.load(PLACE)

    async def run() -> None:
        turn.run_for_nobody()
        await turn.claim()
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(LeaseLostError, match="another process goes on with it"):
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
    inner = setup.go_on

    def stopped_then(*arguments: Any) -> None:
        inner(*arguments)
        assert talk.runner._stop(PLACE, "e-left")

    monkeypatch.setattr(setup, "go_on", stopped_then)
    await talk.runner.resume_open()
    answer = (await talk.stored())[-1]
    assert [response.id for response in answer.get_function_responses()] == ["c1"]
    assert answer.custom_metadata == {RERUN: ["c1"]}
    await talk.runner.close()
    lease = await gone.service.lease(PLACE)
    assert lease is not None and lease.owner == lease.invocation_id == ""
    assert await gone.service.journal(PLACE, "e-left") == []
