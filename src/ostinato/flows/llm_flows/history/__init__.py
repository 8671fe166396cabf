"""The model's view of the conversation."""
