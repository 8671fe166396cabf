"""The command `ostinato openapi`: the tools of an OpenAPI document, listed and called."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from .._regular_files import read_regular_file
from .._secret_values import redact_tree, secrets_of_headers
from ..hosting.dotenv import load_env
from ..tools.openapi.openapi_toolset import OpenAPIToolset
from ..tools.openapi.rest_api_tool import RestApiTool
from ..tools.openapi.rest_client import RequestFailed, RestClient
from ..tools.openapi.rest_request import RestRequest
from ..tools.openapi.spec_document import SpecError, read_text
from .cli_error import FAILED, USAGE, CliError
from .json_argument import read_object
from .screen import Screen
from .shorten import cut, one_line

_MAX_BYTES = 256 * 2**20
_LONGEST_DESCRIPTION = 60
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    load_env(Path())
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    toolset = OpenAPIToolset(
        spec_dict=await _read_document(args.spec, allow_private=args.allow_private),
        base_url=args.base_url,
        strict=args.strict,
        allow_private_network_access=args.allow_private,
    )
    try:
        if args.action == "call":
            return await _call_tool(_find_tool(toolset, args), args)
        if args.tool:
            _show_tool(_find_tool(toolset, args), as_json=args.json)
        else:
            tools = [cast("RestApiTool", one) for one in await toolset.get_tools()]
            _list_tools(tools, as_json=args.json)
        return 0
    finally:
        await toolset.close()


async def _read_document(spec: str, *, allow_private: bool) -> Mapping[str, Any]:
    """Return the document that a file, standard input or a server has."""
    if spec.startswith(("http://", "https://")):
        text = await _fetch_text(spec, allow_private=allow_private)
    else:
        text = _read_file(spec)
    kind = "json" if text.lstrip()[:1] in ("{", "[") or spec.endswith(".json") else "yaml"
    try:
        return read_text(text, kind)
    except SpecError as error:
        raise CliError(f"{spec}: {error}") from error


def _read_file(spec: str) -> str:
    if spec == "-":
        return sys.stdin.read()
    try:
        return read_regular_file(Path(spec), _MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{spec} cannot be read: {error}", USAGE) from error


async def _fetch_text(url: str, *, allow_private: bool) -> str:
    base, _, query = url.partition("?")
    request = RestRequest("GET", base, [(query, None)] if query else [])
    try:
        response = await RestClient(allow_private=allow_private).send(request)
    except RequestFailed as error:
        raise CliError(f"{base} cannot be read: {error}.") from error
    if response.status != 200 or response.is_cut:
        why = "the document is too large" if response.is_cut else f"HTTP status {response.status}"
        raise CliError(f"{base} cannot be read: {why}.")
    return response.body.decode("utf-8", "replace")


def _find_tool(toolset: OpenAPIToolset, args: argparse.Namespace) -> RestApiTool:
    tool = toolset.get_tool(args.tool)
    if tool is None:
        raise CliError(
            f"{args.spec} has no tool {args.tool!r}; `ostinato openapi list` shows its tools.",
            USAGE,
        )
    return tool


def _list_tools(tools: list[RestApiTool], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([_describe_tool(tool) for tool in tools], indent=2, ensure_ascii=False))
        return
    screen = Screen()
    widest = max((len(tool.name) for tool in tools), default=0)
    for tool in tools:
        method = tool.endpoint.method.upper()
        about = cut(one_line(tool.description), _LONGEST_DESCRIPTION)
        screen.line(f"{tool.name:<{widest}}  ", (f"{method:<7} {tool.endpoint.path}", "dim"))
        if about:
            screen.line((f"{'':<{widest}}  {about}", "dim"))
    screen.line(f"{len(tools)} tools")


def _show_tool(tool: RestApiTool, *, as_json: bool) -> None:
    about = _describe_tool(tool)
    schema: Any = about.pop("parameters")
    if as_json:
        print(json.dumps({**about, "parameters": schema}, indent=2, ensure_ascii=False))
        return
    screen = Screen()
    for name, value in about.items():
        screen.line(f"{name}: {one_line(str(value))}")
    screen.line("arguments:")
    print(json.dumps(schema, indent=2, ensure_ascii=False))


def _describe_tool(tool: RestApiTool) -> dict[str, Any]:
    schema = tool.make_arguments_schema()
    return {
        "name": tool.name,
        "description": tool.description,
        "method": tool.endpoint.method.upper(),
        "url": f"{tool.endpoint.base_url.rstrip('/')}{tool.endpoint.path}",
        "in_doubt": tool.in_doubt,
        "parameters": schema,
    }


async def _call_tool(tool: RestApiTool, args: argparse.Namespace) -> int:
    given = read_object(args.args, "ARGS")
    headers = dict(map(_read_header, args.header))
    tool.set_default_headers(headers)
    # Credentials are headers here; without them the service itself says what it wants.
    tool.configure_auth_scheme(None)
    result = await tool.call(args=given, tool_context=None)
    has_failed = isinstance(result, dict) and "error" in result
    if has_failed:  # the server may have repeated what it was sent
        result = redact_tree(result, secrets_of_headers(headers, is_all=True))
    print(json.dumps(result, indent=2, ensure_ascii=False))
    return FAILED if has_failed else 0


def _read_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise CliError(f"The header {name!r} has no value: write 'NAME: VALUE'.", USAGE)

    def look_up(found: re.Match[str]) -> str:
        known = os.environ.get(found[1])
        if known is None:
            raise CliError(f"The environment variable {found[1]} is not set.", USAGE)
        return known

    return name.strip(), _VARIABLE.sub(look_up, value.strip())
