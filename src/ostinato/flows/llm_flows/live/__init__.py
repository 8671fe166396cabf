"""Live runs of an agent."""
