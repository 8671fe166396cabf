"""What a message holds beside its answers reaches the model, in that turn and in later ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from tests.approvals.kit import PLACE, decide, requests


class Bank:
    """An agent that pays on approval and asks for a budget, which is granted later."""

    def __init__(self, store: Any, *replies: Any, resumable: bool = False) -> None:
        self.model = ScriptedModel(list(replies))

        def pay(amount: int) -> dict[str, int]:
            """Pay."""
            return {"paid": amount}

        def ask_budget() -> dict[str, str]:
            """Ask for a budget."""
            return {"status": "pending"}

        tools = [
            FunctionTool(pay, require_confirmation=True),
            LongRunningFunctionTool(ask_budget),
        ]
        agent = LlmAgent(name="clerk", model=self.model, tools=tools)
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        self.runner = Runner(
            app=App(name="desk", root_agent=agent, resumability_config=config),
            session_service=store,
            auto_create_session=True,
        )

    async def say(self, message: Any) -> list[Any]:
        run = self.runner.run_async(**PLACE, new_message=message)
        return [event async for event in run]

    def seen(self) -> list[Any]:
        """Return the texts, calls and responses of the newest request."""
        return [
            part.text
            or (part.function_call and part.function_call.name)
            or (part.function_response and part.function_response.response)
            for content in self.model.requests[-1].contents
            for part in content.parts or ()
        ]


def result_of(events: list[Any]) -> types.Part:
    """Return the granted budget, as the result of the long-running call."""
    calls = [one for event in events for one in event.get_function_calls()]
    asked = next(one for one in calls if one.name == "ask_budget")
    granted = types.FunctionResponse(id=asked.id, name=asked.name, response={"granted": 5})
    return types.Part(function_response=granted)


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return InMemorySessionService()
    return SqliteSessionService(str(tmp_path / "sessions.db"))


@pytest.mark.parametrize("resumable", [False, True])
async def test_a_result_and_a_text_beside_an_approval_reach_the_model(
    store: Any, resumable: bool
) -> None:
    calls = [call("pay", amount=1), call("ask_budget")]
    bank = Bank(store, calls, "ok", "later", resumable=resumable)
    events = await bank.say("start")
    parts = [*(decide(requests(events)[0]).parts or ()), result_of(events), types.Part(text="note")]
    await bank.say(types.Content(role="user", parts=parts))
    expected = ["start", "pay", "ask_budget", {"granted": 5}, {"paid": 1}, "note"]
    assert bank.seen() == expected
    await bank.say("bye")
    assert bank.seen() == [*expected, "ok", "bye"]


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_text_beside_a_decision_reaches_the_model(store: Any, confirmed: bool) -> None:
    bank = Bank(store, call("pay", amount=1), "ok", "later")
    events = await bank.say("start")
    parts = [types.Part(text="note"), *(decide(requests(events)[0], confirmed).parts or ())]
    await bank.say(types.Content(role="user", parts=parts))
    outcome = {"paid": 1} if confirmed else {"error": "This tool call is rejected."}
    assert bank.seen() == ["start", "pay", outcome, "note"]
    await bank.say("bye")
    assert bank.seen() == ["start", "pay", outcome, "note", "ok", "bye"]


async def test_a_result_of_another_step_beside_an_approval_reaches_the_model(store: Any) -> None:
    bank = Bank(store, call("pay", amount=1), call("ask_budget"), "wait", "ok")
    first = await bank.say("start")
    second = await bank.say("and a budget")
    parts = [*(decide(requests(first)[0]).parts or ()), result_of(second), types.Part(text="note")]
    await bank.say(types.Content(role="user", parts=parts))
    assert bank.seen() == [
        "start", "pay", {"paid": 1}, "and a budget", "ask_budget", {"granted": 5}, "wait", "note",
    ]  # fmt: skip


async def test_the_answers_themselves_stay_hidden_from_the_model(store: Any) -> None:
    bank = Bank(store, call("pay", amount=1), "ok")
    events = await bank.say("start")
    await bank.say(decide(requests(events)[0], payload={"secret": "x"}))
    assert bank.seen() == ["start", "pay", {"paid": 1}]
