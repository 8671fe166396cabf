"""Kills of processes in the middle of MCP calls, with a server that counts its effects."""
