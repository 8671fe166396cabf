"""Which agent, task or call a message is for."""
