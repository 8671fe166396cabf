"""Recovery of abandoned invocations and queued messages."""
