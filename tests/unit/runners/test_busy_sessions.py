"""A session that is busy: requests queue, are refused, or interrupt; no message is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.agents.run_config import RunConfig
from ostinato.errors import RunCancelledError, SessionBusyError, StoreError
from ostinato.sessions.store.durable_store import InboxMessage, Place
from ostinato.testing import ScriptedModel, call, final_text
from tests.unit.flows.kit import SESSION, USER, Store, Talk
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners

PLACE = Place("talk", USER, SESSION)
NOWHERE = "elsewhere|boot|ns|1|1"


class Gate:
    """A tool that says when it has begun, and ends when it is let."""

    def __init__(self) -> None:
        self.begun, self.let = asyncio.Event(), asyncio.Event()

    async def wait(self) -> str:
        """Wait."""
        self.begun.set()
        await self.let.wait()
        return "done"


def words(log: list[Any]) -> list[str]:
    """What users and agents said, in the order of the log."""
    return [
        part.text
        for event in log
        for part in (event.content.parts if event.content else None) or ()
        if part.text
    ]


async def test_a_second_message_waits_for_its_turn(store: Store) -> None:
    gate = Gate()
    model = ScriptedModel([call("wait"), "One.", "Two."])
    talk = Talk(LlmAgent(name="root", model=model, tools=[gate.wait]), store)
    first = asyncio.create_task(talk.say("first"))
    await gate.begun.wait()
    second = asyncio.create_task(talk.say("second"))
    await asyncio.sleep(0)
    gate.let.set()
    assert (final_text(await first), final_text(await second)) == ("One.", "Two.")
    assert words(await talk.stored()) == ["first", "One.", "second", "Two."]


async def test_reject_raises_at_once_and_stores_nothing(store: Store) -> None:
    gate = Gate()
    model = ScriptedModel([call("wait"), "One."])
    talk = Talk(LlmAgent(name="root", model=model, tools=[gate.wait]), store)
    first = asyncio.create_task(talk.say("first"))
    await gate.begun.wait()
    error = await talk.fails("second", run_config=RunConfig(on_busy="reject"))
    assert isinstance(error, SessionBusyError)
    assert SESSION in str(error) and "on_busy='queue'" in str(error)
    gate.let.set()
    await first
    assert words(await talk.stored()) == ["first", "One."]


async def test_interrupt_cancels_what_runs_and_then_runs(store: Store) -> None:
    gate = Gate()
    model = ScriptedModel([call("wait"), "Two."])
    talk = Talk(LlmAgent(name="root", model=model, tools=[gate.wait]), store)
    first = asyncio.create_task(talk.fails("first"))
    await gate.begun.wait()
    events = await talk.say("second", run_config=RunConfig(on_busy="interrupt"))
    assert final_text(events) == "Two."
    assert isinstance(await first, RunCancelledError)
    log = await talk.check_sound()
    assert words(log) == ["first", "second", "Two."]


async def test_fifty_messages_at_once_are_all_kept_in_order(store: Store) -> None:
    model = ScriptedModel([f"answer {n}" for n in range(50)])
    talk = Talk(LlmAgent(name="root", model=model), store)
    runs = [asyncio.create_task(talk.say(f"message {n}")) for n in range(50)]
    await asyncio.gather(*runs)
    said = words(await talk.stored())
    assert said[0::2] == [f"message {n}" for n in range(50)]
    assert said[1::2] == [f"answer {n}" for n in range(50)]


async def test_a_message_waits_for_a_run_of_another_process(two_owners: list[Owner]) -> None:
    one, two = two_owners
    gate = Gate()
    first = asyncio.create_task(one.talk([call("wait"), "One."], [gate.wait]).say("first"))
    await gate.begun.wait()
    waiting = two.talk(["Two."])
    second = asyncio.create_task(waiting.say("second"))
    await two.has_message()
    assert [m.owner for m in await two.service.messages(PLACE)] != [""]
    assert not second.done()
    gate.let.set()
    await first
    assert final_text(await second) == "Two."
    assert await two.service.messages(PLACE) == []
    assert words(await waiting.stored()) == ["first", "One.", "second", "Two."]


async def test_reject_sees_a_run_of_another_process(two_owners: list[Owner]) -> None:
    one, two = two_owners
    gate = Gate()
    first = asyncio.create_task(one.talk([call("wait"), "One."], [gate.wait]).say("first"))
    await gate.begun.wait()
    error = await two.talk([]).fails("second", run_config=RunConfig(on_busy="reject"))
    assert isinstance(error, SessionBusyError)
    gate.let.set()
    await first


@pytest.mark.long
async def test_interrupt_cancels_a_run_of_another_process(two_owners: list[Owner]) -> None:
    one, two = two_owners
    gate = Gate()
    first = asyncio.create_task(one.talk([call("wait")], [gate.wait]).fails("first"))
    await gate.begun.wait()
    talk = two.talk(["Two."], [gate.wait])
    events = await talk.say("second", run_config=RunConfig(on_busy="interrupt"))
    assert final_text(events) == "Two."
    assert isinstance(await first, RunCancelledError)
    assert words(await talk.check_sound()) == ["first", "second", "Two."]


@pytest.mark.long
async def test_interrupt_keeps_the_message_that_waits_for_another_process(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    gate = Gate()
    first = asyncio.create_task(one.talk([call("wait")], [gate.wait]).fails("first"))
    await gate.begun.wait()
    talk = two.talk(["Two.", "Three."], [gate.wait])
    second = asyncio.create_task(talk.say("second"))
    await two.has_message()
    third = await talk.say("third", run_config=RunConfig(on_busy="interrupt"))
    assert isinstance(await first, RunCancelledError)
    assert final_text(await second) == "Two." and final_text(third) == "Three."
    assert words(await talk.check_sound()) == ["first", "second", "Two.", "third", "Three."]


async def test_a_message_whose_caller_is_gone_is_run_by_who_comes_next(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    talk = one.talk(["For the lost one.", "For mine."])
    await talk.runner.session_service.create_session(
        app_name="talk", user_id=USER, session_id=SESSION
    )
    payload = '{"message": {"role": "user", "parts": [{"text": "lost"}]}}'
    await two.service.put_message(PLACE, InboxMessage("e-lost", "gone", NOWHERE, payload), -1.0)
    assert final_text(await talk.say("mine")) == "For mine."
    assert words(await talk.stored()) == ["lost", "For the lost one.", "mine", "For mine."]
    assert await two.service.messages(PLACE) == []


async def test_a_message_stays_when_its_caller_is_cancelled_and_goes_when_it_is_withdrawn(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    gate = Gate()
    first = asyncio.create_task(one.talk([call("wait"), "One."], [gate.wait]).say("first"))
    await gate.begun.wait()
    gone = asyncio.create_task(two.talk([]).say("gone"))
    await two.has_message()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert [m.owner for m in await two.service.messages(PLACE)] == [""]
    withdrawn = two.talk([]).runner.start(user_id=USER, session_id=SESSION, new_message="not me")
    await two.has_message(2)
    assert await withdrawn.cancel()
    with pytest.raises(RunCancelledError):
        await withdrawn.result()
    assert len(await two.service.messages(PLACE)) == 1
    gate.let.set()
    await first
    await one.service.flush()  # nobody waits for the release of a lease
    two.talk(["To the gone one."])
    assert [r.outcome for r in await two.last.runner.resume_open()] == ["finished"]
    assert words(await two.last.stored()) == ["first", "One.", "gone", "To the gone one."]


@pytest.mark.parametrize("is_same_runner", [True, False])
async def test_a_repeated_key_that_rejects_gets_the_first_answer_beside_another_run(
    store: Store, is_same_runner: bool
) -> None:
    gate, model = Gate(), ScriptedModel(["One.", call("wait"), "Two."])
    agent = LlmAgent(name="root", model=model, tools=[gate.wait])
    talk = Talk(agent, store)
    options: Any = {"run_config": RunConfig(on_busy="reject"), "idempotency_key": "k"}
    assert final_text(await talk.say("first", **options)) == "One."
    busy = asyncio.create_task(talk.say("second"))
    await gate.begun.wait()
    other = talk if is_same_runner else Talk(agent, store)
    assert final_text(await other.say("first", **options)) == "One."
    options["idempotency_key"] = "new"
    assert isinstance(await other.fails("third", **options), SessionBusyError)
    gate.let.set()
    assert final_text(await busy) == "Two."
    assert words(await talk.stored()) == ["first", "One.", "second", "Two."]


async def test_a_repeated_key_that_rejects_follows_the_run_of_another_runner(store: Store) -> None:
    """Both runners have the same service, and so the same lock on the session."""
    gate, model = Gate(), ScriptedModel([call("wait"), "One."])
    agent = LlmAgent(name="root", model=model, tools=[gate.wait])
    options: Any = {"run_config": RunConfig(on_busy="reject"), "idempotency_key": "k"}
    talk, other = Talk(agent, store), Talk(agent, store)
    first = asyncio.create_task(talk.say("first", **options))
    await gate.begun.wait()
    again = asyncio.create_task(other.say("first", **options))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not again.done()
    gate.let.set()
    assert final_text(await first) == final_text(await again) == "One."
    assert words(await talk.stored()) == ["first", "One."]


async def test_a_repeated_key_that_rejects_waits_for_its_queued_message(store: Store) -> None:
    gate, model = Gate(), ScriptedModel([call("wait"), "One.", "Two."])
    agent = LlmAgent(name="root", model=model, tools=[gate.wait])
    talk, other = Talk(agent, store), Talk(agent, store)
    first = asyncio.create_task(talk.say("first"))
    await gate.begun.wait()
    queued = asyncio.create_task(talk.say("second", idempotency_key="k"))
    for _ in range(20):
        await asyncio.sleep(0)
    options: Any = {"run_config": RunConfig(on_busy="reject"), "idempotency_key": "k"}
    again = [asyncio.create_task(each.say("second", **options)) for each in (talk, other)]
    for _ in range(20):
        await asyncio.sleep(0)
    gate.let.set()
    assert final_text(await first) == "One."
    assert [final_text(await each) for each in (queued, *again)] == ["Two."] * 3
    assert words(await talk.stored()) == ["first", "One.", "second", "Two."]


async def test_a_repeated_key_that_rejects_waits_for_the_message_of_another_process(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    gate = Gate()
    talk = one.talk([call("wait"), "One.", "Two."], [gate.wait])
    first = asyncio.create_task(talk.say("first"))
    await gate.begun.wait()
    queued = asyncio.create_task(talk.say("second", idempotency_key="k"))
    await one.has_message()
    options: Any = {"run_config": RunConfig(on_busy="reject"), "idempotency_key": "k"}
    # Either process may run it.
    again = asyncio.create_task(two.talk(["Two."]).say("second", **options))
    for _ in range(50):
        await two.service.messages(PLACE)  # lets the other process look
    assert not again.done()
    gate.let.set()
    assert final_text(await first) == "One."
    assert final_text(await queued) == final_text(await again) == "Two."
    assert words(await talk.stored()) == ["first", "One.", "second", "Two."]


@pytest.mark.parametrize("reads", [1, 2, 3])
async def test_a_repeated_key_that_rejects_is_answered_if_its_run_just_ended(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    one, two = two_owners
    gate = Gate()
    talk = one.talk([call("wait"), "One.", "Two."], [gate.wait])
    first = asyncio.create_task(talk.say("first"))
    await gate.begun.wait()
    queued = asyncio.create_task(talk.say("second", idempotency_key="k"))
    await one.has_message()
    read, left = two.service.lease, reads

    async def read_before_all_ended(place: Any) -> Any:
        nonlocal left
        lease, left = await read(place), left - 1
        if left == 0:
            gate.let.set()
            await asyncio.wait([first, queued])
        return lease

    monkeypatch.setattr(two.service, "lease", read_before_all_ended)
    again = two.talk([]).say("second", run_config=RunConfig(on_busy="reject"), idempotency_key="k")
    assert final_text(await again) == "Two."
    assert final_text(await queued) == "Two."


async def test_a_message_whose_caller_loses_the_store_is_kept(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was accepted: its run could not continue here, and the session's next owner runs it."""
    one, two = two_owners
    gate = Gate()
    first = asyncio.create_task(one.talk([call("wait"), "One."], [gate.wait]).say("first"))
    await gate.begun.wait()
    talk = two.talk([])
    run = talk.runner.start(user_id=USER, session_id=SESSION, new_message="second")
    await run.wait_until_accepted()

    async def fail(*args: Any, **named: Any) -> Any:
        raise StoreError("The store is away.")

    with monkeypatch.context() as patch:
        for name in ("append", "lease", "open_session", "messages"):
            patch.setattr(two.service, name, fail)
        gate.let.set()
        await first
        with pytest.raises(StoreError):
            await run.result()
    assert [m.owner for m in await two.service.messages(PLACE)] == [""]
    third = one.talk(["Two.", "Three."])
    assert final_text(await third.say("third")) == "Three."
    said = ["first", "One.", "second", "Two.", "third", "Three."]
    assert words(await third.stored()) == said
