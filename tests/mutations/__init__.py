"""Fifty changed agents, and which gates catch them."""
