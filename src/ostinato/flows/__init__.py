"""Flows: how an agent turns a message into model calls, tool calls and events."""
