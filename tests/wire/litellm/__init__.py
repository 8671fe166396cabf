"""LiteLlm through LiteLLM itself, in an environment of its own (`make wire`)."""
