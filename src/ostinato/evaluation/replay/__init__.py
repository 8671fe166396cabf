"""Replay of recorded invocations against a changed agent, without repeating any effect."""
