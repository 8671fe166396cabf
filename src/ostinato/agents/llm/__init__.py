"""Package of google-adk's module paths below `agents.llm`."""
