"""Progress of MCP calls in the stream of a run."""

import asyncio
import json
from typing import Any

import pytest
from mcp.server.mcpserver import Context as ServerContext
from mcp.server.mcpserver import MCPServer

from ostinato.agents import Agent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.events.event import Event
from ostinato.events.tool_progress import ToolProgress, make_progress_event
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.mcp.progress import ProgressReport
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from tests.unit.tools.contexts import make_context

STREAMED = RunConfig(streaming_mode=StreamingMode.SSE)


def make_server(times: int = 1) -> MCPServer:
    server = MCPServer("shop")

    @server.tool()
    async def pack(ctx: ServerContext) -> str:
        for number in range(times):
            await ctx.report_progress(number, times, f"box {number}")
        return "packed"

    return server


async def talk_to(server: MCPServer, config: RunConfig | None, **options: Any) -> list[Event]:
    toolset = McpToolset(connection_params=InProcessConnectionParams(server=server), **options)
    agent = Agent(name="root", model=ScriptedModel([call("pack"), "Done."]), tools=[toolset])
    talk = Conversation(agent)
    events = await talk.say("Pack", run_config=config)
    stored = await talk.session()
    assert not any(ToolProgress.of(event) for event in stored.events)
    return events


async def test_streamed_run_shows_progress_between_call_and_response():
    events = await talk_to(make_server(), STREAMED)
    found = [ToolProgress.of(event) for event in events]
    at = next(n for n, one in enumerate(found) if one is not None)
    (asked,) = events[at - 1].get_function_calls()
    assert found[at] == ToolProgress(asked.id or "", 0, 1, "box 0")
    assert events[at].partial and events[at].author == "root" and events[at].content is None
    assert events[at + 1].get_function_responses()[0].id == asked.id


async def test_run_without_streaming_has_no_partial_events():
    for config in (None, RunConfig()):
        assert not any(event.partial for event in await talk_to(make_server(), config))


async def test_callback_hears_every_notification_and_the_stream_few():
    heard: list[float] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    events = await talk_to(make_server(300), STREAMED, progress_callback=hear)
    assert heard == [float(n) for n in range(300)]
    assert 1 <= sum(ToolProgress.of(event) is not None for event in events) < 100


class Taken:
    """Takes what is offered."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def offer(self, event: Event) -> None:
        self.events.append(event)


async def test_flood_of_notifications_becomes_one_event_in_a_tenth_of_a_second(
    monkeypatch: pytest.MonkeyPatch,
):
    context, taken, now = make_context(), Taken(), 0.0
    state = context.get_invocation_context().run_state
    state.relays[context.function_call_id or ""] = taken  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    report = ProgressReport(context)
    for number in range(1_000):
        now = number / 1_000
        await report.note(number, None, None)
    assert 9 <= len(taken.events) <= 11


def test_numbers_and_messages_are_bounded():
    hostile = ToolProgress("c", float("inf"), float("nan"), "x" * 10_000)
    event = make_progress_event(hostile, invocation_id="i", author="a", branch=None)
    found = ToolProgress.of(Event.model_validate(json.loads(event.model_dump_json())))
    assert found == ToolProgress("c", 0.0, None, "x" * 500)
