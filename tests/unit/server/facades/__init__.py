"""The facades of the server."""
