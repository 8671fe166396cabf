"""Calls whose tool is gone while another server, or the program, has a tool of that name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server

from ostinato import Agent, Runner, types
from ostinato.errors import InvalidAnswerError
from ostinato.sessions import SqliteSessionService
from ostinato.testing import ScriptedModel, call, trace
from ostinato.tools.mcp.connection_params import digest_address, server_label
from ostinato.tools.mcp_tool import (
    InProcessConnectionParams,
    McpToolset,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from tests.unit.durable.crash import Life, Scenario, World
from tests.unit.durable.test_crash_points import step_model

WHO: dict[str, Any] = {"user_id": "u", "session_id": "s"}
FORM = {"type": "object", "properties": {"card": {"type": "string"}}, "required": ["card"]}


class Store:
    """A server with one tool, that answers or asks.

    Args:
      name: the server's name.
      asks: whether its tool asks for a form.
      options: of the toolset.

    Attributes:
      tool: the tool's name.
      is_down: whether its list cannot be read.
      received: the answers and the state of each call.
    """

    def __init__(self, name: str, asks: bool = False, **options: Any) -> None:
        self.name, self.asks, self.options = name, asks, options
        self.tool = "buy"
        self.is_down = False
        self.received: list[Any] = []

    def toolset(self) -> McpToolset:
        server: Any = Server(self.name, on_list_tools=self._list, on_call_tool=self._call)
        params = InProcessConnectionParams(server=server)
        return McpToolset(connection_params=params, **self.options)

    async def _list(self, context: Any, params: Any) -> Any:
        if self.is_down:
            raise MCPError(mcp_types.INTERNAL_ERROR, "down")
        hints = mcp_types.ToolAnnotations(idempotent_hint=True)
        schema = {"type": "object"}
        tool = mcp_types.Tool(name=self.tool, input_schema=schema, annotations=hints)
        return mcp_types.ListToolsResult(tools=[tool])

    async def _call(self, context: Any, params: Any) -> Any:
        self.received.append((params.input_responses, params.request_state))
        if self.asks and params.input_responses is None:
            form = mcp_types.ElicitRequestFormParams(message="Card?", requested_schema=FORM)
            return mcp_types.InputRequiredResult(
                input_requests={"k": mcp_types.ElicitRequest(params=form)}, request_state="sealed"
            )
        text = f"bought at {self.name}"
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)])


def open_runner(path: Path, turns: list[Any], *tools: Any) -> Runner:
    agent = Agent(name="root", model=ScriptedModel(turns), tools=[*tools])
    service = SqliteSessionService(path)
    return Runner(agent=agent, app_name="x", session_service=service, auto_create_session=True)


async def ask(path: Path, *tools: Any, name: str = "buy") -> types.FunctionCall:
    """Let a process ask a person; return what it asked."""
    async with open_runner(path, [call(name)], *tools) as runner:
        events = [e async for e in runner.run_async(**WHO, new_message="Buy")]
    asked = [c for e in events for c in e.get_function_calls()]
    return next(one for one in asked if (one.name or "").startswith("adk_request"))


def respond(asked: types.FunctionCall, response: dict[str, Any]) -> types.Content:
    given = types.FunctionResponse(id=asked.id, name=asked.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=given)])


async def open_ids(path: Path) -> list[str]:
    service = SqliteSessionService(path)
    page = await service.open_requests("x", "u")
    await service.close()
    return [one.request.call_id for one in page.requests]


ANSWERS = {"form": {"card": "4111"}, "approval": {"confirmed": True}}


def make_stores(what: str) -> tuple[Store, Store]:
    options = {"require_confirmation": what == "approval"}
    return Store("first", what == "form", **options), Store("second", **options)


@pytest.mark.parametrize("what", ["form", "approval"])
async def test_answer_for_a_server_that_is_down_does_not_reach_another_server(
    tmp_path: Path, what: str
):
    path = tmp_path / "s.db"
    first, second = make_stores(what)
    asked = await ask(path, first.toolset(), second.toolset())
    first.is_down = True
    async with open_runner(path, ["Never."], first.toolset(), second.toolset()) as runner:
        with pytest.raises(InvalidAnswerError, match=r"server first cannot be reached.*later"):
            await anext(runner.run_async(**WHO, new_message=respond(asked, ANSWERS[what])))
    assert second.received == [] and await open_ids(path) == [asked.id]
    first.is_down = False
    async with open_runner(path, ["Done."], first.toolset(), second.toolset()) as runner:
        message = respond(asked, ANSWERS[what])
        events = [e async for e in runner.run_async(**WHO, new_message=message)]
    assert second.received == [] and trace(events)[-1] == "root: Done."
    assert len(first.received) == (2 if what == "form" else 1)


@pytest.mark.parametrize("what", ["form", "approval"])
async def test_answer_for_a_server_that_is_gone_does_not_reach_another_server(
    tmp_path: Path, what: str
):
    path = tmp_path / "s.db"
    first, second = make_stores(what)
    asked = await ask(path, first.toolset())
    async with open_runner(path, ["Never."], second.toolset()) as runner:
        with pytest.raises(
            InvalidAnswerError, match=r"no longer has the tool 'buy' of MCP server first.*second"
        ):
            await anext(runner.run_async(**WHO, new_message=respond(asked, ANSWERS[what])))
    assert second.received == [] and await open_ids(path) == [asked.id]


async def test_accepted_approval_for_a_server_that_went_down_is_run_when_its_run_is_resumed_by_id(
    tmp_path: Path,
):
    path, store = tmp_path / "s.db", Store("first", require_confirmation=True)
    asked = await ask(path, store.toolset())
    async with open_runner(path, [], store.toolset()) as runner:
        await runner.submit(**WHO, new_message=respond(asked, ANSWERS["approval"]))
    store.is_down = True
    async with open_runner(path, ["Never."], store.toolset()) as runner:
        (failed,) = await runner.resume_open()
    assert failed.outcome == "failed" and "could not list its tools" in failed.reason
    store.is_down = False
    async with open_runner(path, ["Hello.", "Done."], store.toolset()) as runner:
        assert await runner.resume_open() == []  # it has failed, it was not abandoned
        [e async for e in runner.run_async(**WHO, new_message="Hi")]
        assert store.received == []
        run = runner.run_async(**WHO, invocation_id=failed.invocation_id)
        assert trace([e async for e in run])[-1] == "root: Done."
    assert len(store.received) == 1


async def test_answer_for_a_tool_does_not_reach_another_tool_with_the_same_name(tmp_path: Path):
    path = tmp_path / "s.db"
    store = Store("first", asks=True)
    store.tool = "a.b"
    asked = await ask(path, store.toolset(), name="a_b")
    store.tool = "a/b"
    async with open_runner(path, ["Never."], store.toolset()) as runner:
        with pytest.raises(InvalidAnswerError, match="under another name"):
            await anext(runner.run_async(**WHO, new_message=respond(asked, ANSWERS["form"])))
    assert len(store.received) == 1 and await open_ids(path) == [asked.id]


async def test_answer_for_a_server_does_not_reach_a_function(tmp_path: Path):
    path, bought = tmp_path / "s.db", list[str]()

    def buy() -> str:
        bought.append("local")
        return "bought"

    asked = await ask(path, Store("first", asks=True).toolset())
    async with open_runner(path, ["Never."], buy) as runner:
        with pytest.raises(InvalidAnswerError, match="now one of the program"):
            await anext(runner.run_async(**WHO, new_message=respond(asked, ANSWERS["form"])))
    assert bought == [] and await open_ids(path) == [asked.id]


async def test_rejection_of_a_call_whose_tool_is_another_server_s_now_runs_nothing(tmp_path: Path):
    path = tmp_path / "s.db"
    first, second = make_stores("approval")
    asked = await ask(path, first.toolset())
    async with open_runner(path, ["Fine."], second.toolset()) as runner:
        message = respond(asked, {"confirmed": False})
        events = [e async for e in runner.run_async(**WHO, new_message=message)]
    assert second.received == [] and "rejected" in trace(events)[0]
    assert trace(events)[-1] == "root: Fine."


async def test_call_in_doubt_is_not_run_again_at_another_server(tmp_path: Path):
    first, second = Store("first"), Store("second")

    def make_agent(world: World) -> Any:
        tools: list[Any] = [first.toolset(), second.toolset()]
        return Agent(name="root", model=step_model(call("buy"), "Done."), tools=tools)

    life = Life(Scenario(make_agent, "Buy"), tmp_path / "s.db", resumable=False)
    assert not await life.process(3)  # message, call, response
    first.is_down = True
    assert await life.process()
    answers = [r.response for e in await life.log() for r in e.get_function_responses()]
    assert "it is unknown whether the call took effect" in answers[0]["error"]  # type: ignore[index]
    assert len(first.received) == 1 and second.received == []


def test_digest_tells_apart_servers_with_one_label_and_shows_no_secret():
    def start(*args: str, **options: Any) -> StdioConnectionParams:
        server: Any = {"command": "docker", "args": [*args], **options}
        return StdioConnectionParams(server_params=server)

    def reach(url: str, **headers: str) -> StreamableHTTPConnectionParams:
        return StreamableHTTPConnectionParams(url=url, headers=headers or None)

    same = [start("run", "a"), start("run", "b"), start("run", "a", env={"ACCOUNT": "1"})]
    assert len({server_label(one) for one in same}) == 1
    assert len({digest_address(one) for one in same}) == 3
    tenants = [reach("https://x.test/mcp?t=1"), reach("https://x.test/mcp?t=2")]
    assert digest_address(tenants[0]) != digest_address(tenants[1])
    assert digest_address(tenants[0]) == digest_address(reach("https://x.test/mcp?t=1"))
    assert all(len(digest_address(one)) == 4 for one in [*same[:2], *tenants])
    assert digest_address(same[2]).startswith(f"{digest_address(same[0])}.")
    assert digest_address(reach("https://x.test/mcp")) == ""
