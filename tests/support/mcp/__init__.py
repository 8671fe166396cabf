"""MCP servers for tests, and toolsets for them."""

import sys
from pathlib import Path
from typing import Any

from ostinato.tools.mcp_tool import StdioConnectionParams

RAW_SERVER = Path(__file__).with_name("raw_server.py")


def raw_server(*words: str, **options: Any) -> StdioConnectionParams:
    """Return the parameters of a raw server.

    Args:
      *words: its behaviour, see `raw_server.py`.
      **options: further fields of StdioConnectionParams.
    """
    server = {"command": sys.executable, "args": ["-I", "-S", str(RAW_SERVER), *words]}
    return StdioConnectionParams(server_params=server, **{"timeout": 30.0, **options})
