"""The server in MCP's words: each app is a tool."""
