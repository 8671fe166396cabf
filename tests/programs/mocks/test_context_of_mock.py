"""pytest style: contexts made around a mocked invocation context with fake services."""

from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools import ToolContext
from google.genai import types


@pytest.fixture
def invocation():
    context = Mock(spec=InvocationContext)
    context.session = MagicMock()
    context.session.state = {"a": 1}
    context.session.id = "s"
    context.app_name = "app"
    context.user_id = "u"
    context.invocation_id = "i"
    context.agent = MagicMock()
    context.agent.name = "desk"
    context.artifact_service = AsyncMock()
    context.artifact_service.save_artifact.return_value = 3
    context.artifact_service.list_artifact_keys.return_value = ["f"]
    context.memory_service = AsyncMock()
    context.run_config = None
    context.user_content = types.Content(role="user", parts=[types.Part(text="hi")])
    return context


def test_state_is_written_through(invocation):
    context = CallbackContext(invocation)
    context.state["b"] = 2
    assert context.state["a"] == 1
    assert context.state.to_dict() == {"a": 1, "b": 2}
    assert context.actions.state_delta == {"b": 2}


def test_readonly(invocation):
    context = ReadonlyContext(invocation)
    assert context.agent_name == "desk"
    assert context.invocation_id == "i"
    assert context.state["a"] == 1
    with pytest.raises(TypeError):
        context.state["a"] = 2


@pytest.mark.asyncio
async def test_artifacts_call_the_service(invocation):
    context = ToolContext(invocation, function_call_id="c1")
    version = await context.save_artifact("f.txt", types.Part(text="x"))
    assert version == 3
    assert context.actions.artifact_delta == {"f.txt": 3}
    asked = invocation.artifact_service.save_artifact.call_args.kwargs
    assert (asked["app_name"], asked["user_id"], asked["session_id"]) == ("app", "u", "s")
    assert asked["filename"] == "f.txt"
    assert await context.list_artifacts() == ["f"]


@pytest.mark.asyncio
async def test_memory_calls_the_service(invocation):
    context = ToolContext(invocation)
    await context.search_memory("what")
    invocation.memory_service.search_memory.assert_awaited_once_with(
        app_name="app", user_id="u", query="what"
    )


def test_confirmation(invocation):
    context = ToolContext(invocation, function_call_id="c1")
    context.request_confirmation(hint="Sure?")
    assert context.actions.requested_tool_confirmations["c1"].hint == "Sure?"


def test_confirmation_needs_a_call(invocation):
    with pytest.raises(ValueError):
        ToolContext(invocation).request_confirmation(hint="Sure?")
