"""Function calls, from the model's response to their results."""
