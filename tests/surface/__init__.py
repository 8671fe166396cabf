"""The public surface of google-adk as data, and what holds ours against it."""
