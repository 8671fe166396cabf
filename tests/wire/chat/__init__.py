"""OpenAILlm through OpenAI's SDK."""
