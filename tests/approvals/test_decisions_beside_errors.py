"""Calls of ended agents run although another agent of the message's answers fails."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.runners import Runner
from ostinato.testing import FunctionModel, ScriptedModel, call
from ostinato.tools import FunctionTool
from tests.approvals.kit import NAMES, PLACE, decide, requests


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("fails", ["model", "tool"])
async def test_decided_calls_of_an_ended_task_run_before_the_error_is_raised(
    store: Any, resumable: bool, fails: str
) -> None:
    ran: list[str] = []

    def pay(who: str) -> str:
        """Pay."""
        ran.append(who)
        if who == "first":
            raise ValueError("no cash")
        return "paid"

    def ship() -> str:
        """Ship."""
        ran.append("ship")
        if fails == "tool":
            raise RuntimeError("broken")
        return "shipped"

    tasks = [
        LlmAgent(
            name=name,
            description="Pays.",
            mode="task",
            model=ScriptedModel([[call("finish_task", result="r"), call("pay", who=name)]]),
            tools=[FunctionTool(pay, require_confirmation=True)],
        )
        for name in ("first", "second")
    ]
    turns = iter([call("first", request="x"), call("second", request="x"), call("ship")])

    def reply(request: Any) -> Any:
        found = next(turns, None)
        if found is None:
            raise RuntimeError("broken")
        return found

    tools: list[Any] = [FunctionTool(ship, require_confirmation=True)]
    root = LlmAgent(name="root", model=FunctionModel(reply), sub_agents=[*tasks], tools=tools)
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    app = App(name="desk", root_agent=root, resumability_config=config)
    runner = Runner(app=app, session_service=store, auto_create_session=True)
    asked = requests([e async for e in runner.run_async(**PLACE, new_message="Go.")])
    assert len(asked) == 3
    parts = [part for one in asked for part in decide(one).parts or ()]
    with pytest.raises(RuntimeError, match="broken") as raised:
        async for _ in runner.run_async(
            **PLACE, new_message=types.Content(role="user", parts=parts)
        ):
            pass
    assert ran == ["ship", "first", "second"]
    assert "no cash" in str(raised.value.__notes__)
    events = (await store.get_session(**NAMES)).events
    results = [r.response for e in events for r in e.get_function_responses() if r.name == "pay"]
    assert {"result": "paid"} in results
