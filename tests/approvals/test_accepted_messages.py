"""A message that `submit` has accepted is run, although the agents have changed meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.errors import InvalidAnswerError
from ostinato.runners import Runner
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool
from tests.approvals.kit import NAMES, PLACE, decide, requests

TOOL_GONE = {"error": "Tool 'pay' is no longer available; the call did not run."}
AGENT_GONE = {"error": "Agent 'kid', which made this call, is gone; the call did not run."}


class Bank:
    """An agent with tools that ask first; `done` holds what they were run with."""

    def __init__(self, path: Path, *names: str, kid: bool = False) -> None:
        self.done: list[str] = []
        self.service = SqliteSessionService(str(path))
        tools: list[Any] = [self.tool(name) for name in names]
        below = [LlmAgent(name="kid", model=FunctionModel(self.reply), tools=tools)] if kid else []
        agent = LlmAgent(
            name="clerk", model=FunctionModel(self.reply), tools=tools, sub_agents=list(below)
        )
        self.runner = Runner(
            app=App(name="desk", root_agent=agent),
            session_service=self.service,
            auto_create_session=True,
        )

    def tool(self, name: str) -> FunctionTool:
        def act() -> dict[str, str]:
            """Act."""
            self.done.append(name)
            return {"done": name}

        act.__name__ = name
        return FunctionTool(act, require_confirmation=True)

    def reply(self, request: Any) -> Any:
        text = request.contents[-1].parts[-1].text
        if text == "kid":
            return call("transfer_to_agent", agent_name="kid")
        if text is None and request.contents[-1].parts[-1].function_response.name[:8] != "transfer":
            return "Noted."
        return [call(tool) for tool in ("pay", "ship")] if text != "Hello." else "Well."

    async def say(self, message: Any) -> list[Any]:
        run = self.runner.run_async(**PLACE, new_message=message)
        return [event async for event in run]

    async def told(self) -> list[Any]:
        """Return the newest response to each call, by tool."""
        session = await self.service.get_session(**NAMES)
        assert session is not None
        found = [one for event in session.events for one in event.get_function_responses()]
        by_tool = {one.name: one.response for one in found}
        return [by_tool.get("pay"), by_tool.get("ship")]


@pytest.fixture
async def banks(tmp_path: Path) -> AsyncIterator[Any]:
    made: list[Bank] = []

    def make(*names: str, **options: Any) -> Bank:
        made.append(Bank(tmp_path / "sessions.db", *names, **options))
        return made[-1]

    yield make
    for bank in made:
        await bank.runner.close()


def join(requested: list[types.FunctionCall], *confirmed: bool) -> types.Content:
    decided = [decide(one, answer) for one, answer in zip(requested, confirmed, strict=True)]
    return types.Content(role="user", parts=[p for one in decided for p in one.parts or ()])


@pytest.mark.parametrize("key", [None, "k"])
async def test_the_tools_that_remain_are_run(banks: Any, key: str | None) -> None:
    bank = banks("pay", "ship")
    message = join(requests(await bank.say("Buy.")), True, True)
    await bank.runner.submit(**PLACE, new_message=message, idempotency_key=key)
    changed = banks("ship")
    assert [one.outcome for one in await changed.runner.resume_open()] == ["finished"]
    assert changed.done == ["ship"] and await changed.told() == [TOOL_GONE, {"done": "ship"}]
    await changed.say("Hello.")
    assert changed.done == ["ship"]


@pytest.mark.parametrize("confirmed", [True, False])
async def test_the_call_of_an_agent_that_is_gone_is_closed(banks: Any, confirmed: bool) -> None:
    bank = banks("pay", "ship", kid=True)
    first = requests(await bank.say("kid"))
    message = join(first, confirmed, False)
    await bank.runner.submit(**PLACE, new_message=message)
    changed = banks("pay", "ship")
    await changed.runner.resume_open()
    rejected = {"error": "This tool call is rejected."}
    assert changed.done == []
    assert await changed.told() == [AGENT_GONE if confirmed else rejected, rejected]


async def test_a_caller_who_waits_is_refused_and_the_calls_stay_open(banks: Any) -> None:
    bank = banks("pay", "ship")
    message = join(requests(await bank.say("Buy.")), True, True)
    changed = banks("ship")
    with pytest.raises(InvalidAnswerError, match="no longer has the tool"):
        await changed.say(message)
    with pytest.raises(InvalidAnswerError, match="no longer has the tool"):
        await changed.runner.submit(**PLACE, new_message=message)
    await bank.say(message)
    assert sorted(bank.done) == ["pay", "ship"]  # the tools run side by side
