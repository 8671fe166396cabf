"""Face of MCP connections, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.mcp.connection_params import (
        CheckableMcpHttpClientFactory as CheckableMcpHttpClientFactory,
    )
    from ostinato.tools.mcp.connection_params import SseConnectionParams as SseConnectionParams
    from ostinato.tools.mcp.connection_params import SseConnectionParams as SseServerParams  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from ostinato.tools.mcp.connection_params import StdioConnectionParams as StdioConnectionParams
    from ostinato.tools.mcp.connection_params import (
        StreamableHTTPConnectionParams as StreamableHTTPConnectionParams,
    )
    from ostinato.tools.mcp.connection_params import (
        StreamableHTTPConnectionParams as StreamableHTTPServerParams,  # noqa: F401 # pyright: ignore[reportUnusedImport]
    )
    from ostinato.tools.mcp.session_manager import MCPSessionManager as MCPSessionManager

__getattr__, __dir__, __all__ = attach(__name__)
