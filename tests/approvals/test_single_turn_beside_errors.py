"""A single-turn agent that waits for a person goes on waiting when what runs beside it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.runners import Runner
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool
from tests.approvals.kit import NAMES, PLACE, amount_of, approve, waiting_calls

paid: list[int] = []


def pay(amount: int) -> str:
    """Pay an amount."""
    paid.append(amount)
    return "paid"


def clerk() -> LlmAgent:
    return LlmAgent(
        name="clerk",
        description="d",
        mode="task",
        model=ScriptedModel([RuntimeError("broken"), "Well?"]),
    )


def checker(name: str, *more: Any, model: Any) -> LlmAgent:
    return LlmAgent(
        name=name,
        description="d",
        mode="single_turn",
        model=model,
        tools=[FunctionTool(pay, require_confirmation=True)],
        sub_agents=[*more],
    )


def direct() -> LlmAgent:
    return checker("check", model=ScriptedModel([call("pay", amount=7), "Checked."]))


def nested() -> LlmAgent:
    inner = checker("inner", model=ScriptedModel([call("pay", amount=7), "Paid."]))
    model = ScriptedModel([call("inner", request="z"), "Checked."])
    return checker("check", inner, model=model)


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("make", [direct, nested])
async def test_its_approval_is_acted_on_after_a_task_beside_it_has_failed(
    store: Any, make: Callable[[], LlmAgent], resumable: bool
) -> None:
    paid.clear()
    check = make()
    calls = [call("clerk", request="x"), call("check", request="y"), call("pay", amount=1)]
    root = LlmAgent(
        name="root",
        model=ScriptedModel([calls, "Done.", "Done."]),
        tools=[FunctionTool(pay, require_confirmation=True)],
        sub_agents=[clerk(), check],
    )
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    app = App(name="desk", root_agent=root, resumability_config=config)
    runner = Runner(app=app, session_service=store, auto_create_session=True)
    [e async for e in runner.run_async(**PLACE, new_message="Go.")]
    own, other = sorted(await waiting_calls(store), key=amount_of)
    with pytest.raises(RuntimeError, match="broken"):  # of the task, which starts now
        [e async for e in runner.run_async(**PLACE, new_message=approve(own))]
    [e async for e in runner.run_async(**PLACE, new_message=approve(other))]
    assert paid == [1, 7]
    assert await waiting_calls(store) == []
    events = (await store.get_session(**NAMES)).events
    given = [r.response for e in events for r in e.get_function_responses() if r.name == "check"]
    assert given == [{"result": "Checked."}]
