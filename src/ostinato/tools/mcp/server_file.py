"""Toolsets for the servers that a file in the form of `.mcp.json` names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import AgentConfigError
from .mcp_toolset import McpToolset
from .toolset_config import read_server_file


def mcp_toolsets_from_file(path: str | Path, **options: Any) -> list[McpToolset]:
    """Return a toolset for each server in a file, whose name is the prefix of its tools.

    The file may start programs: read only files that you trust as code.

    Args:
      path: the file: `{"mcpServers": {"name": {"command", "args", "env"} or {"type": "http" |
        "sse", "url", "headers"}}}`.
      **options: further arguments of McpToolset, the same for each server.

    Raises:
      AgentConfigError: the file cannot be used, or an option differs by server.
    """
    if "connection_params" in options or "tool_name_prefix" in options:
        raise AgentConfigError(
            "connection_params and tool_name_prefix come from the file, for each server its own."
        )
    return [
        McpToolset(connection_params=params, tool_name_prefix=name, **options)
        for name, params in read_server_file(path).items()
    ]
