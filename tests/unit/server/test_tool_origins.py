"""Where tools come from, as clients read it: of an app, of a waiting call, and of events."""

from pathlib import Path

from tests.unit.server.conftest import Serve

AGENT = """
from mcp.server.mcpserver import MCPServer
from ostinato.agents import Agent
from ostinato.testing import ScriptedModel, call
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset

server = MCPServer("shop")
server.add_tool(lambda: "gone", name="drop", description="Drops.")
params = InProcessConnectionParams(server=server)
helper = Agent(name="helper", model=ScriptedModel(["Yes."]))


def count() -> int:
    return 1


root_agent = Agent(
    name="root",
    model=ScriptedModel([call("drop"), "Done."]),
    tools=[count, McpToolset(connection_params=params, require_confirmation=True)],
)
"""
ORIGIN = {"kind": "mcp", "source": "shop", "operation": "drop", "policy": "ask"}


async def test_clients_learn_the_origin_of_tools_and_calls(serve: Serve, tmp_path: Path):
    folder = tmp_path / "apps" / "good"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT)
    async with serve(agents=folder.parent) as served:
        info = (await served.ask("GET", "/apps/good/app-info?detailed=true")).json()
        assert info["agents"]["root"]["tool_origins"] == {
            "count": {"kind": "function", "policy": "rerun"},
            "drop": ORIGIN,
        }
        message = {"role": "user", "parts": [{"text": "Go"}]}
        ids = {"appName": "good", "userId": "u", "sessionId": "s"}
        await served.ask("POST", "/apps/good/users/u/sessions/s", {})
        run = await served.ask("POST", "/run", {**ids, "newMessage": message})
        (call,) = [e for e in run.json() if "ostinato:tools" in e.get("customMetadata", {})]
        id = call["content"]["parts"][0]["functionCall"]["id"]
        assert call["customMetadata"]["ostinato:tools"] == {id: ORIGIN}
        inbox = (await served.ask("GET", "/apps/good/approvals")).json()["approvals"]
        assert [one["origin"] for one in inbox] == [ORIGIN]
