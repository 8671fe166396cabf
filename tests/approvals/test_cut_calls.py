"""Approved calls that a time limit cuts, and that the next attempt or a resume must not repeat."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import NothingToResumeError
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.workflow import START, NodeTimeoutError, RetryConfig, Workflow, node
from tests.approvals.kit import requests
from tests.support.loop_time import time_passes
from tests.unit.flows.kit import Store, Talk, answer_to, responses
from tests.unit.flows.kit import store as store

UNKNOWN = "its outcome is unknown"


class Scene:
    """An agent with two approved calls: the tool `slow` is cut by its limit, `fast` ends.

    Args:
      place: `agent`, `called` (by another agent), `node` or `task` (of a graph).
      retries: whether the limited agent or node is tried twice.
      policy: the `in_doubt` of the tools; empty for the default.
    """

    def __init__(self, place: str, retries: bool, policy: str = "") -> None:
        self.effects: list[str] = []
        limits: dict[str, Any] = {"timeout": 60.0}
        if retries:
            limits["retry_config"] = RetryConfig(max_attempts=2, initial_delay=0)
        more: dict[str, Any] = {"in_doubt": policy} if policy else {}
        tools: list[Any] = [
            FunctionTool(one, require_confirmation=True, **more) for one in (self.slow, self.fast)
        ]
        asks = [call("slow"), call("fast")]
        model = ScriptedModel([asks, *["Went on."] * 4])
        mode: Any = {"called": "single_turn", "node": "single_turn", "task": "task"}.get(place)
        own = {} if place in ("node", "task") else limits
        agent = LlmAgent(name="payer", description="", mode=mode, model=model, tools=tools, **own)
        self.root: Any = agent
        if place == "called":
            caller = ScriptedModel([call("payer", request="x"), *["Done."] * 4])
            self.root = LlmAgent(name="root", model=caller, sub_agents=[agent])
        elif place in ("node", "task"):
            self.root = Workflow(name="flow", edges=[(START, node(agent, **limits))])

    async def slow(self) -> str:
        self.effects.append("slow")
        await asyncio.Event().wait()
        return "never"

    async def fast(self) -> str:
        self.effects.append("fast")
        return "paid"


async def approve(talk: Talk, scene: Scene) -> None:
    """Approve both calls in one message, and resume the run if it fails."""
    asked = requests(await talk.say())
    answers = answer_to(*(part for one in asked for part in (one, {"confirmed": True})))
    run = asyncio.create_task(talk.say(answers))
    while len(scene.effects) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0)
    await time_passes(run.done)
    try:
        await run
    except NodeTimeoutError:
        first = talk.seen[0].invocation_id
        with suppress(NodeTimeoutError, NothingToResumeError):
            await talk.say(None, invocation_id=first)


@pytest.mark.parametrize("place", ["agent", "called", "node", "task"])
@pytest.mark.parametrize("retries", [False, True])
@pytest.mark.parametrize("policy", ["", "at_most_once", "ask"])
async def test_each_runs_once_and_its_end_is_told(
    store: Store, place: str, retries: bool, policy: str
) -> None:
    scene = Scene(place, retries, policy)
    talk = Talk(scene.root, store)
    await approve(talk, scene)
    assert sorted(scene.effects) == ["fast", "slow"]
    told = [str(one) for one in responses(await talk.stored())]
    assert any("paid" in one for one in told)
    assert any(UNKNOWN in one for one in told)
