"""A second run of a node's tool, which a person allowed: what it asks has answers of its own."""

from __future__ import annotations

import asyncio
from typing import Any

from ostinato.tools import FunctionTool, ToolContext
from ostinato.workflow import START, Workflow, node
from tests.support.loop_time import time_passes
from tests.unit.flows.kit import Store, Talk, answer_to
from tests.unit.flows.kit import store as store


def begin(node_input: str) -> dict[str, Any]:
    return {}


async def test_the_first_runs_answer_is_not_read_again(store: Store) -> None:
    read: list[tuple[bool, Any]] = []

    async def pay(tool_context: ToolContext) -> str:
        given = tool_context.tool_confirmation
        if given is None or given.payload is None:
            tool_context.request_confirmation(hint="How much?", payload={"sum": 0})
            return "waits"
        read.append((given.confirmed, given.payload))
        if len(read) == 1:
            await asyncio.Event().wait()
        return "ended"

    tool = node(FunctionTool(pay, in_doubt="ask"), timeout=60.0)
    talk = Talk(Workflow(name="flow", edges=[(START, begin, tool)]), store)

    async def answer(response: Any) -> None:
        (asked,) = [
            one
            for event in talk.seen[-3:]
            for one in event.get_function_calls()
            if one.name == "adk_request_input"
        ][-1:]
        run = asyncio.create_task(talk.say(answer_to(asked, {"result": response})))
        while not run.done() and len(read) != 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
        if len(read) == 1:
            await time_passes(run.done)
        await run

    await talk.say()
    await answer({"confirmed": True, "payload": {"sum": 1}})
    await answer(True)  # run it again
    await answer({"confirmed": False, "payload": {"sum": 2}})
    assert read == [(True, {"sum": 1}), (False, {"sum": 2})]
