"""Calls to MCP servers whose process died, and whose tool has changed or gone before the resume."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server

from ostinato.agents import LlmAgent
from ostinato.errors import InvalidAnswerError
from ostinato.testing import call, trace
from ostinato.tools import FunctionTool
from ostinato.tools.call_doubt import UNKNOWN
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from tests.unit.durable.crash import Life, Scenario, World, calls_named, flagged
from tests.unit.durable.test_crash_points import answer, step_model
from tests.unit.durable.test_in_doubt import paying

NO_HINTS: dict[str, Any] = {}
READS = {"read_only_hint": True}
DESTROYS = {"destructive_hint": True}


class Bank:
    """A server that pays, and that changes between two processes of an agent.

    Args:
      hints: the tool's annotations.
      options: of the toolset.

    Attributes:
      names: the tools that it lists.
      is_down: whether its list cannot be read.
      payments: how many calls arrived.
    """

    def __init__(self, hints: dict[str, Any], **options: Any) -> None:
        self.hints = hints
        self.options = options
        self.names = ["pay"]
        self.is_down = False
        self.payments = 0

    def make_agent(self, world: World) -> LlmAgent:
        server: Any = Server("bank", on_list_tools=self._list, on_call_tool=self._call)
        toolset = McpToolset(
            connection_params=InProcessConnectionParams(server=server), **self.options
        )
        return LlmAgent(name="clerk", model=step_model(call("pay"), "Done."), tools=[toolset])

    async def _list(self, context: Any, params: Any) -> Any:
        if self.is_down:
            raise MCPError(mcp_types.INTERNAL_ERROR, "down")
        hints = mcp_types.ToolAnnotations(**self.hints)
        schema = {"type": "object"}
        tools = [
            mcp_types.Tool(name=name, input_schema=schema, annotations=hints) for name in self.names
        ]
        return mcp_types.ListToolsResult(tools=tools)

    async def _call(self, context: Any, params: Any) -> Any:
        self.payments += 1
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="paid")])


async def kill_while_paying(bank: Bank, path: Path, *legs: Any, at: int = 0) -> Life:
    """Return the life of a process that died when the server had paid."""
    life = Life(Scenario(bank.make_agent, *(legs or ("Go",))), path, resumable=False)
    # Message, call, response; a tool that asks first stores its begin before the response.
    assert not await life.process(at or (4 if bank.hints == DESTROYS else 3))
    assert bank.payments == 1
    return life


def responses(log: Any) -> list[Any]:
    return [one.response for e in log for one in e.get_function_responses() if one.name == "pay"]


def decide(confirmed: bool) -> Any:
    def make_message(log: Any) -> Any:
        request = calls_named(log, "adk_request_confirmation")[-1]
        return answer(request, {"confirmed": confirmed})

    return make_message


def take_away(bank: Bank, how: str) -> None:
    if how == "down":
        bank.is_down = True
    else:
        bank.names = ["other"]


@pytest.mark.parametrize("how", ["down", "not listed"])
@pytest.mark.parametrize("hints", [NO_HINTS, READS])
async def test_gone_tool_tells_the_model_that_the_outcome_is_unknown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str, hints: dict[str, Any]
):
    bank = Bank(hints)
    life = await kill_while_paying(bank, tmp_path / "s.db")
    take_away(bank, how)
    with caplog.at_level(logging.WARNING):
        assert await life.process()
    log = await life.log()
    (response,) = responses(log)
    assert "it is unknown whether the call took effect" in response["error"]
    assert "no tool with that name" not in response["error"]
    assert "Tool 'pay' was interrupted and is not run again" in caplog.text
    assert flagged(log) == {calls_named(log, "pay")[0].id}
    assert bank.payments == 1 and trace(log)[-1] == "clerk: Done."


@pytest.mark.parametrize("how", ["down", "not listed"])
@pytest.mark.parametrize("approved", [True, False])
async def test_gone_destructive_tool_asks_a_person(tmp_path: Path, how: str, approved: bool):
    bank = Bank(DESTROYS)
    life = await kill_while_paying(bank, tmp_path / "s.db", "Go", decide(approved))
    take_away(bank, how)
    if approved:
        fault = "bank cannot be reached" if how == "down" else "no longer has the tool 'pay'"
        with pytest.raises(InvalidAnswerError, match=fault):
            await life.process()
        bank.names, bank.is_down = ["pay"], False
    assert await life.process()
    log = await life.log()
    (asked,) = calls_named(log, "adk_request_confirmation")
    assert "may have taken effect already" in asked.args["toolConfirmation"]["hint"]  # type: ignore[index]
    assert "may have taken effect already" in responses(log)[0]["error"]
    assert bank.payments == (2 if approved else 1)
    assert approved or responses(log)[-1] == {"error": f"This tool call is rejected. {UNKNOWN}"}
    assert trace(log)[-1] == "clerk: Done."


@pytest.mark.parametrize("how", ["down", "not listed"])
async def test_gone_tool_that_a_person_had_approved_is_in_doubt_too(tmp_path: Path, how: str):
    bank = Bank(NO_HINTS, require_confirmation=True)
    # Message, call, request, response; answer, begin, response.
    life = await kill_while_paying(bank, tmp_path / "s.db", "Go", decide(True), at=7)
    take_away(bank, how)
    assert await life.process()
    log = await life.log()
    assert len(calls_named(log, "adk_request_confirmation")) == 2
    assert "may have taken effect already" in responses(log)[-1]["error"]
    assert bank.payments == 1


async def test_removed_function_is_in_doubt_too(tmp_path: Path):
    def other() -> None: ...

    tools: list[Any] = []

    def make_agent(world: World) -> LlmAgent:
        own = [*tools] or [paying(world)]
        return LlmAgent(name="clerk", model=step_model(call("pay"), "Done."), tools=own)

    life = Life(Scenario(make_agent), tmp_path / "s.db", resumable=False)
    assert not await life.process(3)
    tools.append(FunctionTool(other))
    assert await life.process()
    log = await life.log()
    assert "it is unknown whether the call took effect" in responses(log)[0]["error"]
    assert list(life.world.effects.values()) == [1]


@pytest.mark.parametrize(
    ("before", "now", "policy"),
    [
        (NO_HINTS, READS, "at_most_once"),
        (READS, NO_HINTS, "at_most_once"),
        (DESTROYS, READS, "ask"),
        (NO_HINTS, DESTROYS, "ask"),
        (READS, READS, "rerun"),
    ],
)
async def test_stricter_of_both_policies_counts(
    tmp_path: Path, before: dict[str, Any], now: dict[str, Any], policy: str
):
    bank = Bank(before)
    life = await kill_while_paying(bank, tmp_path / "s.db")
    bank.hints = now
    assert await life.process()
    log = await life.log()
    assert bank.payments == (2 if policy == "rerun" else 1)
    assert len(calls_named(log, "adk_request_confirmation")) == (policy == "ask")
    assert ("unknown whether" in str(responses(log))) is (policy == "at_most_once")


async def test_rejected_second_run_is_not_sent_by_a_tool_that_asks_no_more(tmp_path: Path):
    bank = Bank(DESTROYS)
    life = await kill_while_paying(bank, tmp_path / "s.db", "Go", decide(False))
    bank.hints = READS
    assert await life.process()
    assert responses(await life.log())[-1] == {"error": f"This tool call is rejected. {UNKNOWN}"}
    assert bank.payments == 1


async def test_confirmed_tool_that_only_reads_still_runs_again(tmp_path: Path):
    bank = Bank(READS, require_confirmation=True)
    life = await kill_while_paying(bank, tmp_path / "s.db", "Go", decide(True), at=7)
    assert await life.process()
    assert bank.payments == 2
    assert len(calls_named(await life.log(), "adk_request_confirmation")) == 1
