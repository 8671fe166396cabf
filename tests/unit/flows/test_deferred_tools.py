"""Deferred tools: a request tells the model of those that it has searched for."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LiveRequestQueue, LlmAgent
from ostinato.apps import App, ContextPolicy
from ostinato.errors import AgentConfigError
from ostinato.testing import ScriptedModel, call
from ostinato.tools import BaseTool, FunctionTool
from ostinato.tools.base_toolset import BaseToolset
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import DONE, HEARD, LiveModel, converse, said

KINDS = ("invoice", "customer", "shipment", "contract", "warehouse")
ACTS = ("create", "delete", "list", "update")
ran: list[str] = []


def make_tool(name: str, description: str, **options: Any) -> FunctionTool:
    def tool(number: int) -> str:
        ran.append(name)
        return f"{name} did {number}"

    tool.__name__, tool.__doc__ = name, description
    return FunctionTool(tool, **options)


class Warehouse(BaseToolset):
    """A thousand tools."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.tools: list[BaseTool] = [
            make_tool(f"{act}_{kind}_{region}", f"{act.title()} a {kind} in region {region}.")
            for act in ACTS
            for kind in KINDS
            for region in range(50)
        ]

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return self.tools


def greet() -> str:
    """Greet the user."""
    return "hello"


def make_talk(model: ScriptedModel, store: Store, *tools: Any, **app: Any) -> Talk:
    agent = LlmAgent(name="clerk", model=model, tools=list(tools))
    return Talk(App(name="talk", root_agent=agent, **app), store)


@pytest.mark.parametrize("prefix", [None, "erp"])
async def test_of_a_thousand_tools_a_request_holds_fewer_than_ten(
    store: Store, prefix: str | None
) -> None:
    start = f"{prefix}_" if prefix else ""
    wanted = f"{start}delete_shipment_17"
    model = ScriptedModel(
        [
            call("search_tools", query="delete a shipment in region 17"),
            call(wanted, number=5),
            "gone",
        ]
    )
    talk = make_talk(model, store, greet, Warehouse(defer=True, tool_name_prefix=prefix))
    events = await talk.say("go")
    assert model.requests[0].tool_names == ["greet", "search_tools"]
    assert model.requests[1].tool_names[:2] == ["greet", "search_tools"]
    assert wanted in model.requests[1].tool_names and len(model.requests[1].tool_names) < 10
    assert "did 5" in str(events)
    model.add("again", "ok")
    # Another process, which reads the session from the store, tells the model of the same tools.
    other = make_talk(model, store, greet, Warehouse(defer=True, tool_name_prefix=prefix))
    await other.say("more")
    assert model.requests[-1].tool_names == model.requests[2].tool_names


async def test_found_tools_are_appended_and_stay_below_ten(memory: Store) -> None:
    turns: list[Any] = [
        call("search_tools", query=f"{act} {kind}") for act in ACTS for kind in KINDS
    ]
    model = ScriptedModel([*turns, "done"])
    talk = make_talk(model, memory, greet, Warehouse(defer=True))
    await talk.say("go")
    told = [request.tool_names for request in model.requests]
    assert all(len(names) - 2 < 10 for names in told)
    assert all(names[:2] == ["greet", "search_tools"] for names in told)
    assert told[1] == told[2][: len(told[1])]


async def test_a_toolset_that_defers_leaves_its_tools_to_others(memory: Store) -> None:
    toolset = Warehouse(defer=True)
    model = ScriptedModel(["ok"])
    talk = make_talk(model, memory, toolset, toolset.tools[3])
    await talk.say("go")
    assert model.requests[0].tool_names == [toolset.tools[3].name, "search_tools"]


async def test_a_rewind_takes_back_what_was_found(memory: Store) -> None:
    model = ScriptedModel([call("search_tools", query="delete shipment"), "ok", "ok", "ok"])
    talk = make_talk(model, memory, make_tool("delete_shipment", "Delete.", defer=True))
    events = await talk.say("go")
    await talk.say("more")
    assert "delete_shipment" in model.requests[-1].tool_names
    await talk.runner.rewind_async(
        user_id="ann", session_id="one", rewind_before_invocation_id=events[0].invocation_id
    )
    await talk.say("more")
    assert model.requests[-1].tool_names == ["search_tools"]


@pytest.mark.parametrize("query", ["", "   ", None, 5, ["x"]])
async def test_a_search_for_nothing_is_a_mistake(memory: Store, query: Any) -> None:
    model = ScriptedModel([call("search_tools", query=query), "ok"])
    talk = make_talk(model, memory, make_tool("delete_shipment", "Delete.", defer=True))
    assert "error" in str(await talk.say("go"))


async def test_a_tool_that_was_not_searched_for_cannot_be_called(memory: Store) -> None:
    ran.clear()
    model = ScriptedModel([call("delete_shipment", number=1), "ok"])
    talk = make_talk(model, memory, make_tool("delete_shipment", "Delete.", defer=True))
    events = await talk.say("go")
    assert ran == [] and "search_tools" in str(events)


@pytest.mark.long
async def test_a_context_policy_and_deferred_tools_work_together(memory: Store) -> None:
    model = ScriptedModel([call("search_tools", query="list contracts"), "ok"])
    talk = make_talk(model, memory, greet, Warehouse(defer=True), context=ContextPolicy())
    await talk.say("go")
    assert model.requests[0].tool_names == ["read_result", "greet", "search_tools"]
    assert "list_contract_0" in model.requests[1].tool_names


@pytest.mark.long
async def test_a_tool_that_is_found_again_is_told_again(memory: Store) -> None:
    kinds = ["customer", "shipment", "contract", "invoice", "warehouse"]
    queries = ["delete invoice", *[f"update {kind}" for kind in kinds], "delete invoice"]
    model = ScriptedModel([*[call("search_tools", query=query) for query in queries], "done"])
    await make_talk(model, memory, Warehouse(defer=True)).say("go")
    assert "delete_invoice_0" in model.requests[1].tool_names
    assert "delete_invoice_0" not in model.requests[-2].tool_names
    assert "delete_invoice_0" in model.requests[-1].tool_names


@pytest.mark.parametrize("name", ["search_tools", "read_result"])
async def test_the_runtimes_names_are_taken(memory: Store, name: str) -> None:
    model = ScriptedModel(["ok"])
    tools = [make_tool(name, "Mine."), make_tool("other", "Other.", defer=True)]
    talk = make_talk(model, memory, *tools, context=ContextPolicy())
    error = await talk.fails("go")
    assert isinstance(error, AgentConfigError) and name in str(error) and "clerk" in str(error)


@pytest.mark.parametrize("other", [{}, {"defer": True}])
async def test_a_deferred_tool_needs_a_name_of_its_own(memory: Store, other: Any) -> None:
    tools = [make_tool("pay", "One.", defer=True), make_tool("pay", "Another.", **other)]
    error = await make_talk(ScriptedModel(["ok"]), memory, *tools).fails("go")
    assert isinstance(error, AgentConfigError) and "'pay'" in str(error) and "clerk" in str(error)


async def test_a_live_connection_is_told_of_all_tools(memory: Store) -> None:
    model = LiveModel([HEARD, DONE])
    deferred = make_tool("delete_shipment", "Delete.", defer=True)
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[greet, deferred]), memory)
    queue = LiveRequestQueue()
    queue.send_content(said("Hi"))
    await converse(talk, queue)
    assert list(model.requests[0].tools_dict) == ["greet", "delete_shipment"]
