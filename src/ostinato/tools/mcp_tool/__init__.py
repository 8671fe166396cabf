"""Tools of MCP servers, under the path users know (docs/mcp.md)."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.mcp.connection_params import (
        InProcessConnectionParams as InProcessConnectionParams,
    )
    from ostinato.tools.mcp.connection_params import SseConnectionParams as SseConnectionParams
    from ostinato.tools.mcp.connection_params import StdioConnectionParams as StdioConnectionParams
    from ostinato.tools.mcp.connection_params import (
        StreamableHTTPConnectionParams as StreamableHTTPConnectionParams,
    )
    from ostinato.tools.mcp.conversion import adk_to_mcp_tool_type as adk_to_mcp_tool_type
    from ostinato.tools.mcp.conversion import gemini_to_json_schema as gemini_to_json_schema
    from ostinato.tools.mcp.errors import McpCallError as McpCallError
    from ostinato.tools.mcp.errors import McpConnectionError as McpConnectionError
    from ostinato.tools.mcp.mcp_tool import MCPTool as MCPTool
    from ostinato.tools.mcp.mcp_tool import McpTool as McpTool
    from ostinato.tools.mcp.mcp_toolset import MCPToolset as MCPToolset
    from ostinato.tools.mcp.mcp_toolset import McpToolset as McpToolset
    from ostinato.tools.mcp.sampling import SamplingPolicy as SamplingPolicy
    from ostinato.tools.mcp.server_file import mcp_toolsets_from_file as mcp_toolsets_from_file

__getattr__, __dir__, __all__ = attach(__name__)
