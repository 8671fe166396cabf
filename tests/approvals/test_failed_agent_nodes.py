"""Approvals of an agent in a graph outlive the failure of its node: they are shown, taken and acted
on, and the graph does not pass the node by meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.runners import Runner
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.workflow import START, Workflow
from tests.approvals.kit import NAMES, PLACE, amount_of, approve, waiting_calls
from tests.unit.workflow.kit import gives, shows

paid: list[int] = []


def pay(amount: int) -> str:
    """Pay an amount."""
    if amount == 1 and not paid:
        paid.append(0)
        raise RuntimeError("broken")
    paid.append(amount)
    return "paid"


def make_runner(store: Any, mode: str, resumable: bool) -> Runner:
    end = call("finish_task", result="r") if mode == "task" else "Paid."
    model = ScriptedModel([[call("pay", amount=1), call("pay", amount=2)], end, end])
    clerk = LlmAgent(
        name="clerk",
        description="d",
        mode=mode,  # type: ignore[arg-type]
        model=model,
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    flow = Workflow(name="flow", edges=[(START, gives("order"), clerk, shows("after"))])
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    app = App(name="desk", root_agent=flow, resumability_config=config)
    return Runner(app=app, session_service=store, auto_create_session=True)


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("words", [False, True], ids=["at once", "after words"])
@pytest.mark.parametrize("mode", ["task", "single_turn"])
async def test_the_other_approval_is_acted_on(
    store: Any, mode: str, words: bool, resumable: bool
) -> None:
    paid.clear()
    runner = make_runner(store, mode, resumable)
    [e async for e in runner.run_async(**PLACE, new_message="Go.")]
    first, second = sorted(await waiting_calls(store), key=amount_of)
    with pytest.raises(RuntimeError, match="broken"):
        [e async for e in runner.run_async(**PLACE, new_message=approve(first))]
    if words and mode == "task":
        events = [e async for e in runner.run_async(**PLACE, new_message="Well?")]
        assert not [e for e in events if e.node_info.path == "flow@1/after@1"]
    assert await waiting_calls(store) == [second]
    events = [e async for e in runner.run_async(**PLACE, new_message=approve(second))]
    assert paid == [0, 2]
    assert [e for e in events if e.node_info.path == "flow@1/after@1"]
    assert await waiting_calls(store) == []
    session = await store.get_session(**NAMES)
    answered = [r.id for e in session.events for r in e.get_function_responses()]
    asked = [c.id for e in session.events for c in e.get_function_calls()]
    assert {*asked} <= {*answered}


async def test_a_resume_by_id_runs_the_failed_node_again(store: Any) -> None:
    paid.clear()
    runner = make_runner(store, "single_turn", True)
    [e async for e in runner.run_async(**PLACE, new_message="Go.")]
    first, second = sorted(await waiting_calls(store), key=amount_of)
    with pytest.raises(RuntimeError, match="broken"):
        [e async for e in runner.run_async(**PLACE, new_message=approve(first))]
    session = await store.get_session(**NAMES)
    invocation_id = session.events[-1].invocation_id
    events = [e async for e in runner.run_async(**PLACE, invocation_id=invocation_id)]
    assert not [e for e in events if e.node_info.path == "flow@1/after@1"]
    assert await waiting_calls(store) == [second]
