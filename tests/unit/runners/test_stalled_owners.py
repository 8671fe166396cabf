"""Callers who are cancelled at an odd moment, and owners that others believe dead."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.durable.inbox import Work
from ostinato.errors import LeaseLostError
from ostinato.execution.recovery import blockers as ahead
from ostinato.execution.recovery.recovery import Recovery
from ostinato.execution.store_access import StoreAccess
from ostinato.execution.turn import Turn
from ostinato.sessions.store.durable_store import InboxMessage
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import AgentTool
from tests.unit.flows.kit import SESSION, Talk
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners
from tests.unit.runners.test_busy_sessions import Gate, words
from tests.unit.runners.test_recovery import left_open


def held_back(monkeypatch: pytest.MonkeyPatch, service: Any, name: str, when: Any) -> Gate:
    """Let the first call of a store's method that `when` tells of end when the gate is opened."""
    gate, method = Gate(), getattr(service, name)

    async def act(*args: Any, **named: Any) -> Any:
        given = await method(*args, **named)
        if not gate.begun.is_set() and when(args, named):
            await gate.wait()
        return given

    monkeypatch.setattr(service, name, act)
    return gate


def is_claim(args: Any, named: Any) -> bool:
    return any(value is not None for value in (*args[4:], named.get("claim")))


async def test_who_is_cancelled_while_it_claims_gives_the_session_back(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two_owners
    talk = one.talk(["Never said.", "To mine."])
    gate = held_back(monkeypatch, one.service, "append", is_claim)
    caller = asyncio.create_task(talk.say("first"))
    await gate.begun.wait()
    caller.cancel()
    await asyncio.sleep(0)
    gate.let.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await talk.runner.close()
    lease = await one.service.lease(PLACE)
    assert lease is not None and lease.owner == lease.invocation_id == ""


async def test_a_run_is_sealed_although_it_is_cancelled_twice(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two_owners
    tool = Gate()
    talk = one.talk([call("wait")], [tool.wait])
    caller = asyncio.create_task(talk.say("first"))
    await tool.begun.wait()
    gate = held_back(monkeypatch, one.service, "append", lambda args, _: bool(args[1]))
    caller.cancel()
    await gate.begun.wait()
    caller.cancel()
    await asyncio.sleep(0)
    gate.let.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await talk.check_sound()


async def test_a_message_that_others_ran_is_not_run_again_by_its_own_caller(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process stalled for longer than it is believed alive, and goes on then."""
    one, two = two_owners
    gate = Gate()
    ours = one.talk([call("wait"), "To the first."], [gate.wait])
    first = asyncio.create_task(ours.say("first"))
    await gate.begun.wait()
    second = asyncio.create_task(ours.say("second"))
    await one.has_message()
    theirs = two.talk(["To the second."])
    stalled = held_back(monkeypatch, one.service, "open_session", lambda *_: True)
    gate.let.set()
    await first
    await stalled.begun.wait()
    with monkeypatch.context() as patch:
        patch.setattr(ahead, "is_dead", lambda process: process != "")
        await theirs.runner.resume_open()
    stalled.let.set()
    assert final_text(await second) == "To the second."
    assert words(await ours.stored()) == ["first", "To the first.", "second", "To the second."]


@pytest.mark.parametrize("ended", [True, False])
async def test_who_was_taken_over_before_it_made_an_agent_s_session_runs_no_agent_in_it(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    one, two = two_owners
    effects: list[str] = []

    def asking(owner: Owner) -> Talk:
        inner = LlmAgent(name="inner", model=ScriptedModel([call("act"), "Found."]), tools=[act])
        turns = [call("inner", request="find")] if owner is one else ["Done."]
        root = LlmAgent(name="root", model=ScriptedModel(turns), tools=[AgentTool(inner)])
        return Talk(root, owner.store)

    gate = Gate()

    async def act() -> str:
        effects.append("done")
        await gate.wait()
        return "acted"

    stalled, create = Gate(), one.service.create_session

    async def create_late(**named: Any) -> Any:
        if named.get("session_id") != SESSION:
            await stalled.wait()
        return await create(**named)

    ours, theirs = asking(one), asking(two)
    monkeypatch.setattr(one.service, "create_session", create_late)
    caller = asyncio.create_task(ours.say("first"))
    await stalled.begun.wait()
    with monkeypatch.context() as patch:
        patch.setattr(ahead, "is_dead", lambda process: process != "")
        other = asyncio.create_task(theirs.runner.resume_open())
        await gate.begun.wait()
    for let, waited in ((gate, other), (stalled, caller))[:: 1 if ended else -1]:
        let.let.set()
        if waited is caller:
            with pytest.raises(LeaseLostError):
                await caller
        else:
            await other
    assert effects == ["done"]
    assert final_text(await theirs.stored()) == "Done."


async def test_whose_callers_wait_is_not_believed_dead_by_itself(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = two_owners
    gate = Gate()
    theirs = two.talk([call("wait"), "Theirs."], [gate.wait])
    ours = one.talk(["Ours."])
    first = asyncio.create_task(theirs.say("first"))
    await gate.begun.wait()
    second = asyncio.create_task(ours.say("second"))
    await one.has_message()
    (message,) = await one.service.messages(PLACE)
    late = InboxMessage(message.invocation_id, message.owner, message.process, message.payload)

    async def messages(_: Any) -> list[InboxMessage]:
        return [late]  # nothing is left of the time for which it is believed alive

    keeper = ours.runner._contexts.keeper()
    assert keeper is not None
    gate.let.set()
    await first
    await two.service.flush()
    monkeypatch.setattr(one.service, "messages", messages)
    assert await ahead.next_blocker(StoreAccess(one.service), keeper, PLACE, None) is None
    monkeypatch.undo()
    await second


async def test_who_is_cancelled_while_its_message_is_stored_leaves_it_to_others(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two_owners
    tool = Gate()
    talk = one.talk([call("wait"), "One.", "Two."], [tool.wait])
    first = asyncio.create_task(talk.say("first"))
    await tool.begun.wait()
    gate = held_back(monkeypatch, one.service, "put_message", lambda *_: True)
    second = asyncio.create_task(talk.say("second"))
    await gate.begun.wait()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    (message,) = await one.service.messages(PLACE)
    assert message.owner == ""
    tool.let.set()
    await first
    await talk.runner.resume_open()
    assert words(await talk.stored()) == ["first", "One.", "second", "Two."]


async def test_a_key_that_was_put_into_the_inbox_again_starts_nothing(
    two_owners: list[Owner],
) -> None:
    """The process that asked once more died while its message waited."""
    one, two = two_owners
    talk = one.talk(["Once."])
    events = await talk.say("first", idempotency_key="k")
    message = types.Content(role="user", parts=[types.Part(text="first")])
    work = Work(PLACE, events[0].invocation_id, message, once=True)
    again = InboxMessage(events[0].invocation_id, "", "", work.payload())
    await one.service.put_message(PLACE, again, 0.0)
    theirs = two.talk([])
    await theirs.runner.resume_open()
    assert words(await talk.stored()) == ["first", "Once."]
    assert await two.service.messages(PLACE) == []


async def test_two_processes_never_wait_for_each_other(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that has the process's lock may have put its message behind one of another."""
    one, two = two_owners
    gate = Gate()
    theirs = two.talk([call("wait"), "Theirs.", "Theirs too."], [gate.wait])
    ours = one.talk(["A.", "B."])
    running = asyncio.create_task(theirs.say("first"))
    await gate.begun.wait()
    queue, put, waiting = Turn.queue, asyncio.Event(), asyncio.Event()

    async def late(self: Turn) -> None:
        if self.request.message and self.request.message.parts[0].text == "holder":  # type: ignore[index]
            waiting.set()
            await put.wait()
        await queue(self)

    monkeypatch.setattr(Turn, "queue", late)
    holder = asyncio.create_task(ours.say("holder"))
    await waiting.wait()
    behind = asyncio.create_task(ours.say("behind"))
    await one.has_message(1)
    other = asyncio.create_task(theirs.say("other"))
    await one.has_message(2)
    put.set()
    await one.has_message(3)
    gate.let.set()
    async with asyncio.timeout(60):
        await asyncio.gather(running, holder, behind, other)
    said = words(await ours.stored())
    assert sorted(said) == sorted(
        ["first", "Theirs.", "holder", "A.", "behind", "B.", "other", "Theirs too."]
    )


async def test_an_interrupted_claim_of_a_left_run_answers_its_calls(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = two_owners
    tool = Gate()
    ours = one.talk([call("wait")], [tool.wait])
    first = asyncio.create_task(ours.say("first"))
    await tool.begun.wait()
    theirs = two.talk(["Two."], [tool.wait])
    gate = held_back(monkeypatch, two.service, "append", is_claim)
    with monkeypatch.context() as patch:
        patch.setattr(ahead, "is_dead", lambda process: process != "")
        next_one = asyncio.create_task(theirs.say("second"))
        await gate.begun.wait()
        left = await one.service.lease(PLACE)
        assert left is not None
        names = {"user_id": "ann", "session_id": "one", "invocation_id": left.invocation_id}
        assert await theirs.runner.cancel(**names)
        await asyncio.sleep(0)
        gate.let.set()
        assert final_text(await next_one) == "Two."  # what it waited for was cancelled
    await theirs.check_sound()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)


async def test_of_two_who_find_a_message_left_only_one_runs_it(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = two_owners
    ours, theirs = one.talk(["Ours."]), two.talk(["Theirs."])
    await one.service.create_session(app_name="talk", user_id="ann", session_id="one")
    message = types.Content(role="user", parts=[types.Part(text="left")])
    left = InboxMessage("e-left", "", "", Work(PLACE, "e-left", message).payload())
    await one.service.put_message(PLACE, left, 0.0)
    gate = held_back(monkeypatch, two.service, "messages", lambda *_: True)
    late = asyncio.create_task(theirs.runner.resume_open())
    await gate.begun.wait()
    assert [found.outcome for found in await ours.runner.resume_open()] == ["finished"]
    await ours.runner.close()
    gate.let.set()
    assert [found.outcome for found in await late] == ["taken"]
    assert words(await ours.stored()) == ["left", "Ours."]


async def test_a_key_that_waits_beside_its_own_open_run_does_not_go_in_circles(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process died in the middle, and so did one that had asked with the same key since."""
    one, two = two_owners
    await left_open(one)
    message = types.Content(role="user", parts=[types.Part(text="left")])
    again = InboxMessage("e-left", "", "", Work(PLACE, "e-left", message, once=True).payload())
    await one.service.put_message(PLACE, again, 0.0)
    finished: list[Any] = []
    finish = Recovery._run_blocker

    async def counted(self: Recovery, *args: Any) -> Any:
        finished.append(args)
        assert len(finished) < 10
        return await finish(self, *args)

    monkeypatch.setattr(Recovery, "_run_blocker", counted)
    talk = two.talk(["Done."])
    await talk.runner.resume_open()
    assert words(await talk.stored()) == ["left", "Done."]
    assert await two.service.messages(PLACE) == []
    assert len(finished) == 2
