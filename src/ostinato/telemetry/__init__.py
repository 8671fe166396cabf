"""Telemetry: spans of runs, model calls and tool calls, at no cost where nobody records them."""
