"""The server in OpenAI's words: agents as models, for whatever speaks to OpenAI's API."""
