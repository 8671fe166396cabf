"""Cancelling a run: from its handle, from the runner, and from another process."""

from __future__ import annotations

import asyncio

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import LeaseLostError, RunCancelledError
from ostinato.events import Event
from ostinato.testing import ScriptedModel, call, final_text
from tests.unit.flows.kit import SESSION, USER, Store, Talk
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners


class Work:
    """Two tools that run until they are cancelled, and note it."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.cancelled: list[str] = []

    async def dig(self) -> str:
        """Dig."""
        return await self._until_cancelled("dig")

    async def saw(self) -> str:
        """Saw."""
        return await self._until_cancelled("saw")

    async def _until_cancelled(self, name: str) -> str:
        self.begun.release()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        return ""


def answers(log: list[Event]) -> list[str]:
    return [str(response.response) for event in log for response in event.get_function_responses()]


async def test_cancel_ends_model_call_and_tools_and_leaves_the_session_in_order(
    store: Store,
) -> None:
    work = Work()
    model = ScriptedModel([[call("dig"), call("saw")]])
    talk = Talk(LlmAgent(name="root", model=model, tools=[work.dig, work.saw]), store)
    run = talk.runner.start(user_id=USER, session_id=SESSION, new_message="Go")
    for _ in range(2):
        await work.begun.acquire()
    assert await run.cancel()
    assert sorted(work.cancelled) == ["dig", "saw"]
    with pytest.raises(RunCancelledError):
        await run.result()
    assert all("cancelled" in answer for answer in answers(await talk.stored()))
    assert len(answers(await talk.stored())) == 2
    assert not await run.cancel()
    await talk.check_goes_on(model)


async def test_the_one_who_iterates_gets_the_error_and_its_task_lives_on(store: Store) -> None:
    work = Work()
    model = ScriptedModel([call("dig")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[work.dig]), store)
    reading = asyncio.create_task(talk.fails())
    await work.begun.acquire()
    assert await talk.runner.cancel(user_id=USER, session_id=SESSION)
    assert isinstance(await reading, RunCancelledError)
    assert not reading.cancelled() and reading.cancelling() == 0
    await talk.check_goes_on(model)


async def test_a_cancel_between_two_events_is_heard_at_the_next(store: Store) -> None:
    model = ScriptedModel([call("nothing")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[nothing]), store)
    run = talk.run()
    await anext(run)
    assert await talk.runner.cancel(user_id=USER, session_id=SESSION)
    with pytest.raises(RunCancelledError):
        await anext(run)
    await talk.check_goes_on(model)


async def test_there_is_nothing_to_cancel(store: Store) -> None:
    talk = Talk(LlmAgent(name="root", model=ScriptedModel(["Hi."])), store)
    assert not await talk.runner.cancel(user_id=USER, session_id=SESSION)
    await talk.say()
    assert not await talk.runner.cancel(user_id=USER, session_id=SESSION)
    assert not await talk.runner.cancel(user_id=USER, session_id=SESSION, invocation_id="e-no")


async def test_only_the_invocation_that_is_named_is_cancelled(store: Store) -> None:
    work = Work()
    model = ScriptedModel([call("dig")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[work.dig]), store)
    reading = asyncio.create_task(talk.fails())
    await work.begun.acquire()
    place = {"user_id": USER, "session_id": SESSION}
    assert not await talk.runner.cancel(**place, invocation_id="e-other")
    invocation_id = (await talk.stored())[0].invocation_id
    assert await talk.runner.cancel(**place, invocation_id=invocation_id)
    assert isinstance(await reading, RunCancelledError)


@pytest.mark.long
async def test_another_process_cancels_through_the_store(two_owners: list[Owner]) -> None:
    one, two = two_owners
    work = Work()
    talk = one.talk([call("dig"), "All right."], [work.dig])
    reading = asyncio.create_task(talk.fails())
    await work.begun.acquire()
    other = two.talk([])
    assert await other.runner.cancel(user_id=USER, session_id=SESSION)
    assert isinstance(await reading, RunCancelledError)
    assert work.cancelled == ["dig"]
    log = await talk.check_sound()
    assert "cancelled" in answers(log)[0]
    assert final_text(await talk.say("And now?")) == "All right."


async def test_a_cancelled_run_that_is_handed_over_meanwhile_is_cancelled_there(
    two_owners: list[Owner], caplog: pytest.LogCaptureFixture
) -> None:
    one, two = two_owners
    work = Work()
    run = one.talk([call("dig")], [work.dig]).runner.start(
        user_id=USER, session_id=SESSION, new_message="Go"
    )
    await work.begun.acquire()
    await run.hand_over()
    with pytest.raises(LeaseLostError):
        await run.result()
    other = two.talk(["All right."], [work.dig])
    assert await other.runner.cancel(user_id=USER, session_id=SESSION)
    caplog.clear()
    done = await other.runner.resume_open()
    assert [(one.outcome, "cancelled" in one.reason) for one in done] == [("failed", True)]
    assert work.cancelled == ["dig"]  # the next owner does not begin it
    assert not [record for record in caplog.records if record.exc_info]
    assert "cancelled" in answers(await other.check_sound())[0]
    assert await other.runner.resume_open() == []
    assert final_text(await other.say("And now?")) == "All right."


@pytest.mark.long
@pytest.mark.parametrize("key", [None, "k"])
async def test_a_cancel_reaches_the_run_of_another_process_and_not_who_waits_here(
    two_owners: list[Owner], key: str | None
) -> None:
    one, two = two_owners
    work = Work()
    talk = one.talk([call("dig")], [work.dig])
    reading = asyncio.create_task(talk.fails("Go", idempotency_key=key))
    await work.begun.acquire()
    other = two.talk(["All right."], [work.dig])
    waiting = other.runner.start(
        user_id=USER, session_id=SESSION, new_message="Go", idempotency_key=key
    )
    await waiting.wait_until_accepted()
    assert await other.runner.cancel(user_id=USER, session_id=SESSION)
    assert isinstance(await reading, RunCancelledError)
    assert work.cancelled == ["dig"]
    if key is None:
        assert final_text((await waiting.result()).events) == "All right."
    else:  # it follows the cancelled run
        with pytest.raises(RunCancelledError):
            await waiting.result()


@pytest.mark.long
async def test_a_named_invocation_is_cancelled_where_it_runs_and_where_it_is_followed(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    work = Work()
    talk = one.talk([call("dig")], [work.dig])
    reading = asyncio.create_task(talk.fails("Go", idempotency_key="k"))
    await work.begun.acquire()
    other = two.talk([])
    following = other.runner.start(
        user_id=USER, session_id=SESSION, new_message="Go", idempotency_key="k"
    )
    await following.wait_until_accepted()
    invocation_id = (await talk.stored())[0].invocation_id
    where = {"user_id": USER, "session_id": SESSION}
    assert await other.runner.cancel(**where, invocation_id=invocation_id)
    with pytest.raises(RunCancelledError):
        await following.result()
    assert isinstance(await reading, RunCancelledError)


@pytest.mark.long
async def test_a_named_message_that_waits_is_withdrawn_and_the_run_continues(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    work = Work()
    reading = asyncio.create_task(one.talk([call("dig")], [work.dig]).fails())
    await work.begun.acquire()
    other = two.talk([])
    waiting = other.runner.start(user_id=USER, session_id=SESSION, new_message="Wait")
    await two.has_message()
    [message] = await two.service.messages(PLACE)
    where = {"user_id": USER, "session_id": SESSION}
    assert await other.runner.cancel(**where, invocation_id=message.invocation_id)
    with pytest.raises(RunCancelledError):
        await waiting.result()
    assert await two.service.messages(PLACE) == []
    assert work.cancelled == [] and not reading.done()
    assert await other.runner.cancel(**where)
    assert isinstance(await reading, RunCancelledError)


def nothing() -> str:
    """Do nothing."""
    return "nothing"


async def test_a_run_that_is_cancelled_after_its_last_event_says_so_to_its_caller(
    store: Store,
) -> None:
    """And does not cancel what its caller's task does next."""
    talk = Talk(LlmAgent(name="root", model=ScriptedModel(["Done."])), store)
    run = talk.run()
    assert final_text([await anext(run)]) == "Done."
    assert await talk.runner.cancel(user_id=USER, session_id=SESSION)
    with pytest.raises(RunCancelledError):
        await anext(run)
    await asyncio.sleep(0)
    await talk.check_sound()
