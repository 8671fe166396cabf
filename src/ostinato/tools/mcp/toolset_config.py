"""MCP toolsets in files: `McpToolsetConfig` for agents in YAML, and files with `mcpServers`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import Field, SerializeAsAny, ValidationError, model_validator

from ...agent_files.file_reading import FieldFault, resolve_fully_qualified_name
from ...auth.auth_credential import AuthCredential
from ...auth.auth_schemes import AuthScheme
from ...errors import AgentConfigError, CodeReferenceError
from ..tool_configs import BaseToolConfig
from .connection_params import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)

_CONNECTIONS = (
    "stdio_server_params",
    "stdio_connection_params",
    "sse_connection_params",
    "streamable_http_connection_params",
)
STDIO_NAME = "ostinato.tools.mcp_tool.StdioConnectionParams"
"""The name that a host allows so that files may start MCP servers."""


class McpToolsetConfig(BaseToolConfig):
    """The `args` of an `McpToolset` in a file; exactly one of the connections is given.

    Attributes:
      stdio_server_params: command, args, env and cwd of a server.
      stdio_connection_params: the same with a timeout.
      sse_connection_params: a server over SSE.
      streamable_http_connection_params: a server over streamable HTTP.
      tool_filter: names of the tools to offer; all by default.
      tool_name_prefix: put before each tool's name.
      tool_list_cache_ttl_seconds: how long the server's list of tools counts.
      auth_scheme: how the server authenticates.
      auth_credential: the developer's part of the credential.
      credential_key: the credential's key in stores.
      use_mcp_resources: whether the agent may read the server's resources.
    """

    stdio_server_params: dict[str, Any] | None = None
    stdio_connection_params: StdioConnectionParams | None = None
    sse_connection_params: SseConnectionParams | None = None
    streamable_http_connection_params: StreamableHTTPConnectionParams | None = None
    tool_filter: list[str] | None = None
    tool_name_prefix: str | None = None
    tool_list_cache_ttl_seconds: float | None = Field(default=None, ge=0)
    auth_scheme: SerializeAsAny[AuthScheme] | None = None
    auth_credential: AuthCredential | None = None
    credential_key: str | None = None
    use_mcp_resources: bool = False

    @model_validator(mode="after")
    def _check_connections(self) -> McpToolsetConfig:
        given = [name for name in _CONNECTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"an McpToolset needs exactly one of {', '.join(_CONNECTIONS)}; "
                f"{', '.join(given) or 'none'} is given"
            )
        return self

    def find_connection(self) -> ConnectionParams:
        """Return the parameters of the connection."""
        if self.stdio_server_params is not None:
            return StdioConnectionParams(server_params=self.stdio_server_params)
        found = next(value for name in _CONNECTIONS[1:] if (value := getattr(self, name)))
        return cast("ConnectionParams", found)


def read_server_file(path: str | Path) -> dict[str, ConnectionParams]:
    """Return the servers that a file in the form of `.mcp.json` names; see `read_server_entries`.

    Raises:
      AgentConfigError: the file is missing, is not JSON, or describes no servers.
    """
    entries = read_server_entries(path)
    return {server: read_server(path, server, entry) for server, entry in entries.items()}


def read_server_entries(path: str | Path) -> dict[str, Any]:
    """Return what a file in the form of `.mcp.json` says of each server.

    `{"mcpServers": {"name": {"command", "args", "env"} or {"type": "http" | "sse", "url",
    "headers"}}}`; a server with `"disabled": true` is left out. Nothing is taken from environment
    variables: `${NAME}` in the file is refused.

    Args:
      path: the file.

    Raises:
      AgentConfigError: the file is missing, is not JSON, or names no servers.
    """
    name = Path(path).name
    try:
        found: Any = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise AgentConfigError(f"{name} cannot be read: {type(error).__name__}.") from error
    except ValueError as error:
        raise AgentConfigError(f"{name} is not JSON: {error}.") from error
    servers: Any = cast("dict[str, Any]", found).get("mcpServers") if isinstance(found, dict) else 0
    if not isinstance(servers, dict):
        raise AgentConfigError(f"{name} has no object `mcpServers`, which names the servers.")
    return {
        server: entry
        for server, entry in cast("dict[str, Any]", servers).items()
        if not (isinstance(entry, Mapping) and cast("Mapping[str, Any]", entry).get("disabled"))
    }


def read_server(path: str | Path, server: str, entry: Any) -> ConnectionParams:
    """Return a server of a file.

    Args:
      path: the file, for messages.
      server: its name there.
      entry: what `read_server_entries` returned for it.

    Raises:
      AgentConfigError: the entry describes no server.
    """
    place = f"{Path(path).name}, server {server!r}"
    if not isinstance(entry, Mapping):
        raise AgentConfigError(f"{place}: it is not an object.")
    fields = dict(cast("Mapping[str, Any]", entry))
    if "${" in json.dumps(fields):
        raise AgentConfigError(
            f"{place}: it names an environment variable, which is not read here. Make the toolset "
            "in Python with the value, or write the value into the file."
        )
    kind = fields.pop("type", None) or ("stdio" if "command" in fields else "http")
    try:
        if kind == "stdio":
            known = {name: fields.get(name) for name in ("command", "args", "env", "cwd")}
            given = {name: value for name, value in known.items() if value is not None}
            return StdioConnectionParams(server_params=given)
        if kind in ("http", "streamable-http", "streamableHttp"):
            return StreamableHTTPConnectionParams(
                url=fields.get("url", ""), headers=fields.get("headers")
            )
        if kind == "sse":
            return SseConnectionParams(url=fields.get("url", ""), headers=fields.get("headers"))
    except ValueError as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise AgentConfigError(f"{place}: {what}.") from None
    raise AgentConfigError(f"{place}: type {kind!r} is unknown; stdio, http and sse are known.")


def check_stdio_allowed(config: McpToolsetConfig) -> None:
    """Refuse a server that a file would start, unless the host allows files to do so.

    Raises:
      FieldFault: the connection is over standard input and output, and is not allowed.
    """
    for name in _CONNECTIONS[:2]:
        if getattr(config, name) is not None:
            try:
                resolve_fully_qualified_name(STDIO_NAME)
            except CodeReferenceError as error:
                raise FieldFault(
                    f"{name} starts a program, which an agent's file may do only where the host "
                    f"allows it. Allow {STDIO_NAME} (--allow-code-from), or make the toolset in "
                    "Python and name that object."
                ) from error
