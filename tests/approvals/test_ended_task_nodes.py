"""Calls of a task that is finished in the response that asks for their approval, in a graph."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.runners import Runner
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.workflow import START, Workflow
from tests.approvals.kit import NAMES, PLACE, decide, requests
from tests.unit.flows.kit import model_of


@pytest.mark.parametrize("is_called", [False, True], ids=["node", "called"])
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_call_beside_the_end_of_a_task_in_a_graph_is_decided(
    store: Any, confirmed: bool, resumable: bool, is_called: bool
) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    end = [call("finish_task", result="r"), call("pay", amount=1), call("pay", amount=2)]
    payer = LlmAgent(
        name="payer",
        description="Pays.",
        mode="task",
        model=ScriptedModel([end]),
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    lead = LlmAgent(
        name="lead",
        model=ScriptedModel([call("payer", request="pay"), "Led."]),
        sub_agents=[payer] if is_called else [],
    )
    writer = LlmAgent(name="writer", model=ScriptedModel(["Written."]))
    graph = Workflow(name="office", edges=[(START, lead if is_called else payer, writer)])
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    app = App(name="desk", root_agent=graph, resumability_config=config)
    runner = Runner(app=app, session_service=store, auto_create_session=True)

    async def say(message: Any) -> list[Any]:
        return [e async for e in runner.run_async(**PLACE, new_message=message)]

    first, second = requests(await say("Pay."))
    await say(decide(second, confirmed))
    assert paid == ([2] if confirmed else [])
    events = await say(decide(first, confirmed))
    assert paid == ([2, 1] if confirmed else [])
    (result,) = [e for e in events if any(r.name == "pay" for r in e.get_function_responses())]
    session = await store.get_session(**NAMES)
    asked = next(e for e in session.events if any(c.name == "pay" for c in e.get_function_calls()))
    assert (result.author, result.branch) == ("payer", asked.branch)
    assert result.isolation_scope == asked.isolation_scope
    assert result.node_info.path == asked.node_info.path
    assert len(model_of(writer).requests) == 1
