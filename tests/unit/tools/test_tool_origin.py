"""Where tools come from: recorded with their calls, and shown with what a person decides."""

import json
from typing import Any

import pytest
from mcp import types as mcp_types
from mcp.server.mcpserver import MCPServer

from ostinato.agents import Agent
from ostinato.events.event import Event
from ostinato.events.pending import pending_calls
from ostinato.events.tool_origin import TOOL_ORIGINS, ToolOrigin, read_tool_origin
from ostinato.sessions.log.call_requests import call_requests, read_origin
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import AgentTool, FunctionTool
from ostinato.tools.base_tool import describe_origin
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from ostinato.tools.openapi_tool import OpenAPIToolset

DESTROYS = mcp_types.ToolAnnotations(destructive_hint=True)
READS = mcp_types.ToolAnnotations(read_only_hint=True)


def make_shop(**options: Any) -> McpToolset:
    server = MCPServer("shop")
    server.add_tool(lambda: "42", name="count", description="Counts.", annotations=READS)
    server.add_tool(lambda: "gone", name="drop", description="Drops.", annotations=DESTROYS)
    server.add_tool(lambda: "sent", name="send", description="Sends.")
    return McpToolset(connection_params=InProcessConnectionParams(server=server), **options)


def calls_in(events: list[Event]) -> list[Event]:
    return [event for event in events if event.get_function_calls()]


async def test_event_with_a_call_names_server_tool_and_policy():
    agent = Agent(
        name="root",
        model=ScriptedModel([call("my_count"), call("my_send"), "Done."]),
        tools=[make_shop(tool_name_prefix="my")],
    )
    talk = Conversation(agent)
    await talk.say("Go")
    first, second = calls_in(talk.events)
    assert read_tool_origin(first, first.get_function_calls()[0].id) == ToolOrigin(
        "mcp", "shop", "count", "read_only"
    )
    metadata = second.custom_metadata or {}
    assert metadata[TOOL_ORIGINS] == {
        second.get_function_calls()[0].id: {
            "kind": "mcp",
            "source": "shop",
            "operation": "send",
            "policy": "at_most_once",
        }
    }


async def test_functions_and_agents_of_the_program_leave_the_event_as_it_is():
    def plain() -> str:
        return "x"

    helper = Agent(name="helper", model=ScriptedModel(["Yes."]))
    model = ScriptedModel([call("plain"), call("helper", request="Help"), "Done."])
    talk = Conversation(Agent(name="root", model=model, tools=[plain, AgentTool(helper)]))
    await talk.say("Go")
    assert [event.custom_metadata for event in calls_in(talk.events)] == [None, None]


async def test_request_for_approval_names_the_origin_in_log_and_inbox():
    agent = Agent(
        name="root",
        model=ScriptedModel([call("drop"), "Done."]),
        tools=[make_shop(require_confirmation=True)],
    )
    talk = Conversation(agent)
    await talk.say("Go")
    session = await talk.session()
    (waiting,) = pending_calls(session.events)
    assert waiting.origin == ToolOrigin("mcp", "shop", "drop", "ask")
    records = [EventRecord.of(event) for event in session.events]
    asks = next(event for event in session.events if event.long_running_tool_ids)
    (request,) = call_requests(asks, EventLog(records))
    assert read_origin(request) == waiting.origin


def test_operation_of_a_document():
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": {
            "/pets": {
                "get": {"operationId": "listPets", "responses": {}},
                "post": {"operationId": "addPet", "responses": {}},
                "put": {
                    "operationId": "putPet",
                    "parameters": [
                        {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
                    ],
                    "responses": {},
                },
            }
        },
    }
    tools = OpenAPIToolset(spec_dict=document).tools
    assert [describe_origin(tool) for tool in tools] == [
        ToolOrigin("openapi", "Pets", "GET /pets", "read_only"),
        ToolOrigin("openapi", "Pets", "POST /pets", "at_most_once"),
        ToolOrigin("openapi", "Pets", "PUT /pets", "idempotent"),
    ]


def test_function_has_the_policy_of_its_developer():
    def pay() -> str:
        return "paid"

    tool = FunctionTool(pay, in_doubt="ask")
    assert describe_origin(tool).to_json() == {"kind": "function", "policy": "ask"}


@pytest.mark.parametrize(
    "stored", [None, "mcp", {}, {"kind": "virus"}, {"kind": "mcp", "policy": "x"}, {"kind": []}]
)
def test_stored_nonsense_is_no_origin(stored: Any):
    event = Event(author="a", custom_metadata={TOOL_ORIGINS: {"c": stored}})
    assert read_tool_origin(event, "c") is None
    assert read_tool_origin(Event(author="a", custom_metadata={TOOL_ORIGINS: 3}), "c") is None
    assert ToolOrigin.from_json(json.loads(json.dumps(stored))) is None
