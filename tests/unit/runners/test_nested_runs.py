"""Runs that a tool or a callback starts in the session of its own run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import SessionBusyError
from ostinato.testing import ScriptedModel, call, final_text
from tests.unit.flows.kit import SESSION, USER, Store, Talk
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners


@pytest.mark.parametrize("where", ["tool", "callback"])
async def test_a_run_over_another_service_of_the_database_is_refused_at_once(
    two_owners: list[Owner], where: str
) -> None:
    """It would wait for the run that waits for it."""
    one, two = two_owners
    refused: list[SessionBusyError] = []

    async def nest() -> str:
        if not refused:
            with pytest.raises(SessionBusyError) as raised:
                await two.talk(["Inner."]).say("Inner?")
            refused.append(raised.value)
        return "nested"

    async def before(callback_context: Any) -> None:
        await nest()

    script: list[Any] = ["Outer."] if where == "callback" else [call("nest"), "Outer."]
    agent = LlmAgent(
        name="root",
        model=ScriptedModel(script),
        tools=[nest],
        before_agent_callback=before if where == "callback" else None,
    )
    talk = Talk(agent, one.store)
    async with asyncio.timeout(60):
        assert final_text(await talk.say("Outer?")) == "Outer."
    text = str(refused[0])
    assert SESSION in text and "AgentTool" in text and "same session service" in text
    asked = [event for event in await talk.stored() if event.author == "user"]
    assert "Inner?" not in str([event.content for event in asked])


async def test_a_tool_may_use_the_synchronous_run(store: Store) -> None:
    """Its thread is part of the run of the tool, as a task is."""
    said: list[str] = []

    def nest() -> str:
        events = helper.runner.run(user_id=USER, session_id=SESSION, new_message="Inner?")
        said.append(final_text([*events]))
        return "nested"

    helper = Talk(LlmAgent(name="helper", model=ScriptedModel(["Inner."])), store)
    model = ScriptedModel([call("nest"), "Outer."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[nest]), store)
    async with asyncio.timeout(60):
        assert final_text(await talk.say("Outer?")) == "Outer."
    assert said == ["Inner."]
