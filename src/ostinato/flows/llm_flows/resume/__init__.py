"""Resume of an interrupted run, and the user's answers that it waited for."""
