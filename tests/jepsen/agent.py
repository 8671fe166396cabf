"""The agent that the clients run, with a scripted model and tools whose effects are counted."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from ostinato.agents import LlmAgent
from ostinato.models.llm_request import LlmRequest
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool, ToolContext
from tests.crash.world import Record
from tests.jepsen.checker import SHARED

APP, USER = "shop", "ann"


class Tools:
    """The tools of one process.

    Args:
      effects: where effects are noted; a line is there once it is written, whatever follows.
      pace: seconds that a tool takes.
    """

    def __init__(self, effects: Record, pace: float = 0.01) -> None:
        self._effects, self._pace = effects, pace
        self._count = 0

    async def act(self, what: str, tool_context: ToolContext) -> dict[str, str]:
        """Do something that must not happen twice."""
        return await self._do("act", what, tool_context)

    async def pay(self, what: str, tool_context: ToolContext) -> dict[str, str]:
        """Do something that may be repeated under its key."""
        return await self._do("pay", what, tool_context, str(tool_context.idempotency_key))

    async def approve(self, what: str, tool_context: ToolContext) -> dict[str, str]:
        """Do something that a person has to approve."""
        return await self._do("approve", what, tool_context)

    async def _do(
        self, tool: str, what: str, tool_context: ToolContext, key: str = ""
    ) -> dict[str, str]:
        self._count += 1
        value = f"{tool}-{what}-{os.getpid()}-{self._count}"
        effect: dict[str, Any] = {
            "tool": tool,
            "what": what,
            "session": tool_context.session.id,
            "call": str(tool_context.function_call_id),
            "key": key,
            "value": value,
            "time": time.monotonic(),
            "written": (time.time(), None),
        }
        self._effects.add(effect)
        tool_context.state[SHARED] = value
        # A process that dies before this line has not stored the value.
        self._effects.add({"value": value, "until": time.time()})
        await asyncio.sleep(self._pace)
        return {"what": what, "value": value}


async def _answer_model(request: LlmRequest) -> Any:
    """Call the tools that the user's message is for, then say that it is done."""
    await asyncio.sleep(0)
    last = request.contents[-1].parts or []
    if any(part.function_response for part in last):
        return "Done."
    text = next((part.text for part in last if part.text), "")
    if text.startswith("q-"):
        return call("approve", what=text)
    if text.startswith("m-"):
        return [call("act", what=text), call("pay", what=text)]
    return "Noted."


def make_agent(tools: Tools) -> LlmAgent:
    """Make the agent of one process."""
    return LlmAgent(
        name="root",
        model=FunctionModel(_answer_model),
        tools=[
            FunctionTool(tools.act, in_doubt="at_most_once"),
            FunctionTool(tools.pay, in_doubt="rerun"),
            FunctionTool(tools.approve, require_confirmation=True, in_doubt="at_most_once"),
        ],
    )
