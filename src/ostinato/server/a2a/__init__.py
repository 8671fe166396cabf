"""The server in A2A's words: agents for other agents."""
