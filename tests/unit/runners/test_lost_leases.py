"""A lease that was not renewed in time: its run writes nothing more, and the next owner resumes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.durable import lease as lease_module
from ostinato.durable.lease import keeper_of
from ostinato.errors import LeaseLostError, RunCancelledError
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.sessions.store.durable_store import Fence, Lease
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool
from tests.approvals.kit import decide, requests
from tests.unit.flows.kit import Talk
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners
from tests.unit.runners.test_busy_sessions import Gate, words

WHO: dict[str, Any] = {"user_id": PLACE.user_id, "session_id": PLACE.session_id}


def lose_lease(owner: Owner) -> None:
    """Have the keeper find that the leases of an owner were not renewed in time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lease_module, "_now", lambda: time.monotonic() + 1000)
        keeper_of(owner.service)._stop_expired()


class Once:
    """Waits in its first call only; `runs` counts all."""

    def __init__(self) -> None:
        self.gate, self.runs = Gate(), 0

    async def work(self) -> str:
        """Work."""
        self.runs += 1
        if self.runs == 1:
            await self.gate.wait()
        return "worked"


def worker(owner: Owner, tool: Once, *script: Any) -> Talk:
    tools: list[Any] = [FunctionTool(tool.work, in_doubt="rerun")]
    return Talk(LlmAgent(name="root", model=ScriptedModel(list(script)), tools=tools), owner.store)


async def results(talk: Talk) -> list[Any]:
    return [one.response for e in await talk.stored() for one in e.get_function_responses()]


@pytest.mark.parametrize("next_owner", [0, 1], ids=["same process", "other process"])
async def test_a_tool_is_run_again_by_its_policy(two_owners: list[Owner], next_owner: int) -> None:
    tool = Once()
    talk = worker(two_owners[0], tool, call("work"), "Never.")
    caller = asyncio.create_task(talk.say("first"))
    await tool.gate.begun.wait()
    before = await talk.stored()
    lose_lease(two_owners[0])
    with pytest.raises(LeaseLostError):
        await caller
    assert [e.id for e in await talk.stored()] == [e.id for e in before]
    lease = await talk.store.service.lease(PLACE)
    assert lease is not None and lease.invocation_id == before[0].invocation_id
    if next_owner:  # the lease has expired
        await talk.store.service.renew([(PLACE, fence_of(lease))], -1.0)
    later = worker(two_owners[next_owner], tool, "Done.", "To the next.")
    await later.say("next")
    assert await results(later) == [{"result": "worked"}]
    assert tool.runs == 2
    assert words(await later.stored())[-3:] == ["Done.", "next", "To the next."]


def fence_of(lease: Lease) -> Fence:
    return Fence(lease.owner, lease.token)


class Losing(BasePlugin):
    """Loses the lease before a tool begins, or while a message is read, once."""

    def __init__(self, owner: Owner, where: str) -> None:
        super().__init__(name="losing")
        self._owner, self._where, self.lost = owner, where, False

    async def _lose(self, where: str) -> None:
        if where == self._where and not self.lost:
            self.lost = True
            lose_lease(self._owner)
            await asyncio.sleep(1)

    async def on_user_message_callback(self, **_: Any) -> None:
        await self._lose("message")

    async def before_run_callback(self, **_: Any) -> None:
        await self._lose("run")


async def test_an_approved_call_that_had_not_begun_runs_once(two_owners: list[Owner]) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def talk_of(*script: Any) -> Talk:
        tools: list[Any] = [FunctionTool(pay, require_confirmation=True)]
        root = LlmAgent(name="root", model=ScriptedModel(list(script)), tools=tools)
        return Talk(App(name="talk", root_agent=root), two_owners[0].store)

    talk = talk_of([call("pay", amount=1), call("pay", amount=2)], "Done.", "To the next.")
    asked = requests(await talk.say("first"))
    losing = Losing(two_owners[0], "run")
    talk.runner.plugin_manager.register_plugin(losing)
    message = decide(asked[0])
    message.parts = [*(message.parts or ()), *(decide(asked[1]).parts or ())]
    with pytest.raises(LeaseLostError):
        await talk.say(message)
    assert paid == []
    await talk.say("next")
    assert sorted(paid) == [1, 2]
    given = [one for one in await results(talk) if one == {"result": "paid"}]
    assert len(given) == 2


@pytest.mark.parametrize("cancelled", [pytest.param("before", marks=pytest.mark.long), "after"])
async def test_a_cancelled_run_stays_cancelled(two_owners: list[Owner], cancelled: str) -> None:
    """The caller cancels at the moment in which the lease is lost."""
    tool = Once()
    talk = worker(two_owners[0], tool, call("work"), "Never.", "Never.")
    caller = asyncio.create_task(talk.say("first"))
    await tool.gate.begun.wait()
    before = await talk.stored()
    if cancelled == "after":
        lose_lease(two_owners[0])
    assert await talk.runner.cancel(**WHO)
    if cancelled == "before":
        lose_lease(two_owners[0])
    with pytest.raises(RunCancelledError if cancelled == "before" else LeaseLostError):
        await caller
    assert [e.id for e in await talk.stored()] == [e.id for e in before]
    while cancelled == "before":
        if any(each.cancelled for each in await renewed(talk)):
            break
        await asyncio.sleep(0.01)
    later = worker(two_owners[0], tool, "To the next.")
    await later.say("next")
    assert tool.runs == 1
    assert "cancelled" in str((await results(later))[0])
    assert words(await later.stored())[-2:] == ["next", "To the next."]


async def renewed(talk: Talk) -> Any:
    lease = await talk.store.service.lease(PLACE)
    assert lease is not None
    return await talk.store.service.renew([(PLACE, fence_of(lease))], 30.0)


async def test_an_accepted_message_whose_hooks_ran_is_not_dropped(two_owners: list[Owner]) -> None:
    talk = two_owners[0].talk(["Done.", "To the next."])
    losing = Losing(two_owners[0], "message")
    talk.runner.plugin_manager.register_plugin(losing)
    with pytest.raises(LeaseLostError):
        await talk.say("first", idempotency_key="k")
    assert len(await talk.store.service.messages(PLACE)) == 1
    await talk.say("next")
    assert words(await talk.stored()) == ["first", "Done.", "next", "To the next."]
    assert await talk.store.service.messages(PLACE) == []
