"""The effects ledger beside questions of MCP servers: a call that asks is not done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server

from ostinato import types
from ostinato.agents import Agent
from ostinato.runners import Runner
from ostinato.sessions import SqliteSessionService
from ostinato.sessions.store.effect_ledger import EffectSettings
from ostinato.testing import ScriptedModel, call
from ostinato.tools import ToolContext
from ostinato.tools.mcp_tool import SamplingPolicy
from ostinato.workflow import Workflow
from ostinato.workflow.node_errors import ToolNotRunError
from tests.support.mcp.asking_shop import Shop

NAMES: dict[str, Any] = {"user_id": "ann", "session_id": "s"}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteSessionService]:
    service = SqliteSessionService(
        tmp_path / "s.db", synchronous="NORMAL", effects=EffectSettings()
    )
    await service.create_session(app_name="app", **NAMES)
    yield service
    await service.close()


async def run(store: Any, root: Any, message: Any) -> list[Any]:
    """Be a process that takes one message; return its events."""
    runner = Runner(node=root, app_name="app", session_service=store)
    try:
        return [one async for one in runner.run_async(**NAMES, new_message=message)]
    finally:
        await runner.close()


def answer(events: list[Any], given: Any) -> types.Content:
    """Return the message that answers the only question of the events."""
    calls = [one for event in events for one in event.get_function_calls()]
    (asked,) = [one for one in calls if (one.name or "").startswith("adk_")]
    response = types.FunctionResponse(id=asked.id, name=asked.name, response=given)
    return types.Content(role="user", parts=[types.Part(function_response=response)])


async def outcomes(store: SqliteSessionService) -> list[str]:
    return [one.outcome for one in reversed((await store.effects()).effects)]


def clerk(shop: Any, *turns: Any, **options: Any) -> Agent:
    return Agent(name="root", model=ScriptedModel(turns), tools=[shop.toolset(**options)])


async def test_a_call_whose_server_asks_is_not_done(store: Any):
    shop = Shop()
    events = await run(store, clerk(shop, call("order")), "Order")
    assert await outcomes(store) == ["asked"]
    await run(store, clerk(shop, "Ordered."), answer(events, {"size": 42}))
    assert await outcomes(store) == ["asked", "done"]


async def test_a_call_declined_while_its_server_is_down_leaves_no_row(store: Any):
    shop = Shop()
    events = await run(store, clerk(shop, call("order")), "Order")

    async def refuse(context: Any, params: Any) -> Any:
        raise MCPError(mcp_types.INTERNAL_ERROR, "down")

    shop.server = Server("shop", on_list_tools=refuse, on_call_tool=refuse)
    await run(store, clerk(shop, "Ok."), answer(events, {"action": "decline"}))
    assert await outcomes(store) == ["asked"]


async def test_a_node_whose_server_asks_is_not_done(store: Any):
    shop = Shop()
    (order,) = await shop.toolset().get_tools()
    graph = Workflow(name="graph", edges=[("START", order)])
    events = await run(store, graph, types.Content(role="user", parts=[types.Part(text="{}")]))
    assert await outcomes(store) == ["asked"]
    await run(store, graph, answer(events, {"size": 42}))
    assert await outcomes(store) == ["asked", "done"]


def ask(tool_context: ToolContext) -> dict[str, Any]:
    """Ask for a confirmation."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Sure?")
        tool_context.actions.skip_summarization = True
    return {"sure": True}


async def test_a_function_that_asks_is_not_done(store: Any):
    events = await run(
        store, Agent(name="root", model=ScriptedModel([call("ask")]), tools=[ask]), "Go"
    )
    assert await outcomes(store) == ["asked"]
    agent = Agent(name="root", model=ScriptedModel(["Done."]), tools=[ask])
    await run(store, agent, answer(events, {"confirmed": True}))
    assert await outcomes(store) == ["asked", "done"]


class Sampling(Shop):
    """A server whose tool asks the model of the agent."""

    async def _call(self, context: Any, params: Any) -> Any:
        text = mcp_types.TextContent(type="text", text="What now?")
        wanted = mcp_types.CreateMessageRequestParams(
            messages=[mcp_types.SamplingMessage(role="user", content=text)], max_tokens=50
        )
        return mcp_types.InputRequiredResult(
            input_requests={"now": mcp_types.CreateMessageRequest(params=wanted)},
            request_state="state-1",
        )


async def test_a_declined_sampling_is_not_run(store: Any):
    options: dict[str, Any] = {"sampling": SamplingPolicy()}
    events = await run(store, clerk(Sampling(), call("order"), **options), "Go")
    await run(store, clerk(Sampling(), "Ok.", **options), answer(events, {"result": False}))
    assert await outcomes(store) == ["asked", "not run"]


async def test_a_node_with_a_declined_sampling_fails(store: Any):
    (order,) = await Sampling().toolset(sampling=SamplingPolicy()).get_tools()
    graph = Workflow(name="graph", edges=[("START", order)])
    events = await run(store, graph, types.Content(role="user", parts=[types.Part(text="{}")]))
    with pytest.raises(ToolNotRunError, match="does not allow the server to ask the model"):
        await run(store, graph, answer(events, {"result": False}))
    assert await outcomes(store) == ["asked", "not run"]
