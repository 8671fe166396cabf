"""The event log and what is read from it."""
