"""A task that is called beside `finish_task` and a tool that fails gets a response."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.runners import Runner
from ostinato.testing import ScriptedModel, call
from tests.approvals.kit import NAMES, PLACE
from tests.unit.flows.kit import model_of


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
async def test_a_task_beside_the_end_and_an_error_is_answered(store: Any, resumable: bool) -> None:
    def fail() -> None:
        """Fail."""
        raise RuntimeError("broken")

    inner = LlmAgent(name="inner", description="d", mode="task", model=ScriptedModel([]))
    end = [call("finish_task", result="r"), call("inner", request="y"), call("fail")]
    outer = LlmAgent(
        name="outer",
        description="d",
        mode="task",
        model=ScriptedModel([end]),
        tools=[fail],
        sub_agents=[inner],
    )
    model = ScriptedModel([call("outer", request="x"), "Done."])
    root = LlmAgent(name="root", model=model, sub_agents=[outer])
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    app = App(name="desk", root_agent=root, resumability_config=config)
    runner = Runner(app=app, session_service=store, auto_create_session=True)
    with pytest.raises(RuntimeError, match="broken"):
        [e async for e in runner.run_async(**PLACE, new_message="Go.")]
    [e async for e in runner.run_async(**PLACE, new_message="And now?")]
    events = (await store.get_session(**NAMES)).events
    made = {c.id: c.name for e in events for c in e.get_function_calls()}
    given = [r for e in events for r in e.get_function_responses()]
    assert {made[r.id] for r in given} == {"outer", "inner", "finish_task", "fail"}
    (refused,) = [r for r in given if r.name == "inner"]
    assert "not started" in str(refused.response)
    assert not model_of(inner).requests
