"""Approved calls that a time limit cuts, and that the next attempt or a resume must not repeat."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from ostinato import Context
from ostinato.agents import LlmAgent
from ostinato.errors import NothingToResumeError
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.workflow import (
    START,
    FunctionNode,
    NodeTimeoutError,
    RetryConfig,
    Workflow,
    node,
)
from tests.approvals.kit import requests
from tests.support.loop_time import time_passes
from tests.unit.flows.kit import Store, Talk, answer_to, responses
from tests.unit.flows.kit import store as store

UNKNOWN = "its outcome is unknown"


class Scene:
    """An agent with two approved calls: the tool `slow` is cut by its limit, `fast` ends.

    Args:
      place: `agent`, `called` (by another agent), `node` or `task` (of a graph), `inner` (of a
        graph that is the limited node), `code` (run by a function with `ctx.run_node`).
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
        in_graph = place in ("node", "task", "inner", "code")
        mode: Any = "single_turn" if place == "called" or in_graph else None
        mode = "task" if place == "task" else mode
        own = {} if in_graph else limits
        agent = LlmAgent(name="payer", description="", mode=mode, model=model, tools=tools, **own)
        self.root: Any = agent
        if place == "called":
            caller = ScriptedModel([call("payer", request="x"), *["Done."] * 4])
            self.root = LlmAgent(name="root", model=caller, sub_agents=[agent])
        elif place in ("node", "task"):
            self.root = Workflow(name="flow", edges=[(START, node(agent, **limits))])
        elif place == "inner":
            inner = Workflow(name="inner", edges=[(START, agent)])
            self.root = Workflow(name="flow", edges=[(START, node(inner, **limits))])
        elif place == "code":

            async def pass_on(ctx: Context, node_input: Any) -> Any:
                return await ctx.run_node(agent, "Pay.")

            code = FunctionNode(func=pass_on, rerun_on_resume=True, **limits)
            self.root = Workflow(name="flow", edges=[(START, code)])

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


@pytest.mark.parametrize("place", ["agent", "called", "node", "task", "inner", "code"])
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


@pytest.mark.parametrize("policy", ["", "at_most_once", "ask"])
@pytest.mark.parametrize("mode", ["single_turn", "task"])
async def test_a_call_cut_by_a_failing_node_beside_it_runs_once(
    store: Store, policy: str, mode: Any
) -> None:
    begun = asyncio.Event()
    effects: list[str] = []

    async def pay() -> str:
        effects.append("paid")
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def fail(node_input: Any) -> None:
        await begun.wait()
        raise ValueError("The node beside it failed.")

    more: dict[str, Any] = {"in_doubt": policy} if policy else {}
    tool = FunctionTool(pay, **more)
    model = ScriptedModel([call("pay"), *["Went on."] * 9])
    agent = LlmAgent(name="payer", mode=mode, model=model, tools=[tool])
    inner = Workflow(name="inner", edges=[(START, agent), (START, fail)])
    retry = RetryConfig(max_attempts=3, initial_delay=0)
    talk = Talk(Workflow(name="flow", edges=[(START, node(inner, retry_config=retry))]), store)
    assert isinstance(await talk.fails(), ValueError)
    with suppress(ValueError, NothingToResumeError):
        await talk.say(None, invocation_id=talk.seen[0].invocation_id)
    assert effects == ["paid"]
    assert any(UNKNOWN in str(one) for one in responses(await talk.stored()))
