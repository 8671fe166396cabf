"""Tool nodes whose call was not run, because the server could not be reached or refused it."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from ostinato.context.node import RetryConfig
from ostinato.tools import BaseTool, FunctionTool, ToolContext
from ostinato.tools.call_doubt import CallNotRun
from ostinato.tools.openapi_tool import OpenAPIToolset
from ostinato.workflow import START, Workflow, node
from ostinato.workflow.node_errors import ToolNotRunError, ToolUnreachableError
from tests.unit.durable.crash import flagged
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import asked, gives, shows
from tests.unit.workflow.test_people import reply

PAID = "show got {'paid': 5}"


class Shop:
    """A server that is down for some calls, and the calls that reached it."""

    def __init__(self, down: int) -> None:
        self.down, self.paid = down, 0

    def tool(self, **options: Any) -> FunctionTool:
        async def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
            if self.down:
                self.down -= 1
                return CallNotRun(error="The server is down. The call was not run.")
            self.paid += 1
            return {"paid": amount}

        return FunctionTool(pay, in_doubt="at_most_once", **options)


def line_of(tool: BaseTool, **options: Any) -> Workflow:
    first = gives("first", {"amount": 5})
    return Workflow(name="flow", edges=[(START, first, node(tool, **options), shows())])


async def test_an_unreached_call_fails_its_node_and_is_made_later(store: Store) -> None:
    shop = Shop(1)
    talk = Talk(line_of(shop.tool()), store)
    error = await talk.fails()
    assert isinstance(error, ToolUnreachableError) and not isinstance(error, ToolNotRunError)
    assert "node flow@1/pay@1" in str(error) and "The server is down" in str(error)
    (failed,) = [event for event in await talk.stored() if event.error_code]
    assert failed.error_code == "ToolUnreachableError"
    events = await talk.say(None, invocation_id=failed.invocation_id)
    assert events[-1].output == PAID and shop.paid == 1
    assert not flagged(await talk.stored())


async def test_an_unreached_call_is_retried(store: Store) -> None:
    shop = Shop(2)
    retry = RetryConfig(max_attempts=3, initial_delay=0.0, jitter=0.0)
    talk = Talk(line_of(shop.tool(), retry_config=retry), store)
    assert (await talk.say())[-1].output == PAID and shop.paid == 1


@pytest.mark.parametrize("times", [1, 2])
async def test_an_approval_outlives_unreached_calls(store: Store, times: int) -> None:
    shop = Shop(times)
    talk = Talk(line_of(shop.tool(require_confirmation=True)), store)
    (question,) = asked(await talk.say())
    error = await talk.fails(reply(question.id, {"result": True}))
    for _ in range(times - 1):
        error = await talk.fails(None, invocation_id=talk.seen[0].invocation_id)
    assert isinstance(error, ToolUnreachableError)
    events = await talk.say(None, invocation_id=talk.seen[0].invocation_id)
    assert events[-1].output == PAID and shop.paid == 1
    assert len(asked(await talk.stored())) == 1


@pytest.mark.parametrize("method", ["get", "post"])
async def test_an_operation_whose_service_is_down_fails_its_node(
    memory: Store, method: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]  # free once more when the block ends
    operation = {"operationId": "pay", "responses": {"200": {"description": "Paid."}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "paths": {"/pay": {method: operation}},
    }
    toolset = OpenAPIToolset(spec_dict=document, allow_private_network_access=True)
    (tool,) = await toolset.get_tools()
    flow = Workflow(name="flow", edges=[(START, gives("first", {}), tool, shows())])
    error = await Talk(flow, memory).fails()
    assert isinstance(error, ToolUnreachableError) and "node flow@1/pay@1" in str(error)
