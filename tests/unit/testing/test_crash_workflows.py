"""`crash_everywhere` on workflows: outputs of nodes and calls of tool nodes are compared, too."""

from __future__ import annotations

import asyncio
import itertools
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.testing import CrashReport, ScenarioError, crash_everywhere
from ostinato.tools import AgentTool, FunctionTool, ToolContext
from ostinato.workflow import START, JoinNode, Workflow

NUMBERS = itertools.count()
PAYMENTS = tempfile.TemporaryDirectory()


def quote(node_input: str) -> dict[str, Any]:
    return {"amount": 5}


def quote_anew(node_input: str) -> dict[str, Any]:
    return {"amount": next(NUMBERS)}


def receipt(node_input: Any) -> str:
    return "paid"


def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay."""
    (Path(PAYMENTS.name) / str(tool_context.function_call_id).replace("/", "_")).touch()
    return {"paid": amount, "by_key": bool(tool_context.idempotency_key)}


async def pay_late(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay, sooner or later."""
    assert tool_context.idempotency_key
    await asyncio.sleep(random.choice((0, 0.02)))
    return {"late": amount}


def pay_and_count(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay."""
    assert tool_context.idempotency_key
    return {"paid": next(NUMBERS)}


def find_other(args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
    """Find a payment, and return another result than the tool."""
    name = str(tool_context.function_call_id).replace("/", "_")
    return {"paid": -1} if (Path(PAYMENTS.name) / name).exists() else None


def prove(*nodes: Any) -> CrashReport:
    flow = Workflow(name="order", edges=[(START, *nodes)])
    return crash_everywhere(flow, {"steps": ["Go."]}, kills=False)


def test_a_deterministic_workflow_holds() -> None:
    prove(quote, FunctionTool(pay), receipt).assert_once()


def test_nodes_beside_each_other_may_end_in_any_order() -> None:
    both, join = (FunctionTool(pay), FunctionTool(pay_late)), JoinNode(name="join")
    flow = Workflow(name="order", edges=[(START, quote, both, join)])
    crash_everywhere(flow, {"steps": ["Go."]}, kills=False).assert_once()


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ((quote_anew, FunctionTool(pay), receipt), r"order/quote_anew gives .*amount.* and was"),
        ((quote, FunctionTool(pay_and_count), receipt), r"order/pay_and_count\(.*gives .* and was"),
    ],
)
def test_an_output_that_differs_between_two_runs_is_found(
    nodes: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(ScenarioError, match=f"not deterministic by itself: .*{words}"):
        prove(*nodes)


def test_a_check_with_another_result_than_the_tool_is_found() -> None:
    report = prove(quote, FunctionTool(pay, check=find_other), receipt)
    assert [one.kind for one in report.findings] == ["differs"]
    assert "'paid': -1" in report.findings[0].text


def change_amount(tool: Any, args: dict[str, Any], tool_context: ToolContext) -> None:
    args["amount"] = next(NUMBERS)


def pay_silently(amount: int, tool_context: ToolContext) -> str:
    """Pay."""
    return "paid" if tool_context.idempotency_key else ""


def test_calls_of_an_agent_that_is_a_tool_are_compared() -> None:
    inner = LlmAgent(
        name="payer",
        description="Pays.",
        tools=[pay_silently],
        before_tool_callback=change_amount,
    )
    outer = LlmAgent(name="shop", tools=[AgentTool(inner)])
    model = {
        "shop": [{"call": "payer", "args": {"request": "Pay."}}, "Done."],
        "payer": [{"call": "pay_silently", "args": {"amount": 1}}, "Paid."],
    }
    with pytest.raises(ScenarioError, match=r"a call is pay_silently\({'amount': .*, and was pay_"):
        crash_everywhere(outer, {"steps": ["Go."], "model": model}, kills=False)


def test_an_approval_with_edited_arguments_is_provable() -> None:
    shop = LlmAgent(name="shop", tools=[FunctionTool(pay, require_confirmation=True)])
    edited = {"confirmed": True, "args": {"amount": 7}}
    scenario: dict[str, Any] = {
        "steps": ["Go.", {"answer": {"tool": "pay", "response": edited}}],
        "model": [{"call": "pay", "args": {"amount": 1}}, "Done."],
    }
    report = crash_everywhere(shop, scenario, kills=False)
    report.assert_once()
    assert report.tools["pay"].effects == 1

    for step in ({"approve": "pey"}, {"answer": {"tool": "pey", "response": {}}}):
        scenario["steps"] = ["Go.", step]
        with pytest.raises(ScenarioError, match=r"call of 'pey'; these wait: pay \(approval\)"):
            crash_everywhere(shop, scenario, kills=False)
