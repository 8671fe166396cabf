"""Face of the tool that loads MCP resources, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.mcp.load_resource_tool import LoadMcpResourceTool as LoadMcpResourceTool

__getattr__, __dir__, __all__ = attach(__name__)
