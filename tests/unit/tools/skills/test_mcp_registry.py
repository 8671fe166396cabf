"""Skills that an MCP server offers as resources."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from mcp.server.mcpserver import MCPServer

from ostinato.errors import AgentFileError, NotFoundError
from ostinato.testing import call
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from ostinato.tools.skill_toolset import SkillToolset
from ostinato.tools.skills import McpSkillRegistry
from tests.support.published_skills import PNG, make_text
from tests.support.skill_agents import answers, talk


def make_server() -> MCPServer:
    server = MCPServer("shelf")

    @server.resource("skill://pdf/SKILL.md", name="SKILL.md", description="Works on PDF files.")
    def pdf() -> str:
        return make_text("pdf")

    @server.resource("skill://pdf/references/a.md", name="a.md")
    def reference() -> str:
        return "A"

    @server.resource("skill://pdf/logo.png", name="logo", mime_type="image/png")
    def logo() -> bytes:
        return PNG

    @server.resource("skill://mail/SKILL.md", name="SKILL.md", description="Writes letters.")
    def mail() -> str:
        return make_text("other")

    @server.resource("skill://evil/SKILL.md", name="SKILL.md")
    def evil() -> str:
        return make_text("evil")

    @server.resource("skill://evil/a/../../x", name="x")
    def escape() -> str:
        return "x"

    @server.resource("file:///note.txt", name="note")
    def note() -> str:
        return "no skill"

    return server


@pytest.fixture
async def registry() -> AsyncIterator[McpSkillRegistry]:
    toolset = McpToolset(connection_params=InProcessConnectionParams(server=make_server()))
    yield McpSkillRegistry(toolset)
    await toolset.close()


async def test_a_skill_comes_with_its_files(registry: McpSkillRegistry) -> None:
    skill = await registry.get_skill(name="pdf")
    assert skill.resources.references == {"a.md": "A"}
    assert skill.resources.files == {"logo.png": PNG}
    found = await registry.search_skills(query="a letter")
    assert [one.name for one in found] == ["mail"]


async def test_what_a_server_gets_wrong_is_refused(registry: McpSkillRegistry) -> None:
    with pytest.raises(NotFoundError, match=r"has no skill 'none'.*skill://none/SKILL\.md"):
        await registry.get_skill(name="none")
    with pytest.raises(AgentFileError, match=r"mail/SKILL\.md, line 2, name"):
        await registry.get_skill(name="mail")
    with pytest.raises(AgentFileError, match=r"the path 'a/\.\./\.\./x' leads out of the skill"):
        await registry.get_skill(name="evil")


async def test_an_agent_loads_it(registry: McpSkillRegistry) -> None:
    conversation, _ = talk(
        SkillToolset(registry=registry),
        call("search_skills", query="pdf"),
        [call("load_skill", skill_name="pdf"), call("load_skill", skill_name="mail")],
        "Done.",
    )
    await conversation.say("Go")
    found, loaded, refused = answers(conversation)
    assert found["result"][0]["description"] == "Works on PDF files."
    assert "Then work." in loaded["instructions"]
    assert refused["error_code"] == "REGISTRY_ERROR" and "does not match" in refused["error"]
