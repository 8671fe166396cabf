"""pytest style: tools called with MagicMock and Mock(spec=...) as their context."""

from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext


def greet(name: str, tool_context: ToolContext) -> dict:
    """Greets."""
    tool_context.state["greeted"] = name
    return {"greeting": f"Hello, {name}"}


def plain(name: str) -> str:
    """Greets without a context."""
    return f"Hello, {name}"


@pytest.fixture
def context():
    context = MagicMock()
    context.state = {}
    return context


@pytest.mark.asyncio
async def test_the_function_gets_the_mock(context):
    result = await FunctionTool(greet).run_async(args={"name": "Ann"}, tool_context=context)
    assert result == {"greeting": "Hello, Ann"}
    assert context.state == {"greeted": "Ann"}


@pytest.mark.asyncio
async def test_spec_of_tool_context():
    context = Mock(spec=ToolContext)
    context.state = {}
    result = await FunctionTool(greet).run_async(args={"name": "Bob"}, tool_context=context)
    assert result == {"greeting": "Hello, Bob"}


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [FunctionTool, LongRunningFunctionTool])
async def test_a_function_without_context(kind):
    assert await kind(plain).run_async(args={"name": "Ann"}, tool_context=MagicMock()) == (
        "Hello, Ann"
    )


@pytest.mark.asyncio
async def test_missing_argument_is_told():
    result = await FunctionTool(plain).run_async(args={}, tool_context=MagicMock())
    assert "error" in result and "name" in result["error"]


@pytest.mark.asyncio
async def test_async_mock_as_the_function():
    function = AsyncMock(return_value="done", __name__="work", __doc__="Works.")
    context = MagicMock(spec=ToolContext)
    assert context.function_call_id is not None
    assert await function(context) == "done"
