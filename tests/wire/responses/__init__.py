"""OpenAIResponsesLlm through OpenAI's SDK."""
