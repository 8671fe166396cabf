"""Tools of MCP servers. `ostinato.tools.mcp_tool` has the public names."""
