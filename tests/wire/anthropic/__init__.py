"""Claude through Anthropic's real SDK."""
