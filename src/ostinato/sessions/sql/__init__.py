"""Parts of DatabaseSessionService."""
