"""BaseToolset: filters, prefixes and the hooks that do nothing by default."""

import pytest

from ostinato.agents import LlmAgent
from ostinato.context.readonly import ReadonlyContext
from ostinato.models.llm_request import LlmRequest
from ostinato.tools.base_tool import BaseTool
from ostinato.tools.base_toolset import BaseToolset, ToolPredicate
from ostinato.tools.function_tool import FunctionTool
from tests.unit.tools.contexts import make_context, make_invocation


def read(path: str) -> str:
    """Read a file."""
    return path


def write(path: str) -> str:
    """Write a file."""
    return path


class Files(BaseToolset):
    """Two tools, filtered as the base class says."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        tools = [FunctionTool(read), FunctionTool(write)]
        return [tool for tool in tools if self._is_tool_selected(tool, readonly_context)]


async def names_of(toolset: BaseToolset, context: ReadonlyContext | None = None) -> list[str]:
    return [tool.name for tool in await toolset.get_tools_with_prefix(context)]


@pytest.mark.spec(130)
async def test_a_list_of_names_filters_the_tools() -> None:
    assert await names_of(Files()) == ["read", "write"]
    assert await names_of(Files(tool_filter=["write"])) == ["write"]


@pytest.mark.spec(130)
async def test_a_predicate_sees_tool_and_readonly_context() -> None:
    seen: list[object] = []

    def only_read(tool: BaseTool, readonly_context: ReadonlyContext | None = None) -> bool:
        seen.append(readonly_context)
        return tool.name == "read"

    assert isinstance(only_read, ToolPredicate)
    context = ReadonlyContext(make_invocation())
    assert await names_of(Files(tool_filter=only_read), context) == ["read"]
    assert seen == [context, context]


@pytest.mark.spec(130)
async def test_a_prefix_names_the_tool_and_its_declaration() -> None:
    tools = await Files(tool_name_prefix="disk").get_tools_with_prefix()
    assert [tool.name for tool in tools] == ["disk_read", "disk_write"]
    request = LlmRequest()
    request.append_tools(tools)
    assert request.config.tools is not None
    declarations = request.config.tools[0].function_declarations or []
    assert [d.name for d in declarations] == ["disk_read", "disk_write"]
    assert await tools[0].run_async(args={"path": "p"}, tool_context=make_context()) == "p"


@pytest.mark.spec(130)
@pytest.mark.parametrize("prefix", [None, "disk"])
async def test_an_agents_tools_are_listed_once_per_invocation(prefix: str | None) -> None:
    toolset = Files(tool_name_prefix=prefix)
    run = make_invocation()
    context, other = ReadonlyContext(make_invocation()), ReadonlyContext(run)
    first = await toolset.get_tools_with_prefix(context)
    assert await toolset.get_tools_with_prefix(other) is first
    run.invocation_id = "e-2"
    later = await toolset.get_tools_with_prefix(other)
    assert [tool.name for tool in later] == [tool.name for tool in first]
    assert later[0] is not first[0]


@pytest.mark.spec(130)
async def test_agents_that_share_a_toolset_get_a_list_each() -> None:
    def for_caller(tool: BaseTool, readonly_context: ReadonlyContext | None = None) -> bool:
        return readonly_context is not None and readonly_context.agent_name == "caller"

    toolset = Files(tool_filter=for_caller)
    run = make_invocation()
    run.agent = LlmAgent(name="other")
    context, other = ReadonlyContext(make_invocation()), ReadonlyContext(run)
    assert await names_of(toolset, context) == ["read", "write"]
    assert await names_of(toolset, other) == []


@pytest.mark.spec(130)
async def test_without_a_context_tools_are_listed_anew() -> None:
    toolset = Files()
    first = await toolset.get_tools_with_prefix()
    assert (await toolset.get_tools_with_prefix())[0] is not first[0]


@pytest.mark.spec(130)
async def test_what_a_toolset_need_not_override_does_nothing() -> None:
    toolset, request = Files(), LlmRequest()
    await toolset.process_llm_request(tool_context=make_context(), llm_request=request)
    await toolset.close()
    assert request == LlmRequest()
    assert toolset.get_auth_config() is None
