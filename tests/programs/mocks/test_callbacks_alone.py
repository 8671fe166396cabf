"""pytest style: a user's own callbacks tested without a run, with stand-ins for their arguments."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest, LlmResponse
from google.adk.tools import BaseTool, FunctionTool, ToolContext
from google.genai import types


def guard(callback_context: CallbackContext, llm_request: LlmRequest):
    for content in llm_request.contents:
        if any("secret" in (part.text or "") for part in content.parts):
            callback_context.state["blocked"] = True
            return LlmResponse(
                content=types.Content(role="model", parts=[types.Part(text="Blocked.")])
            )
    return None


def limit(tool: BaseTool, args: dict, tool_context: ToolContext):
    if tool.name == "pay" and args["amount"] > 10:
        return {"error": "too much"}
    return None


def request(text):
    return LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text=text)])])


@pytest.mark.parametrize(("text", "blocked"), [("a secret", True), ("hello", False)])
def test_guard(text, blocked):
    context = SimpleNamespace(state={})
    response = guard(context, request(text))
    assert (response is not None) == blocked
    assert context.state.get("blocked", False) == blocked
    if blocked:
        assert response.content.parts[0].text == "Blocked."
        assert response == LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text="Blocked.")])
        )


def test_limit_with_mocked_tool():
    tool = MagicMock(spec=BaseTool)
    tool.name = "pay"
    assert limit(tool, {"amount": 11}, MagicMock(spec=ToolContext)) == {"error": "too much"}
    assert limit(tool, {"amount": 1}, MagicMock(spec=ToolContext)) is None
    assert tool.is_long_running is not None


def test_limit_with_a_real_tool():
    def pay(amount: int) -> str:
        """Pays."""
        return "paid"

    assert limit(FunctionTool(pay), {"amount": 50}, None) == {"error": "too much"}


def test_append_instructions_and_tools():
    asked = request("hi")
    asked.append_instructions(["One.", "Two."])
    asked.append_tools([FunctionTool(test_limit_with_a_real_tool)])
    assert asked.config.system_instruction == "One.\n\nTwo."
    assert list(asked.tools_dict) == ["test_limit_with_a_real_tool"]
    assert len(asked.config.tools[0].function_declarations) == 1
