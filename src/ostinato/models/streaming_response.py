"""StreamingResponseAggregator: the name; the adapter that needs it is not built yet."""

from .._later_on import NotBuilt


class StreamingResponseAggregator(
    NotBuilt,
    part="the model adapters",
    instead="yield LlmResponse objects with partial=True from your BaseLlm",
):
    """Sums the pieces of a streamed answer of Gemini."""
