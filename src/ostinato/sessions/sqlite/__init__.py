"""Parts of SqliteSessionService."""
