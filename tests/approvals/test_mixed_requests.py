"""Every accepted answer is acted on, whatever else waits and in whatever order answers come."""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.errors import LeaseLostError
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import FunctionModel, call
from tests.approvals.kit import PLACE
from tests.approvals.mixed_requests import (
    KINDS,
    PLACES,
    Bureau,
    answer,
    call_behind,
    find_faults,
    results,
)

QUICK = {
    ("pay", "move", "root"),
    ("single", "pay", "root"),
    ("pay", "single", "single"),
    ("pay", "single", "task"),
    ("pay", "task", "root"),
    ("pay", "pay", "task"),
    ("slow", "single", "root"),
    ("job", "job", "root"),
    ("job", "pay", "root"),
    ("single", "job", "single"),
    ("slow", "job", "task"),
}
PAIRS = [
    pytest.param(
        one,
        two,
        place,
        id=f"{place}-{one}-{two}",
        marks=() if (one, two, place) in QUICK else pytest.mark.long,
    )
    for one, two, place in product(KINDS, KINDS, PLACES)
    if "move" not in (one, two) or (place == "root" and one != two)
]


@pytest.mark.parametrize("confirmed", [True, False])
@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("order", ["oldest", "newest", "all"])
@pytest.mark.parametrize(("one", "two", "place"), PAIRS)
async def test_every_answer_is_acted_on(
    one: str, two: str, place: str, order: str, resumable: bool, confirmed: bool
) -> None:
    bureau = Bureau(InMemorySessionService(), [one, two], place, resumable=resumable)
    decided = await bureau.settle(order, confirmed=confirmed)
    faults = find_faults(bureau, await bureau.events(), decided, confirmed)
    assert not faults, faults


SKIPPED = "the call did not run"


@pytest.mark.parametrize("resumable", [False, True])
async def test_a_callback_that_skips_the_agent_closes_its_decided_calls(resumable: bool) -> None:
    answers = iter([None, types.Content(role="model", parts=[types.Part(text="Not now.")])])
    bureau = Bureau(
        InMemorySessionService(),
        ["pay"],
        resumable=resumable,
        before_agent_callback=lambda callback_context: next(answers),
    )
    (call_id,) = await bureau.settle("all")
    assert SKIPPED in results(await bureau.events())[call_id][-1]
    assert bureau.paid == []


class AnswersFirst(BasePlugin):
    """Answers each run but the first instead of the agents."""

    runs = 0

    async def before_run_callback(self, **_: object) -> types.Content | None:
        self.runs += 1
        text = types.Part(text="Closed.")
        return types.Content(role="model", parts=[text]) if self.runs > 1 else None


async def test_a_callback_that_answers_the_run_closes_the_decided_calls() -> None:
    bureau = Bureau(InMemorySessionService(), ["pay"])
    bureau.runner.plugin_manager.register_plugin(AnswersFirst(name="first"))
    (call_id,) = await bureau.settle("all", confirmed=True)
    assert SKIPPED in results(await bureau.events())[call_id][-1]
    assert bureau.paid == []


async def test_a_call_of_a_task_that_ended_meanwhile_runs_once() -> None:
    """A word of the user lets the task end although its call waits; the answer comes later."""
    bureau = Bureau(InMemorySessionService(), ["task"])
    task = bureau.runner.agent.find_agent("task0")
    assert isinstance(task, LlmAgent)
    await bureau.say("Go.")
    (asked,) = await bureau.waiting()
    task.model = FunctionModel(lambda request: call("finish_task", result="Enough."))
    await bureau.say("Stop it.")
    await bureau.say(answer([asked]))
    assert bureau.paid == [call_behind(asked)]
    assert "paid" in results(await bureau.events())[call_behind(asked)][-1]
    assert await bureau.waiting() == []


class Blocker(BasePlugin):
    """Holds a decided call back before its tool runs."""

    def __init__(self) -> None:
        super().__init__(name="blocker")
        self.reached = asyncio.Event()

    async def before_tool_callback(self, *, tool: Any, tool_context: Any, **_: Any) -> None:
        if tool.name == "pay" and tool_context.tool_confirmation is not None:
            self.reached.set()
            await asyncio.sleep(60)


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("kinds", [["pay", "move"], ["single", "pay"], ["pay", "task"]])
async def test_the_next_owner_runs_a_decided_call_once(
    tmp_path: Path, kinds: list[str], resumable: bool
) -> None:
    path, plugin = str(tmp_path / "sessions.db"), Blocker()
    first = Bureau(SqliteSessionService(path), kinds, resumable=resumable)
    await first.say("Go.")
    asked = (await first.waiting())[0]
    first.runner.plugin_manager.register_plugin(plugin)
    run = first.runner.start(**PLACE, new_message=answer([asked]))
    await plugin.reached.wait()
    await run.hand_over()
    with pytest.raises(LeaseLostError):
        await run.result()
    other = Bureau(SqliteSessionService(path), kinds, resumable=resumable)
    await other.runner.resume_open()
    assert first.paid == [] and other.paid == [call_behind(asked)]
    await other.runner.resume_open()
    assert other.paid == [call_behind(asked)]
    for one in (first, other):
        await one.runner.close()
