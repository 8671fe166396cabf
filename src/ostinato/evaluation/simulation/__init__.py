"""Simulated users, who lead the conversations of an evaluation."""
