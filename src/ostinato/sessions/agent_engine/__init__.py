"""Sessions of Vertex AI Agent Engine over REST."""
