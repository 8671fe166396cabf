"""Face of the conversion of tools to MCP, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.mcp.conversion import adk_to_mcp_tool_type as adk_to_mcp_tool_type
    from ostinato.tools.mcp.conversion import gemini_to_json_schema as gemini_to_json_schema

__getattr__, __dir__, __all__ = attach(__name__)
