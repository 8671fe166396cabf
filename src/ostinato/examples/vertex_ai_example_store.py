"""VertexAiExampleStore: the name; the services of Google Cloud are not built yet."""

from .._later_on import NotBuilt


class VertexAiExampleStore(
    NotBuilt,
    part="the services of Google Cloud",
    instead="a BaseExampleProvider of your own",
):
    """Examples kept by Vertex AI."""
