"""Gemma: the names; their adapters are not built yet."""

from .._later_on import NotBuilt

_PART = "the model adapters"
_INSTEAD = "pass a BaseLlm of your own as the agent's model, or model='offline' to try"


class Gemma(NotBuilt, part=_PART, instead=_INSTEAD):
    """A Gemma model behind the API of Gemini."""


class Gemma3Ollama(NotBuilt, part=_PART, instead=_INSTEAD):
    """A Gemma model served by Ollama."""


class GemmaFunctionCallingMixin(NotBuilt, part=_PART, instead=_INSTEAD):
    """Function calls written into and read out of the text of a model."""


class GemmaFunctionCallModel(NotBuilt, part=_PART, instead=_INSTEAD):
    """A function call as a Gemma model writes it."""
