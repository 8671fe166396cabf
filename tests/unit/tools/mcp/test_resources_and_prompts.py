"""Resources and prompts of MCP servers, toolsets in files, and pickling."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage

from ostinato.agents import Agent
from ostinato.agents.config_agent_utils import from_config as load_agent
from ostinato.agents.mcp_instruction_provider import McpInstructionProvider
from ostinato.errors import AgentConfigError, AgentFileError, NotFoundError
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.tools.load_mcp_resource_tool import LoadMcpResourceTool
from ostinato.tools.mcp_tool import (
    InProcessConnectionParams,
    McpToolset,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
    adk_to_mcp_tool_type,
    gemini_to_json_schema,
    mcp_toolsets_from_file,
)
from ostinato.tools.tool_configs import ToolArgsConfig
from ostinato.types import Schema, Type
from tests.support.mcp import raw_server
from tests.unit.tools.contexts import make_context


def make_params() -> InProcessConnectionParams:
    server = MCPServer("library")

    @server.resource("file:///note.txt", name="note", mime_type="text/plain")
    def note() -> str:
        return "The shop opens at nine."

    @server.resource("file:///dot.png", name="dot", mime_type="image/png")
    def dot() -> bytes:
        return b"png"

    @server.resource("book://{title}", name="book")
    def book(title: str) -> str:
        return f"All about {title}."

    @server.prompt()
    def greet(name: str, tone: str = "kind") -> list[UserMessage]:
        return [UserMessage(f"Greet {name}, "), UserMessage(f"be {tone}.")]

    return InProcessConnectionParams(server=server)


@pytest.fixture
async def library() -> Any:
    toolset = McpToolset(connection_params=make_params(), use_mcp_resources=True)
    yield toolset
    await toolset.close()


async def test_resources_by_name_address_and_template(library: McpToolset):
    assert await library.list_resources() == ["note", "dot"]
    assert (await library.get_resource_info("note"))["uri"] == "file:///note.txt"
    (template,) = await library.list_resource_templates()
    assert template["uriTemplate"] == "book://{title}"
    assert (await library.read_resource("note"))[0].text == "The shop opens at nine."
    assert (await library.read_resource("book://cats"))[0].text == "All about cats."
    with pytest.raises(NotFoundError, match="library has no resource named 'gone'"):
        await library.read_resource("gone")


async def test_model_reads_resources_that_it_asks_for(library: McpToolset):
    asked = call("load_mcp_resource", resource_names=["note", "dot", "gone"])
    model = ScriptedModel([asked, "At nine.", "Bye."])
    talk = Conversation(Agent(name="root", model=model, tools=[library]))
    await talk.say("When?")
    instruction = model.requests[0].instruction
    assert '["note", "dot"]' in instruction and "book://{title}" in instruction
    shown = [part for content in model.requests[1].contents for part in content.parts or ()]
    texts = [part.text for part in shown if part.text]
    assert "The shop opens at nine." in texts
    assert any("Resource gone cannot be read" in text for text in texts)
    assert any(part.inline_data and part.inline_data.data == b"png" for part in shown)
    await talk.say("Thanks")
    assert "opens at nine" not in str(model.requests[2].contents)


async def test_wrong_names_are_the_models_mistake(library: McpToolset):
    tool = LoadMcpResourceTool(library)
    answer = await tool.run_async(args={"resource_names": [1]}, tool_context=make_context())
    assert "expected a list of names" in answer["error"]


async def test_prompts(library: McpToolset):
    (prompt,) = await library.list_prompts()
    assert [one["name"] for one in prompt["arguments"]] == ["name", "tone"]
    result = await library.get_prompt("greet", {"name": "Ann"})
    assert result.messages[0].content.text == "Greet Ann, "


async def test_instruction_from_a_prompt():
    provider = McpInstructionProvider(make_params(), "greet")
    model = ScriptedModel(["Hello"])
    agent = Agent(name="root", model=model, instruction=provider)
    talk = Conversation(agent, state={"name": "Ann", "other": 1})
    await talk.say("Hi")
    assert "Greet Ann, be kind." in model.requests[0].instruction
    await provider.close()


async def test_instruction_names_what_is_missing():
    context: Any = SimpleNamespace(state={}, app_name="app", user_id="ann")
    provider = McpInstructionProvider(make_params(), "greet")
    with pytest.raises(AgentConfigError, match="requires name"):
        await provider(context)
    await provider.close()
    unknown = McpInstructionProvider(make_params(), "nope")
    with pytest.raises(NotFoundError, match="has no prompt 'nope'; it has: greet"):
        await unknown(context)
    await unknown.close()


def from_config(**fields: Any) -> McpToolset:
    return McpToolset.from_config(ToolArgsConfig(**fields), "agent.yaml")


def test_toolset_from_settings():
    toolset = from_config(
        streamable_http_connection_params={"url": "http://127.0.0.1:1/mcp", "timeout": 2},
        tool_filter=["a"],
        tool_name_prefix="shop",
        tool_list_cache_ttl_seconds=5,
        use_mcp_resources=True,
    )
    params = toolset._manager.params
    assert isinstance(params, StreamableHTTPConnectionParams) and params.timeout == 2
    assert toolset.tool_filter == ["a"] and toolset.tool_name_prefix == "shop"


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({}, "exactly one of"),
        (
            {
                "sse_connection_params": {"url": "http://a"},
                "stdio_server_params": {"command": "x"},
            },
            "exactly one of",
        ),
        ({"sse_connection_params": {"url": "ftp://a"}}, "is not an http or https address"),
        ({"unknown": 1, "sse_connection_params": {"url": "http://a"}}, "Extra inputs"),
    ],
)
def test_faulty_settings_are_refused(fields: dict[str, Any], fault: str):
    with pytest.raises(ValueError, match=fault):
        from_config(**fields)


def write_agent(folder: Path) -> Path:
    file = folder / "root_agent.yaml"
    file.write_text(
        "name: root\nmodel: offline\ninstruction: x\ntools:\n"
        "  - name: ostinato.tools.McpToolset\n    args:\n      stdio_server_params:\n"
        "        command: some-program\n"
    )
    return file


@pytest.mark.long
def test_file_starts_a_program_only_where_the_host_allows_it(tmp_path: Path):
    file = write_agent(tmp_path)
    toolset_name = "ostinato.tools.McpToolset"
    home = "ostinato.tools.mcp.mcp_toolset.McpToolset"
    with pytest.raises(AgentFileError, match="McpToolset"):
        load_agent(str(file))
    with pytest.raises(AgentFileError, match="starts a program"):
        load_agent(str(file), allow_code_from=[toolset_name, home])
    stdio = "ostinato.tools.mcp_tool.StdioConnectionParams"
    agent: Any = load_agent(str(file), allow_code_from=[toolset_name, home, stdio])
    assert isinstance(agent.tools[0], McpToolset)


def test_toolsets_from_a_file_of_servers(tmp_path: Path):
    file = tmp_path / ".mcp.json"
    servers = {
        "files": {"command": "npx", "args": ["files"], "env": {"A": "b"}},
        "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"x": "1"}},
        "old": {"type": "sse", "url": "https://example.com/sse"},
        "off": {"command": "x", "disabled": True},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    toolsets = mcp_toolsets_from_file(file, require_confirmation=True)
    assert [one.tool_name_prefix for one in toolsets] == ["files", "web", "old"]
    kinds = [type(one._manager.params) for one in toolsets]
    assert kinds == [StdioConnectionParams, StreamableHTTPConnectionParams, SseConnectionParams]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("nonsense", "is not JSON"),
        ("{}", "no object `mcpServers`"),
        ('{"mcpServers": {"a": {"type": "carrier-pigeon"}}}', "carrier-pigeon"),
        ('{"mcpServers": {"a": {"url": "http://x/${KEY}"}}}', "environment variable"),
        ('{"mcpServers": {"a": {"type": "http"}}}', "not an http or https address"),
        ('{"mcpServers": {"a": 1}}', "is not an object"),
    ],
)
def test_faulty_files_of_servers(tmp_path: Path, text: str, fault: str):
    file = tmp_path / "servers.json"
    file.write_text(text)
    with pytest.raises(AgentConfigError, match=fault):
        mcp_toolsets_from_file(file)


@pytest.mark.long
async def test_pickled_toolset_connects_anew():
    toolset = McpToolset(connection_params=raw_server(), tool_filter=["echo"])
    await toolset.get_tools()
    copy = pickle.loads(pickle.dumps(toolset))
    assert [tool.name for tool in await copy.get_tools()] == ["echo"]
    await toolset.close()
    await copy.close()


def test_conversion_of_tools_and_schemas():
    def add(n: int) -> int:
        """Add."""
        return n

    tool = adk_to_mcp_tool_type(FunctionTool(add))
    assert tool.name == "add" and tool.input_schema["required"] == ["n"]
    schema = Schema(
        type=Type.OBJECT,
        properties={"a": Schema(type=Type.STRING, max_length=3), "b": Schema(nullable=True)},
        required=["a"],
    )
    assert gemini_to_json_schema(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "maxLength": 3},
            "b": {"type": "null", "nullable": True},
        },
        "required": ["a"],
    }
    with pytest.raises(TypeError, match=r"types\.Schema"):
        gemini_to_json_schema({})  # pyright: ignore[reportArgumentType]
