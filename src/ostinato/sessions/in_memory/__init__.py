"""Parts of InMemorySessionService."""
