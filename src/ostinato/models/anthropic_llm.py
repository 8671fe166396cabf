"""Claude: the names; its adapter is not built yet."""

from .._later_on import NotBuilt

_PART = "the model adapters"
_INSTEAD = "pass a BaseLlm of your own as the agent's model, or model='offline' to try"


class AnthropicLlm(NotBuilt, part=_PART, instead=_INSTEAD):
    """A model of Anthropic, at its own API."""


class Claude(NotBuilt, part=_PART, instead=_INSTEAD):
    """A Claude model on Vertex AI."""
