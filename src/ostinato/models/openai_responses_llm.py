"""OpenAIResponsesLlm: the name; its adapter is not built yet."""

from .._later_on import NotBuilt


class OpenAIResponsesLlm(
    NotBuilt,
    part="the model adapters",
    instead="pass a BaseLlm of your own as the agent's model, or model='offline' to try",
):
    """A model behind OpenAI's API."""
