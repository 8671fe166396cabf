"""State that parallel calls write: what was written last is stored, whenever the process died."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import BaseAgent
from ostinato.events import Event, EventActions
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import call
from ostinato.workflow import START, JoinNode, Workflow
from tests.unit.durable.crash import PLACE, Life, Scenario, World
from tests.unit.durable.test_crash_points import clerk


def writing_in_turns(world: World) -> BaseAgent:
    """Two tools, called in the order late, early; early writes first in time."""
    written = asyncio.Event()

    def write(tool_context: Any, name: str) -> None:
        state = tool_context.state
        state["names"] = sorted({*state.get("names", []), name})
        world.effect(tool_context, name)

    async def late(tool_context: Any) -> None:
        if "early" not in world.names.values():
            await written.wait()
        write(tool_context, "late")

    async def early(tool_context: Any) -> None:
        write(tool_context, "early")
        written.set()

    turns = ([call("late"), call("early")], "Done.")
    return clerk(world, "clerk", *turns, tools=[late, early])


@pytest.mark.parametrize("resumable", [False, pytest.param(True, marks=pytest.mark.long)])
async def test_the_last_write_of_parallel_calls_is_stored_whenever_the_process_died(
    tmp_path: Path, resumable: bool
) -> None:
    scenario = Scenario(writing_in_turns)
    whole = Life(scenario, tmp_path / "whole.db", resumable)
    assert await whole.process()
    assert await state_of(whole) == {"names": ["early", "late"]}
    for at in range(1, whole.commits + 1):
        for after in (False, True):
            life = Life(scenario, tmp_path / f"{at}{after}.db", resumable)
            assert not await life.process(at, after=after)
            assert await life.process()
            state = await state_of(life)
            assert state == {"names": ["early", "late"]}, (at, after)


class _Wings:
    """Two wings of a graph; one of them ends while the other one still waits for its second call.

    Attributes:
      last: what a tool wrote last.
    """

    def __init__(self) -> None:
        self.last = ""

    def tree(self, world: World) -> Workflow:
        written, ended = asyncio.Event(), asyncio.Event()

        def write(tool_context: Any, name: str) -> None:
            tool_context.state["last"] = self.last = name
            world.effect(tool_context, name)

        async def early(tool_context: Any) -> None:
            write(tool_context, "early")
            written.set()

        async def waiting(tool_context: Any) -> None:
            if "late" not in world.names.values():
                await ended.wait()
            world.effect(tool_context, "waiting")

        async def late(tool_context: Any) -> None:
            if "early" not in world.names.values():
                await written.wait()
            write(tool_context, "late")

        def end(node_input: str) -> str:
            ended.set()
            return node_input

        slow = clerk(
            world, "slow", [call("early"), call("waiting")], "Done.", tools=[early, waiting]
        )
        fast = clerk(world, "fast", call("late"), "Done.", tools=[late])
        join = JoinNode(name="join")
        return Workflow(name="root", edges=[(START, slow, join), (START, fast, end, join)])


@pytest.mark.long
async def test_a_write_of_a_wing_that_had_ended_outlives_the_crash(tmp_path: Path) -> None:
    """Only the other wing goes on, whose call wrote the key before and ended before, too."""
    whole = Life(Scenario(_Wings().tree), tmp_path / "whole.db", resumable=False)
    assert await whole.process()
    for at in range(1, whole.commits + 1):
        wings = _Wings()
        life = Life(Scenario(wings.tree), tmp_path / f"{at}.db", resumable=False)
        assert not await life.process(at, after=True)
        assert await life.process()
        assert (await state_of(life))["last"] == wings.last, at


async def state_of(life: Life) -> dict[str, Any]:
    store = SqliteSessionService(life.path)
    try:
        session = await store.get_session(**PLACE)
    finally:
        await store.close()
    assert session is not None
    return session.state


_BOTH_STORED = 4  # commits, after which the journal has the results of both calls


@pytest.mark.long
async def test_a_write_of_others_after_the_crash_is_kept(tmp_path: Path) -> None:
    """The results in the journal of the dead process are stored later, but were written before."""
    whole = Life(Scenario(writing_in_turns), tmp_path / "whole.db", resumable=False)
    assert await whole.process()
    for at in range(1, whole.commits + 1):
        life = Life(Scenario(writing_in_turns), tmp_path / f"{at}.db", resumable=False)
        assert not await life.process(at, after=True)
        has_run = at >= _BOTH_STORED
        store = SqliteSessionService(life.path)
        session = await store.get_session(**PLACE)
        assert session is not None
        actions = EventActions(state_delta={"names": ["by hand"]})
        await store.append_event(session, Event(author="desk", actions=actions))
        await store.close()
        assert await life.process()
        names = (await state_of(life))["names"]
        assert (names == ["by hand"]) if has_run else ("by hand" in names), at
