"""The Gemini adapter through google-genai 3 here, and 2 in an environment of its own."""
