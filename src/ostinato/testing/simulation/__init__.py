"""Deterministic simulation of an agent; `ostinato.testing.simulate` is its public face."""
