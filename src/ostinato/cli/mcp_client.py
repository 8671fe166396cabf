"""The commands `ostinato mcp list` and `ostinato mcp call`: a look at an MCP server."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any, cast

from .._optional import need
from ..errors import AgentConfigError, ToolTimeoutError
from ..hosting.input_answers import json_or_text
from ..tools.mcp.annotations import choose_in_doubt, read_annotations
from ..tools.mcp.connection import McpConnection
from ..tools.mcp.connection_params import (
    EXTRA,
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from ..tools.mcp.server_call import PendingQuestions, ServerCall
from ..tools.mcp.server_lists import ListKind
from ..tools.mcp.session_manager import MCPSessionManager
from ..tools.mcp.tool_listing import fit_name
from ..tools.mcp.tool_result import dump_result, read_text
from ..tools.mcp.toolset_config import read_server, read_server_entries
from .cli_error import FAILED, USAGE, CliError
from .json_argument import read_object

_POLICIES = {"rerun": "may repeat", "ask": "asks in doubt", "at_most_once": "once"}


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    need("mcp", extra=EXTRA)
    params = choose_server(args)
    headers = dict(_split_pair(one, "--header") for one in args.header)
    if args.action == "list":
        return asyncio.run(list_server(params, headers))
    return asyncio.run(call_tool(params, headers, args.tool, _read_arguments(args.argument)))


def choose_server(args: argparse.Namespace) -> ConnectionParams:
    """Return the connection that the arguments name.

    Raises:
      CliError: they name none, or more than one.
    """
    given = [bool(args.url), bool(args.file), bool(args.server_command)]
    if sum(given) != 1:
        raise CliError(
            "Name one server: --url URL, --file FILE with --server NAME, or its command after --.",
            code=USAGE,
        )
    if args.server_command:
        command, *words = cast("Sequence[str]", args.server_command)
        server = {"command": command, "args": words}
        return StdioConnectionParams(server_params=server, timeout=args.timeout)
    try:
        if args.url:
            kind = SseConnectionParams if args.sse else StreamableHTTPConnectionParams
            return kind(url=args.url, timeout=args.timeout)
        servers = read_server_entries(args.file)
        found = args.server in servers and read_server(args.file, args.server, servers[args.server])
    except AgentConfigError as error:
        raise CliError(str(error), code=USAGE) from None
    except ValueError:
        raise CliError("--url takes an http or https address.", code=USAGE) from None
    if not found:
        raise CliError(
            f"--server names one of the file's servers: {', '.join(servers)}.", code=USAGE
        )
    return found.model_copy(update={"timeout": args.timeout})


async def list_server(params: ConnectionParams, headers: dict[str, str]) -> int:
    """Print a server's tools, resources and prompts; return the exit code."""
    manager = MCPSessionManager(params)
    try:
        connection = await manager.connect("", headers)
        client = connection.client
        about = client.server_info
        print(f"{about.name if about else manager.label}, protocol {client.protocol_version}")
        session = await manager.create_session(headers)

        async def run(work: Any) -> Any:
            return await work(session, None)

        for tool in sorted(await connection.lists.load("tools", run), key=lambda one: one.name):
            policy = _POLICIES[choose_in_doubt(read_annotations(tool))]
            known = fit_name(tool.name)
            name = tool.name if known == tool.name else f"{tool.name}, to agents {known}"
            print(f"tool      {name} ({policy}): {_first_line(tool.description)}")
        for one in await _load_optional(connection, "resources", run):
            print(f"resource  {one.name}: {one.uri}")
        for one in await _load_optional(connection, "templates", run):
            print(f"template  {one.name}: {one.uri_template}")
        for one in await _load_optional(connection, "prompts", run):
            print(f"prompt    {one.name}: {_first_line(one.description)}")
    finally:
        await manager.close()
    return 0


async def _load_optional(connection: McpConnection, kind: ListKind, run: Any) -> Sequence[Any]:
    """Return a list of a server; nothing if it does not know such lists."""
    try:
        return await connection.lists.load(kind, run)
    except need("mcp", extra=EXTRA).MCPError as error:
        if error.code == need("mcp.types", extra=EXTRA).METHOD_NOT_FOUND:
            return ()
        raise CliError(f"The server's list of {kind} cannot be read: {error}.") from error


async def call_tool(
    params: ConnectionParams, headers: dict[str, str], tool: str, arguments: dict[str, Any]
) -> int:
    """Call a tool and print its result; return the exit code.

    Raises:
      CliError: there is no result; the message says whether the call may have taken effect.
    """
    manager = MCPSessionManager(params)
    named = need("mcp.types", extra=EXTRA).Tool(name=tool, input_schema={"type": "object"})
    call = ServerCall(manager, tool=named, identity="", headers=headers, needs_list=True)
    try:
        answer = await call.send(arguments, meta={}, before=_do_nothing)
    except ToolTimeoutError as error:
        raise CliError(str(error)) from None
    finally:
        await manager.close()
    if isinstance(answer, dict):
        raise CliError(str(cast("dict[str, Any]", answer)["error"]))
    if isinstance(answer, PendingQuestions | list):
        raise CliError(
            f"MCP server {manager.label} asks the user a question before it runs {tool}. Call the "
            "tool from an agent: ostinato run asks you."
        )
    result = dump_result(answer)
    text = read_text(result)
    rest = {key: value for key, value in result.items() if key not in ("isError", "error", "meta")}
    stream = sys.stderr if result["isError"] else sys.stdout
    print(text or json.dumps(rest, ensure_ascii=False), file=stream)
    return FAILED if result["isError"] else 0


async def _do_nothing() -> None:
    """Stand for the journal's note that a call begins."""


def _read_arguments(words: Sequence[str]) -> dict[str, Any]:
    """Return a tool's arguments.

    Raises:
      CliError: they are neither a JSON object nor pairs, or one is given twice.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return read_object(words[0], "ARGUMENT")
    found: dict[str, Any] = {}
    for word in words:
        name, text = _split_pair(word, "ARGUMENT")
        if name in found:
            raise CliError(f"The argument {name!r} is given more than once.", code=USAGE)
        found[name] = json_or_text(text, unique_keys=True)
    return found


def _split_pair(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise CliError(f"{what} takes NAME=VALUE.", code=USAGE)
    return name, value


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0][:120]
