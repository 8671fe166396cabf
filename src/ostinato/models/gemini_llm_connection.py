"""GeminiLlmConnection: the name; live models are not built yet."""

from .._later_on import NotBuilt


class GeminiLlmConnection(
    NotBuilt,
    part="live runs",
    instead="pass a BaseLlm of your own as the agent's model, or model='offline' to try",
):
    """A live conversation with a Gemini model."""
