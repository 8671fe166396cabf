"""A request finds what a dead process left open; its caller goes away while that is finished."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import RunCancelledError
from ostinato.execution.tree_digest import tree_digest
from ostinato.testing import ScriptedModel, call, final_text
from tests.unit.flows.kit import SESSION, USER, Talk
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners
from tests.unit.runners.test_busy_sessions import Gate, words
from tests.unit.runners.test_recovery import left_open

NAMES: dict[str, Any] = {"user_id": USER, "session_id": SESSION}
LEFT = ["left", "To the left one."]


async def waiting_for_the_left_one(
    owner: Owner, script: list[Any], gate: Gate
) -> tuple[Talk, asyncio.Task[Any]]:
    """Return a caller whose request waits for what was left, which is in the middle of a tool."""
    talk = owner.talk(script, [gate.wait])
    root = LlmAgent(name="root", model=ScriptedModel([]), tools=[gate.wait])
    await left_open(owner, digest=tree_digest(root))
    caller = asyncio.create_task(talk.say("mine"))
    await gate.begun.wait()
    return talk, caller


async def gone(caller: asyncio.Task[Any]) -> None:
    """Have a caller go away; it is gone at once."""
    caller.cancel()
    done, _ = await asyncio.wait((caller,), timeout=60)
    assert done and caller.cancelled()


@pytest.mark.spec(22)
async def test_a_caller_who_goes_away_leaves_the_other_invocation_running(
    two_owners: list[Owner],
) -> None:
    """It is finished before the session's next invocation begins."""
    one, two = two_owners
    gate = Gate()
    talk, caller = await waiting_for_the_left_one(
        one, [call("wait"), "To the left one.", "To the next one."], gate
    )
    await gone(caller)
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.invocation_id == "e-left" and lease.left > 0
    following = asyncio.create_task(talk.say("next"))
    await one.has_message()
    gate.let.set()
    assert final_text(await following) == "To the next one."
    log = await talk.check_sound()
    assert words(log) == [*LEFT, "next", "To the next one."]
    await talk.runner.close()
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.owner == lease.invocation_id == ""


async def test_a_request_of_another_process_waits_for_it_too(two_owners: list[Owner]) -> None:
    one, two = two_owners
    gate = Gate()
    talk, caller = await waiting_for_the_left_one(one, [call("wait"), "To the left one."], gate)
    await gone(caller)
    other = two.talk(["To the next one."])
    following = asyncio.create_task(other.say("next"))
    await two.has_message()
    gate.let.set()
    assert final_text(await following) == "To the next one."
    assert words(await talk.check_sound()) == [*LEFT, "next", "To the next one."]


async def test_a_caller_that_gave_up_may_ask_again_at_once(two_owners: list[Owner]) -> None:
    """From the same task, which held the session before."""
    one, _ = two_owners
    gate = Gate()
    talk = one.talk([call("wait"), "To the left one.", "To the next one."], [gate.wait])
    root = LlmAgent(name="root", model=ScriptedModel([]), tools=[gate.wait])
    await left_open(one, digest=tree_digest(root))

    scope = asyncio.timeout(None)

    async def expire() -> None:
        await gate.begun.wait()
        scope.reschedule(asyncio.get_running_loop().time())

    expiring = asyncio.create_task(expire())
    with pytest.raises(TimeoutError):
        async with scope:
            await talk.say("mine")
    await expiring
    asyncio.get_running_loop().call_soon(gate.let.set)
    assert final_text(await talk.say("next")) == "To the next one."
    assert words(await talk.check_sound()) == [*LEFT, "next", "To the next one."]


async def test_closing_the_runner_hands_it_over(two_owners: list[Owner]) -> None:
    one, two = two_owners
    gate = Gate()
    talk, caller = await waiting_for_the_left_one(one, [call("wait"), "Never."], gate)
    await gone(caller)
    await talk.runner.close()
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.invocation_id == "e-left" and lease.left <= 0
    assert len(await talk.stored()) == 2  # the message and the call, which nobody has answered
    gate.let.set()
    other = two.talk(["Went on."], [gate.wait])
    assert [each.outcome for each in await other.runner.resume_open()] == ["finished"]
    assert words(await other.check_sound()) == ["left", "Went on."]


async def test_the_end_of_the_event_loop_hands_it_over(two_owners: list[Owner]) -> None:
    one, two = two_owners

    async def short() -> None:
        _, caller = await waiting_for_the_left_one(one, [call("wait"), "Never."], Gate())
        await gone(caller)

    await asyncio.to_thread(asyncio.run, short())
    lease = await two.service.lease(PLACE)
    assert lease is not None and lease.invocation_id == "e-left" and lease.left <= 0
    gate = Gate()
    gate.let.set()
    other = two.talk(["Went on."], [gate.wait])
    assert [each.outcome for each in await other.runner.resume_open()] == ["finished"]
    assert words(await other.check_sound()) == ["left", "Went on."]


async def test_who_resumes_what_is_open_and_is_cancelled_hands_it_over(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    gate = Gate()
    talk = one.talk([call("wait"), "Never."], [gate.wait])
    root = LlmAgent(name="root", model=ScriptedModel([]), tools=[gate.wait])
    await left_open(one, digest=tree_digest(root))
    resuming = asyncio.create_task(talk.runner.resume_open())
    await gate.begun.wait()
    await gone(resuming)
    gate.let.set()
    other = two.talk(["Went on."], [gate.wait])
    assert [each.outcome for each in await other.runner.resume_open()] == ["finished"]
    assert words(await other.check_sound()) == ["left", "Went on."]


async def test_cancel_cancels_what_runs_and_not_who_waits_for_it(two_owners: list[Owner]) -> None:
    one, _ = two_owners
    talk, caller = await waiting_for_the_left_one(one, [call("wait"), "To mine."], Gate())
    assert await talk.runner.cancel(**NAMES)
    assert final_text(await caller) == "To mine."
    log = await talk.check_sound()
    assert words(log) == ["left", "mine", "To mine."]


async def test_a_run_that_waits_for_it_is_cancelled_by_itself(two_owners: list[Owner]) -> None:
    one, _ = two_owners
    gate = Gate()
    talk = one.talk([call("wait"), "To the left one.", "To the next one."], [gate.wait])
    root = LlmAgent(name="root", model=ScriptedModel([]), tools=[gate.wait])
    await left_open(one, digest=tree_digest(root))
    run = talk.runner.start(**NAMES, new_message="mine")
    await gate.begun.wait()
    assert await run.cancel()
    with pytest.raises(RunCancelledError):
        await run.result()
    gate.let.set()
    assert final_text(await talk.say("next")) == "To the next one."
    assert words(await talk.check_sound()) == [*LEFT, "next", "To the next one."]


async def test_a_caller_who_goes_on_with_it_by_its_id_and_goes_away_cancels_it(
    two_owners: list[Owner],
) -> None:
    """For then it is the caller's own."""
    one, _ = two_owners
    gate = Gate()
    talk = one.talk([call("wait"), "To the next one."], [gate.wait])
    root = LlmAgent(name="root", model=ScriptedModel([]), tools=[gate.wait])
    await left_open(one, digest=tree_digest(root))
    caller = asyncio.create_task(talk.say(None, invocation_id="e-left"))
    await gate.begun.wait()
    await gone(caller)
    (answer,) = [r for e in await talk.check_sound() for r in e.get_function_responses()]
    assert "was cancelled" in (answer.response or {})["error"]
    assert final_text(await talk.say("next")) == "To the next one."


async def test_its_error_is_in_the_log_and_the_next_request_goes_on(
    two_owners: list[Owner], caplog: pytest.LogCaptureFixture
) -> None:
    one, _ = two_owners
    gate = Gate()
    script = [call("wait"), OSError("no model today"), "To the next one."]
    talk, caller = await waiting_for_the_left_one(one, script, gate)
    await gone(caller)
    with caplog.at_level(logging.ERROR, "ostinato"):
        gate.let.set()
        assert final_text(await talk.say("next")) == "To the next one."
    assert "Invocation e-left in session one failed." in caplog.text
    assert "no model today" in caplog.text
    log = await talk.check_sound()
    assert [event.error_code for event in log if event.error_code] == ["OSError"]
