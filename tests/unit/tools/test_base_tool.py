"""BaseTool: what the flow and a request need of a tool."""

from typing import Any

import pytest

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from ostinato.tools.base_tool import BaseTool
from tests.unit.tools.contexts import make_context


class Echo(BaseTool):
    """Declares itself and answers with its arguments."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return args


@pytest.mark.spec(128)
async def test_a_tool_adds_itself_to_the_request() -> None:
    tool, request = Echo(name="echo", description="Says it again."), LlmRequest()
    await tool.process_llm_request(tool_context=make_context(), llm_request=request)
    assert request.tools_dict == {"echo": tool}
    assert request.config.tools is not None
    declarations = request.config.tools[0].function_declarations
    assert [d.name for d in declarations or ()] == ["echo"]


@pytest.mark.spec(128)
async def test_a_tool_without_a_declaration_is_not_told_to_the_model() -> None:
    tool, request = BaseTool(name="quiet", description=""), LlmRequest()
    await tool.process_llm_request(tool_context=make_context(), llm_request=request)
    assert request.tools_dict == {}
    assert not request.config.tools


@pytest.mark.spec(128)
async def test_a_tool_has_name_description_and_kind() -> None:
    tool = BaseTool(
        name="n", description="d", is_long_running=True, custom_metadata={"owner": "us"}
    )
    assert (tool.name, tool.description, tool.is_long_running) == ("n", "d", True)
    assert tool.custom_metadata == {"owner": "us"}
    assert BaseTool(name="n", description="d").is_long_running is False


async def test_a_tool_that_cannot_run_says_which_class_lacks_what() -> None:
    tool = BaseTool(name="empty", description="")
    with pytest.raises(NotImplementedError, match=r"'empty'.*BaseTool.*run_async"):
        await tool.run_async(args={}, tool_context=make_context())


async def test_a_renamed_copy_declares_the_new_name_and_leaves_the_original_alone() -> None:
    tool = Echo(name="echo", description="d")
    other = tool.copy_as("my_echo")
    declaration = other._get_declaration()
    assert declaration is not None and declaration.name == "my_echo"
    assert tool._get_declaration().name == tool.name == "echo"
    assert await other.run_async(args={"a": 1}, tool_context=make_context()) == {"a": 1}
