"""Face of McpToolset, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.mcp.mcp_toolset import MCPToolset as MCPToolset
    from ostinato.tools.mcp.mcp_toolset import McpToolset as McpToolset
    from ostinato.tools.mcp.toolset_config import McpToolsetConfig as McpToolsetConfig

__getattr__, __dir__, __all__ = attach(__name__)
