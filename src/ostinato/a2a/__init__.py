"""Agent2Agent: parts in the protocol's shapes, and agents that run elsewhere."""
