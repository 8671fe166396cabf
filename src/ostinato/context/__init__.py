"""Contexts: what a run carries, and the views of it that callbacks and tools get."""
