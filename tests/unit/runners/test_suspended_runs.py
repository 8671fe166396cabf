"""Runs that wait at a `yield` for a caller who has stopped reading, and closed event loops."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.context import RunConfig
from ostinato.durable.lease import keeper_of
from ostinato.errors import RunCancelledError
from ostinato.execution import turns
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import ToolContext
from tests.support.loop_time import time_passes
from tests.unit.flows.kit import SESSION, USER, Store, Talk, check_paired
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners


async def note() -> str:
    """Note."""
    return "noted"


def talk_over(store: Store) -> Talk:
    model = ScriptedModel([call("note"), "Done.", "To the next."])
    return Talk(LlmAgent(name="root", model=model, tools=[note]), store)


async def suspended(talk: Talk, **options: Any) -> Any:
    """Read the first event of a run, in a task that ends, and keep the generator."""
    events = talk.run("first", **options)

    async def read() -> None:
        await anext(events)

    await asyncio.create_task(read())
    return events


class StoppedLoop:
    """An event loop that reads some events of a run and then stands still."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    async def run(self, work: Any) -> Any:
        """Run the loop in a thread until `work` is done."""
        return await asyncio.to_thread(self.loop.run_until_complete, work)

    async def close(self) -> None:
        await self.run(self.loop.shutdown_asyncgens())
        self.loop.close()


@pytest.fixture
async def stopped() -> AsyncIterator[StoppedLoop]:
    made = StoppedLoop()
    yield made
    await made.close()


ROOT = Path(__file__).resolve().parents[3]
WHERE = {"user_id": USER, "session_id": SESSION}


async def test_a_run_whose_caller_has_stopped_reading_is_cancelled(store: Store) -> None:
    talk = talk_over(store)
    events = await suspended(talk)
    assert await talk.runner.cancel(**WHERE)
    assert final_text(await talk.say("next")) == "Done."
    with pytest.raises(RunCancelledError):
        await anext(events)
    await talk.check_sound()


async def test_a_newer_message_interrupts_a_run_whose_caller_has_stopped_reading(
    store: Store,
) -> None:
    talk = talk_over(store)
    events = await suspended(talk)
    answer = await talk.say("next", run_config=RunConfig(on_busy="interrupt"))
    assert final_text(answer) == "Done."
    with pytest.raises(RunCancelledError):
        await anext(events)
    await events.aclose()
    await talk.check_sound()


async def test_a_run_suspended_at_the_message_s_own_event_is_cancelled(store: Store) -> None:
    talk = talk_over(store)
    events = await suspended(talk, yield_user_message=True)
    assert await talk.runner.cancel(**WHERE)
    await talk.say("next")
    with pytest.raises(RunCancelledError):
        await anext(events)
    await talk.check_sound()


async def test_a_caller_who_closes_the_generator_meanwhile_waits_for_the_end(store: Store) -> None:
    talk = talk_over(store)
    events = await suspended(talk)
    await talk.runner.cancel(**WHERE)
    await asyncio.sleep(0)
    await events.aclose()
    await talk.say("next")
    await talk.check_sound()


async def test_another_process_cancels_a_run_whose_caller_has_stopped_reading(
    two_owners: list[Owner],
) -> None:
    one, two = two_owners
    ours = one.talk([call("note"), "Never said."], [note])
    events = await suspended(ours)
    theirs = two.talk(["To the next."], [note])
    assert await theirs.runner.cancel(**WHERE)
    await keeper_of(one.service).renew()
    assert final_text(await theirs.say("next")) == "To the next."
    with pytest.raises(RunCancelledError):
        await anext(events)
    await ours.check_sound()


async def test_who_waits_for_such_a_run_says_so_once(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    talk = talk_over(store)
    events = await suspended(talk)
    waiting = asyncio.create_task(talk.say("next"))

    def warnings() -> list[logging.LogRecord]:
        return [each for each in caplog.records if each.name == turns.__name__]

    with caplog.at_level(logging.WARNING):
        await time_passes(until=lambda: bool(warnings()))
        await asyncio.sleep(0)
        await events.aclose()
        await waiting
    (told,) = warnings()
    assert SESSION in told.getMessage() and "stopped reading" in told.getMessage()
    assert talk.seen[0].invocation_id not in told.getMessage()
    assert "invocation e-" in told.getMessage()


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
async def test_a_run_whose_event_loop_stands_still_is_ended_without_it(
    store: Store, stopped: StoppedLoop, how: str
) -> None:
    model = ScriptedModel([call("note"), "To the next."])
    talk = Talk(LlmAgent(name="root", model=model, tools=[note]), store)
    events = talk.run("first")
    await stopped.run(anext(events))
    if how == "cancel":
        assert await talk.runner.cancel(**WHERE)
    async with asyncio.timeout(60):
        config = RunConfig(on_busy="interrupt" if how == "interrupt" else "queue")
        answer = await talk.say("next", run_config=config)
    assert final_text(answer) == "To the next."
    check_paired(model.requests[-1].contents)
    before = len(await talk.stored())
    with pytest.raises(RunCancelledError):
        await stopped.run(anext(events))
    assert len(await talk.stored()) == before
    await talk.check_goes_on(model)


async def test_a_tool_of_such_a_run_that_ends_later_writes_nothing(
    store: Store, stopped: StoppedLoop
) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def work(tool_context: ToolContext) -> str:
        begun.set()
        try:
            await end.wait()
        except asyncio.CancelledError:
            tool_context.state["late"] = 1
        return "too late"

    model = ScriptedModel([call("work"), "To the next."])
    talk = Talk(LlmAgent(name="root", model=model, tools=[work]), store)
    first = stopped.loop.create_task(talk.fails("first"))
    await stopped.run(begun.wait())
    async with asyncio.timeout(60):
        answer = await talk.say("next", run_config=RunConfig(on_busy="interrupt"))
    assert final_text(answer) == "To the next."
    before = len(await talk.stored())
    await stopped.run(first)
    assert len(await talk.stored()) == before and "late" not in await talk.state()
    await talk.check_goes_on(model)


async def test_another_process_cancels_a_run_whose_event_loop_stands_still(
    two_owners: list[Owner], stopped: StoppedLoop
) -> None:
    one, two = two_owners
    ours = one.talk([call("note"), "Here too."], [note])
    events = ours.run("first")
    await stopped.run(anext(events))

    def never() -> str:
        raise AssertionError("a cancelled run is not resumed")

    never.__name__ = "note"
    theirs = two.talk(["To the next."], [never])
    assert await theirs.runner.cancel(**WHERE)
    await keeper_of(one.service).renew()  # hears of it
    await keeper_of(one.service).serve()  # hands the run over
    async with asyncio.timeout(60):
        assert final_text(await theirs.say("next")) == "To the next."
        before = len(await ours.stored())
        with pytest.raises(RunCancelledError):
            await stopped.run(anext(events))
        assert len(await ours.stored()) == before
        assert final_text(await ours.say("again")) == "Here too."
    await ours.check_sound()


@pytest.mark.long
def test_a_session_whose_event_loop_was_closed_goes_to_the_next_request(tmp_path: Path) -> None:
    """To another owner, long before its lease would have ended, and to its own process."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.unit.runners.closed_loop"]
    done = subprocess.run(
        [*command, str(tmp_path / "shared.db")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["To the next.", "Here too."], done.stderr
    assert "is closed" in done.stderr


def test_a_program_that_ends_after_a_break_seals_the_run_and_prints_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.db"

    async def read_until_the_call() -> None:
        async for event in talk_over(Store(path)).run():
            if event.get_function_calls():
                break

    async def check() -> None:
        await talk_over(Store(path)).check_sound()

    for work in (read_until_the_call, check):
        asyncio.run(work())
    assert caplog.records == []


async def test_a_run_whose_agent_closes_itself_is_sealed(store: Store) -> None:
    class Leaver(LlmAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            async for event in super()._run_async_impl(ctx):
                yield event
                raise GeneratorExit

    model = ScriptedModel([call("note"), "To the next."])
    talk = Talk(Leaver(name="root", model=model, tools=[note]), store)
    with pytest.raises(GeneratorExit):
        await talk.say()
    await talk.check_sound()


HELD = """
import asyncio, sys

from ostinato.agents import LlmAgent
from ostinato.runners import InMemoryRunner
from ostinato.testing import ScriptedModel, call


def note() -> str:
    return "noted"


model = ScriptedModel([call("note"), "Done."] * 2)
runner = InMemoryRunner(LlmAgent(name="root", model=model, tools=[note]), app_name="held")
asyncio.run(runner.session_service.create_session(app_name="held", user_id="u", session_id="s"))
list(runner.run(user_id="u", session_id="s", new_message="first"))
events = runner.run(user_id="u", session_id="s", new_message="second")
for event in events:
    print(event.author)
    sys.exit(3)
"""


@pytest.mark.long
def test_a_program_ends_that_holds_an_unfinished_run_of_a_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HELD],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "root\n", "")
