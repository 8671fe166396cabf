"""Connections to MCP servers: they start, carry calls, break and end without a trace."""

import asyncio
import os
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from mcp.server.mcpserver import MCPServer

from ostinato.errors import AgentConfigError
from ostinato.tools.mcp import stray_output
from ostinato.tools.mcp.connection_params import make_connection_params, server_label
from ostinato.tools.mcp.http_client import RequestTrace
from ostinato.tools.mcp.session_manager import McpSession, MCPSessionManager
from ostinato.tools.mcp_tool import (
    InProcessConnectionParams,
    McpConnectionError,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from tests.support.mcp import raw_server


def read_state(pid: int) -> str:
    """Return the letter of a process's state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def is_gone(pid: int) -> bool:
    """Wait until a process has ended."""
    for _ in range(2_000):
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(pid, 0)
            if read_state(pid) != "Z":
                await asyncio.sleep(0.01)
                continue
        return True
    return False


async def test_call_and_close_leaves_no_process(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server(f"pid={file}"))
    session = await manager.create_session()
    result = await session.call_tool("echo", {"n": 1})
    assert '"n": 1' in result.content[0].text
    pid = int(file.read_text())
    await manager.close()
    assert await is_gone(pid)


@pytest.mark.long
async def test_close_ends_the_helpers_of_a_server(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server(f"helper={file}"))
    await manager.create_session()
    helper = int(file.read_text())
    assert read_state(helper) != "Z"
    await manager.close()
    assert await is_gone(helper)


async def test_one_process_for_all_concurrent_users(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server(f"pid={file}"))
    sessions = await asyncio.gather(*(manager.create_session() for _ in range(20)))
    await asyncio.gather(*(one.call_tool("echo", {}) for one in sessions))
    assert len(file.read_text().split()) == 1
    await manager.close()


async def test_answers_in_wrong_order_reach_their_callers():
    manager = MCPSessionManager(raw_server("reverse=5"))
    session = await manager.create_session()
    results = await asyncio.gather(*(session.call_tool("echo", {"n": n}) for n in range(5)))
    assert [f'"n": {n}' in one.content[0].text for n, one in enumerate(results)] == [True] * 5
    await manager.close()


@pytest.mark.long
async def test_log_lines_and_invalid_utf8_are_skipped(caplog: pytest.LogCaptureFixture):
    manager = MCPSessionManager(raw_server("log=yes"))
    session = await manager.create_session()
    assert "args" in (await session.call_tool("echo", {})).content[0].text
    await manager.close()


@pytest.mark.long
async def test_flood_of_notifications_does_not_lose_the_answer():
    manager = MCPSessionManager(raw_server("flood=2000"))
    session = await manager.create_session()
    results = await asyncio.gather(*(session.call_tool("echo", {"n": n}) for n in range(3)))
    assert all("args" in one.content[0].text for one in results)
    await manager.close()


@pytest.mark.long
async def test_lines_that_are_no_messages_do_not_flood_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stray_output, "_counts", Counter())
    manager = MCPSessionManager(raw_server("flood=1200"))
    session = await manager.create_session()
    await session.call_tool("echo", {})
    await manager.close()
    lines = [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"]
    assert len(lines) == stray_output.FIRST_LINES + 4
    assert lines[0].endswith("no message of MCP: 'a line of a log'")
    assert [line.split()[-3] for line in lines[-3:]] == ["10", "100", "1000"]
    assert all("raw_server" in line or "MCP server" in line for line in lines)
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.long
async def test_server_of_older_protocol_that_ignores_unknown_requests():
    manager = MCPSessionManager(raw_server("silent=yes", timeout=5.0))
    session = await manager.create_session()
    assert "args" in (await session.call_tool("echo", {})).content[0].text
    await manager.close()


async def test_server_of_older_protocol_that_ends_at_unknown_requests(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server("strict=yes", f"pid={file}"))
    session = await manager.create_session()
    assert "args" in (await session.call_tool("echo", {})).content[0].text
    await manager.close()
    assert len(file.read_text().split()) == 2


async def test_server_that_ends_at_every_handshake_is_named(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server("strict=always", f"pid={file}"))
    with pytest.raises(McpConnectionError, match=r"the server has ended the connection"):
        await manager.create_session()
    assert len(file.read_text().split()) == 2


async def test_missing_command_names_server_and_remedy():
    params = StdioConnectionParams(server_params={"command": "no-such-program"})
    with pytest.raises(McpConnectionError, match=r"no-such-program cannot be .*installed"):
        await MCPSessionManager(params).create_session()


@pytest.mark.long
async def test_server_that_says_nothing_times_out(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server("mute=yes", f"pid={file}", timeout=0.3))
    with pytest.raises(McpConnectionError, match=r"no answer within 0\.3 s"):
        await manager.create_session()
    for pid in file.read_text().split():
        assert await is_gone(int(pid))


@pytest.mark.long
@pytest.mark.parametrize("kind", [StreamableHTTPConnectionParams, SseConnectionParams])
async def test_unreachable_host_is_named_without_its_secrets(kind: type):
    params = kind(url="http://ann:pw@127.0.0.1:9/mcp/s3cr3t_0123456789?token=abc")
    with pytest.raises(McpConnectionError, match=r"http://127\.0\.0\.1:9/mcp cannot") as caught:
        await MCPSessionManager(params).create_session()
    assert "s3cr3t" not in str(caught.value) and "abc" not in str(caught.value)


async def test_dead_server_is_replaced_by_a_new_one(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server(f"pid={file}"))
    connection = await manager.connect()
    os.kill(int(file.read_text()), signal.SIGKILL)
    await connection.wait_end()
    session = await manager.create_session()
    assert "args" in (await session.call_tool("echo", {})).content[0].text
    assert len(file.read_text().split()) == 2
    await manager.close()


async def test_cancelled_caller_leaves_the_connection_to_others():
    manager = MCPSessionManager(raw_server())
    session = await manager.create_session()
    hanging = asyncio.ensure_future(session.call_tool("hang", {}))
    await session.call_tool("echo", {})  # the call before it has been sent
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert "args" in (await session.call_tool("echo", {})).content[0].text
    await manager.close()


async def test_close_fails_requests_under_way():
    manager = MCPSessionManager(raw_server())
    session = await manager.create_session()
    hanging = asyncio.ensure_future(session.call_tool("hang", {}))
    await session.call_tool("echo", {})
    await manager.close()
    with pytest.raises(McpConnectionError):
        await hanging


@pytest.mark.long
async def test_idle_connection_closes_itself_and_reopens():
    manager = MCPSessionManager(raw_server(), idle_seconds=0.05)
    first = await manager.connect()
    await first.wait_end()
    assert await manager.connect() is not first
    await manager.close()


@pytest.mark.long
async def test_least_recently_used_connection_makes_room():
    manager = MCPSessionManager(raw_server(), max_connections=2)
    first, second = await manager.connect("ann"), await manager.connect("bob")
    await manager.connect("ann")
    third = await manager.connect("cid")
    assert (first.is_open, second.is_open, third.is_open) == (True, False, True)
    await manager.close()


@pytest.mark.long
async def test_all_connections_busy_is_refused():
    manager = MCPSessionManager(raw_server(), max_connections=1)
    session = await manager.create_session()
    hanging = asyncio.ensure_future(session.call_tool("hang", {}))
    await session.call_tool("echo", {})
    manager.params.timeout = 0.01
    with pytest.raises(McpConnectionError, match=r"all 1 connections have been busy for 0\.01 s"):
        await manager.connect("ann")
    await manager.close()
    with pytest.raises(McpConnectionError):
        await hanging


async def test_more_users_than_connections_wait_for_one():
    server = MCPServer("shop")

    @server.tool()
    async def who(name: str) -> str:
        await asyncio.sleep(0)
        return name

    manager = MCPSessionManager(InProcessConnectionParams(server=server), max_connections=2)

    async def use(name: str) -> str:
        session = McpSession(await manager.connect(name), RequestTrace(), None)
        return (await session.call_tool("who", {"name": name})).content[0].text

    names = [f"user {number}" for number in range(12)]
    assert await asyncio.gather(*map(use, names)) == names
    await manager.close()


@pytest.mark.long
def test_each_event_loop_has_its_own_connection(tmp_path: Path):
    file = tmp_path / "pid"
    manager = MCPSessionManager(raw_server(f"pid={file}"))

    async def use() -> str:
        session = await manager.create_session()
        return (await session.call_tool("echo", {})).content[0].text

    assert "args" in asyncio.run(use())
    assert "args" in asyncio.run(use())
    first, second = map(int, file.read_text().split())

    async def check() -> bool:
        return await is_gone(first) and await is_gone(second)

    assert asyncio.run(check())  # each ended with its event loop


def test_bare_server_parameters_are_accepted():
    params = make_connection_params(raw_server().server_params)
    assert isinstance(params, StdioConnectionParams)
    with pytest.raises(AgentConfigError, match="needs connection_params"):
        make_connection_params(None)


@pytest.mark.parametrize(
    ("server", "label"),
    [
        ({"command": "/opt/bin/python3", "args": ["-u", "/srv/x/server.py"]}, "python3 server.py"),
        ({"command": "npx", "args": ["-y", "@acme/mcp-files", "/home/ann"]}, "npx mcp-files"),
        ({"command": "github-mcp", "args": ["ghp_secret"]}, "github-mcp"),
    ],
)
def test_label_of_a_process_holds_no_path_and_no_secret(server: dict[str, object], label: str):
    assert server_label(StdioConnectionParams(server_params=server)) == label


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.long
def test_kill_of_this_process_ends_the_server(tmp_path: Path):
    """The server sees the end of its input, although nothing closed the connection."""
    file = tmp_path / "pid"
    program = (
        "import asyncio, os, signal\n"
        "from ostinato.tools.mcp.session_manager import MCPSessionManager\n"
        "from tests.support.mcp import raw_server\n"
        "async def main():\n"
        f"    await MCPSessionManager(raw_server({f'pid={file}'!r})).create_session()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )

    async def run() -> bool:
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
        assert await child.wait() == -signal.SIGKILL
        return await is_gone(int(file.read_text()))

    assert asyncio.run(run())
