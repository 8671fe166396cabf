"""Faces at the paths programs import integrations from; no code of its own."""
