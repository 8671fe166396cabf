"""Faces at the paths programs import utilities from; no code of its own."""
