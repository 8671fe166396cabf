"""The reference servers of MCP (everything, filesystem, memory), on Node, by the client of ours."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.events.tool_progress import ToolProgress
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.mcp_tool import (
    McpToolset,
    SamplingPolicy,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)

from .environments import set_up

pytestmark = pytest.mark.service


def read_children() -> set[str]:
    """Return the ids of this process's children."""
    files = Path("/proc/self/task").glob("*/children")
    return {pid for file in files for pid in file.read_text().split()}


def find_server(name: str) -> str:
    """Return the program of a reference server."""
    modules = set_up("mcp") / "node_modules" / "@modelcontextprotocol"
    return str(modules / f"server-{name}" / "dist" / "index.js")


def make_stdio(name: str, *args: str, **env: str) -> StdioConnectionParams:
    """Return the parameters of a reference server as a child process."""
    server = {"command": "node", "args": [find_server(name), *args], "env": env}
    return StdioConnectionParams(server_params=server, timeout=60)


def serve(kind: str, log: Path) -> Iterator[str]:
    """Run the server `everything` over HTTP, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["node", find_server("everything"), kind]
    environment = {**os.environ, "PORT": str(port)}
    with (
        open(log, "wb") as out,
        subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.PIPE) as process,
    ):
        assert process.stderr is not None
        try:
            assert any(b"on port" in line for line in process.stderr), log.read_text()
            yield f"http://127.0.0.1:{port}/{'mcp' if kind == 'streamableHttp' else 'sse'}"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serve("streamableHttp", tmp_path_factory.mktemp("everything") / "log")


@pytest.fixture(scope="module")
def sse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serve("sse", tmp_path_factory.mktemp("everything") / "log")


@pytest.fixture(params=["stdio", "http", "sse"])
async def everything(request: pytest.FixtureRequest) -> AsyncIterator[McpToolset]:
    """A toolset of the server `everything`, which may ask the model."""
    params: Any = make_stdio("everything")
    if request.param != "stdio":
        url = request.getfixturevalue(request.param)
        kinds = {"http": StreamableHTTPConnectionParams, "sse": SseConnectionParams}
        params = kinds[request.param](url=url, timeout=60)
    policy = SamplingPolicy(consent=False)
    toolset = McpToolset(connection_params=params, sampling=policy, use_mcp_resources=True)
    yield toolset
    await toolset.close()


async def talk_to(toolset: McpToolset, *turns: Any, **options: Any) -> tuple[Conversation, Any]:
    """Play the turns of a model that has the toolset; return talk and responses by tool name."""
    agent = Agent(name="root", model=ScriptedModel([*turns, "Done."]), tools=[toolset])
    talk = Conversation(agent)
    await talk.say("Go", **options)
    assert talk.text == "Done."
    session = await talk.session()
    responses = [one for event in session.events for one in event.get_function_responses()]
    return talk, {one.name: one for one in responses}


async def test_calls_results_and_media(everything: McpToolset):
    _, found = await talk_to(
        everything,
        call("echo", message="Grüße 🎶"),
        call("get-sum", a=2, b=40),
        call("get-structured-content", location="Chicago"),
        call("get-tiny-image"),
        call("get-resource-reference", resourceType="Blob", resourceId=2),
    )
    assert "Grüße 🎶" in found["echo"].response["content"][0]["text"]
    assert "42" in found["get-sum"].response["content"][0]["text"]
    assert found["get-structured-content"].response["structuredContent"]["humidity"] == 82
    assert found["get-tiny-image"].parts[0].inline_data.mime_type == "image/png"
    assert "data" not in found["get-tiny-image"].response["content"][1]
    assert found["get-resource-reference"].response["content"][1]["artifact"]["version"] == 0


async def test_progress_reaches_the_stream(everything: McpToolset):
    work = call("trigger-long-running-operation", duration=1, steps=4)
    talk, found = await talk_to(
        everything, work, run_config=RunConfig(streaming_mode=StreamingMode.SSE)
    )
    heard = [one for one in map(ToolProgress.of, talk.events) if one is not None]
    assert [(one.progress, one.total) for one in heard] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert "completed" in str(found["trigger-long-running-operation"].response)


async def test_server_asks_the_agents_model(everything: McpToolset):
    _, found = await talk_to(
        everything, call("trigger-sampling-request", prompt="A word?"), "cadenza"
    )
    assert "cadenza" in str(found["trigger-sampling-request"].response)


async def test_wrong_arguments_are_told(everything: McpToolset):
    _, found = await talk_to(everything, call("get-sum", a="two"), call("echo"))
    assert found["get-sum"].response["isError"] and found["echo"].response["isError"]
    assert "Invalid arguments" in found["get-sum"].response["error"]


async def test_resources_and_prompts(everything: McpToolset):
    assert "architecture.md" in await everything.list_resources()
    (document,) = await everything.read_resource("architecture.md")
    assert document.text
    templates = await everything.list_resource_templates()
    uri = templates[0]["uriTemplate"].replace("{resourceId}", "7")
    assert (await everything.read_resource(uri))[0].uri
    prompts = {one["name"] for one in await everything.list_prompts()}
    assert {"simple-prompt", "args-prompt"} <= prompts
    made = await everything.get_prompt("args-prompt", {"city": "Rome", "state": "Lazio"})
    assert "Rome" in made.messages[0].content.text


async def test_filesystem_stays_in_its_folder(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.txt").write_text("alpha")
    (tmp_path / "secret.txt").write_text("secret")
    inside = str((tmp_path / "inside").resolve())
    toolset = McpToolset(connection_params=make_stdio("filesystem", inside))
    tools = {tool.name: tool for tool in await toolset.get_tools()}
    policies = {tools[name].tool_origin.policy for name in ("read_text_file", "list_directory")}  # pyright: ignore[reportOptionalMemberAccess]
    assert policies == {"read_only"}
    _, found = await talk_to(
        toolset,
        call("read_text_file", path=f"{inside}/a.txt"),
        call("read_file", path=f"{tmp_path}/secret.txt"),
        call("create_directory", path=f"{inside}/b"),
    )
    assert found["read_text_file"].response["content"][0]["text"] == "alpha"
    assert found["read_file"].response["isError"]
    assert "secret" not in str(found["read_file"].response["content"]).replace("secret.txt", "")
    assert (tmp_path / "inside" / "b").is_dir()
    await toolset.close()


async def test_memory_lives_in_its_file_and_no_process_stays(tmp_path: Path):
    file = tmp_path / "memory.jsonl"
    before = read_children()
    entity = {"name": "Ann", "entityType": "person", "observations": ["plays the cello"]}
    for turn in (call("create_entities", entities=[entity]), call("read_graph")):
        toolset = McpToolset(connection_params=make_stdio("memory", MEMORY_FILE_PATH=str(file)))
        _, found = await talk_to(toolset, turn)
        await toolset.close()
    graph = found["read_graph"].response["structuredContent"]
    assert [one["name"] for one in graph["entities"]] == ["Ann"]
    assert json.loads(file.read_text())["observations"] == ["plays the cello"]
    assert read_children() <= before
