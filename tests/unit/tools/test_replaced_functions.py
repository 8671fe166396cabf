"""Open calls of functions whose names tools from outside have by the time of the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server

from ostinato import Agent, Runner, types
from ostinato.auth import AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_schemes import CustomAuthScheme
from ostinato.auth.auth_tool import AuthConfig
from ostinato.errors import InvalidAnswerError
from ostinato.events.request_input import TOOL_QUESTION
from ostinato.events.tool_origin import TOOL_ORIGINS
from ostinato.sessions import SqliteSessionService
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool, ToolContext
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from ostinato.tools.openapi_tool import OpenAPIToolset
from ostinato.tools.policy import Policy, Rule
from tests.unit.durable.crash import Life, Scenario, World
from tests.unit.durable.test_crash_points import step_model

WHO: dict[str, Any] = {"user_id": "u", "session_id": "s"}
ASK_ALL = Policy(rules=[Rule(id="all", verdict="ask")])
GIVEN = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
ANSWERS: dict[str, dict[str, Any]] = {
    "rule": {"confirmed": True},
    "body": {"confirmed": True},
    "question": {"card": "4111"},
    "credential": {
        "exchangedAuthCredential": GIVEN.model_dump(mode="json", exclude_none=True, by_alias=True)
    },
}


class Shop:
    """Everything that can be called `buy`; `bought` holds who was called."""

    def __init__(self) -> None:
        self.bought: list[str] = []

    def function(self, how: str = "rule") -> FunctionTool:
        config = AuthConfig(
            auth_scheme=CustomAuthScheme.model_validate({"type": "custom"}), credential_key="key"
        )

        def buy(tool_context: ToolContext) -> Any:
            """Buy."""
            if how == "credential" and tool_context.get_auth_response(config) is None:
                tool_context.request_credential(config)
                return {"pending": True}
            if how in ("body", "question") and tool_context.tool_confirmation is None:
                payload = {TOOL_QUESTION: True} if how == "question" else None
                tool_context.request_confirmation(hint="Buy?", payload=payload)
                tool_context.actions.skip_summarization = True
                return {"pending": True}
            self.bought.append("function")
            return "bought"

        return FunctionTool(buy, require_confirmation=how == "rule")

    def mcp(self, **options: Any) -> McpToolset:
        async def list_tools(context: Any, params: Any) -> Any:
            hints = mcp_types.ToolAnnotations(idempotent_hint=True)
            tool = mcp_types.Tool(name="buy", input_schema={"type": "object"}, annotations=hints)
            return mcp_types.ListToolsResult(tools=[tool])

        async def call_tool(context: Any, params: Any) -> Any:
            self.bought.append("mcp")
            return mcp_types.CallToolResult(content=[])

        server: Any = Server("store", on_list_tools=list_tools, on_call_tool=call_tool)
        params = InProcessConnectionParams(server=server)
        return McpToolset(connection_params=params, **options)

    def api(self, url: str = "https://shop.example", title: str = "Shop") -> OpenAPIToolset:
        document = {
            "openapi": "3.1.0",
            "info": {"title": title, "version": "1"},
            "servers": [{"url": url}],
            "paths": {"/buy": {"get": {"operationId": "buy", "responses": {}}}},
        }

        def refuse() -> Any:
            self.bought.append(url)
            raise RuntimeError("no network")

        return OpenAPIToolset(
            spec_dict=document, httpx_client_factory=refuse, allow_private_network_access=True
        )


def open_runner(path: Path, turns: list[Any], *tools: Any, policy: Policy | None = None) -> Runner:
    agent = Agent(name="root", model=ScriptedModel(turns), tools=[*tools])
    return Runner(
        agent=agent,
        app_name="x",
        session_service=SqliteSessionService(path),
        auto_create_session=True,
        policy=policy,
    )


async def ask(path: Path, *tools: Any, policy: Policy | None = None) -> types.Content:
    """Let a process ask a person; return the approval, the answer or the credential."""
    async with open_runner(path, [call("buy")], *tools, policy=policy) as runner:
        events = [e async for e in runner.run_async(**WHO, new_message="Buy")]
    asked = [c for e in events for c in e.get_function_calls() if (c.name or "")[:4] == "adk_"]
    (one,) = asked
    key = {"adk_request_credential": "credential", "adk_request_input": "question"}.get(
        one.name or "", "rule"
    )
    given = types.FunctionResponse(id=one.id, name=one.name, response=ANSWERS[key])
    return types.Content(role="user", parts=[types.Part(function_response=given)])


async def errors_in(path: Path) -> list[Any]:
    """Return the newest response to each call of `buy`."""
    service = SqliteSessionService(path)
    session = await service.get_session(app_name="x", **WHO)
    await service.close()
    assert session is not None
    found = [r for e in session.events for r in e.get_function_responses() if r.name == "buy"]
    return [one.response and one.response.get("error") for one in found][-1:]


OTHERS: dict[str, Callable[[Shop], Any]] = {"mcp": Shop.mcp, "api": Shop.api}
SOURCES = {"mcp": "MCP server store", "api": "API Shop"}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("how", ANSWERS)
async def test_answer_for_a_function_is_refused_and_stays_open(
    tmp_path: Path, how: str, other: str
):
    path, shop = tmp_path / "s.db", Shop()
    message = await ask(path, shop.function(how))
    async with open_runner(path, ["Never."], OTHERS[other](shop)) as runner:
        with pytest.raises(InvalidAnswerError, match=f"'buy'.*now one of {SOURCES[other]}.*open"):
            await anext(runner.run_async(**WHO, new_message=message))
    assert shop.bought == []
    async with open_runner(path, ["Done."], shop.function(how)) as runner:
        [e async for e in runner.run_async(**WHO, new_message=message)]
    assert shop.bought == ["function"]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("how", ["rule", "body", "question"])
async def test_accepted_answer_for_a_function_runs_no_other_tool(
    tmp_path: Path, how: str, other: str
):
    path, shop = tmp_path / "s.db", Shop()
    message = await ask(path, shop.function(how))
    async with open_runner(path, [], shop.function(how)) as runner:
        await runner.submit(**WHO, new_message=message)
    async with open_runner(path, ["Well."], OTHERS[other](shop)) as runner:
        assert [one.outcome for one in await runner.resume_open()] == ["finished"]
    assert shop.bought == []
    assert await errors_in(path) == [
        f"Tool 'buy' is no longer available: the agent's tool of that name is now one of "
        f"{SOURCES[other]}. The call did not run."
    ]


@pytest.mark.parametrize(
    ("is_replaced", "end"),
    [
        (True, ": the agent's tool of that name is now one of the program. The call did not run."),
        (False, "; the call did not run."),
    ],
)
async def test_accepted_answer_for_a_server_says_what_became_of_its_tool(
    tmp_path: Path, is_replaced: bool, end: str
):
    path, shop = tmp_path / "s.db", Shop()
    toolset = shop.mcp(require_confirmation=True)
    message = await ask(path, toolset)
    async with open_runner(path, [], toolset) as runner:
        await runner.submit(**WHO, new_message=message)
    tools = [shop.function("")] if is_replaced else []
    async with open_runner(path, ["Well."], *tools) as runner:
        await runner.resume_open()
    assert shop.bought == []
    assert await errors_in(path) == [f"Tool 'buy' of MCP server store is no longer available{end}"]


async def test_function_that_was_redefined_gets_its_answer(tmp_path: Path):
    path, shop = tmp_path / "s.db", Shop()
    message = await ask(path, shop.function())

    def buy() -> str:
        shop.bought.append("redefined")
        return "bought"

    async with open_runner(path, ["Done."], buy) as runner:
        [e async for e in runner.run_async(**WHO, new_message=message)]
    assert shop.bought == ["redefined"]


@pytest.mark.parametrize("how", ANSWERS)
async def test_events_of_a_function_s_call_record_nothing(tmp_path: Path, how: str):
    path, shop = tmp_path / "s.db", Shop()
    async with open_runner(path, [call("buy")], shop.function(how)) as runner:
        events = [e async for e in runner.run_async(**WHO, new_message="Buy")]
    assert len(events) > 2
    assert not any(TOOL_ORIGINS in (e.custom_metadata or {}) for e in events)


@pytest.mark.parametrize("other", OTHERS)
async def test_function_in_doubt_is_not_run_again_as_another_tool(tmp_path: Path, other: str):
    shop, first = Shop(), [True]

    def make_agent(world: World) -> Any:
        tool = shop.function("") if first else OTHERS[other](shop)
        return Agent(name="root", model=step_model(call("buy"), "Done."), tools=[tool])

    life = Life(Scenario(make_agent, "Buy"), tmp_path / "s.db", resumable=False)
    assert not await life.process(3)  # message, call, response
    first.clear()
    assert await life.process()
    answers = [r.response for e in await life.log() for r in e.get_function_responses()]
    assert "it is unknown whether the call took effect" in answers[0]["error"]  # type: ignore[index]
    assert shop.bought == ["function"]


@pytest.mark.parametrize("is_kept", [True, False])
async def test_approval_for_an_operation_reaches_no_api_at_another_address(
    tmp_path: Path, is_kept: bool
):
    path, shop = tmp_path / "s.db", Shop()
    here, there = shop.api(), shop.api("https://other.example")
    tools: list[Any] = [there]
    if is_kept:
        here.tool_name_prefix = "old"
        tools.append(here)
    message = await ask(path, shop.api(), policy=ASK_ALL)
    async with open_runner(path, ["Done."], *tools, policy=ASK_ALL) as runner:
        with pytest.raises(InvalidAnswerError, match=r"'buy' of API Shop.*at another address"):
            await anext(runner.run_async(**WHO, new_message=message))
    assert shop.bought == []


async def test_approval_for_an_operation_reaches_no_other_api(tmp_path: Path):
    path, shop = tmp_path / "s.db", Shop()
    message = await ask(path, shop.api(), policy=ASK_ALL)
    for other, now in ((shop.api(title="Bank"), "API Bank"), (shop.function(""), "the program")):
        async with open_runner(path, ["Never."], other, policy=ASK_ALL) as runner:
            with pytest.raises(InvalidAnswerError, match=f"'buy' of API Shop.*now one of {now}"):
                await anext(runner.run_async(**WHO, new_message=message))
    assert shop.bought == []
