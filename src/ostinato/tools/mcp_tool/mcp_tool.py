"""Face of McpTool, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.mcp.mcp_tool import MCPTool as MCPTool
    from ostinato.tools.mcp.mcp_tool import McpTool as McpTool
    from ostinato.tools.mcp.mcp_tool import ProgressCallbackFactory as ProgressCallbackFactory

__getattr__, __dir__, __all__ = attach(__name__)
