"""VertexAiRagMemoryService: the name; the services of Google Cloud are not built yet."""

from .._later_on import NotBuilt


class VertexAiRagMemoryService(
    NotBuilt,
    part="the services of Google Cloud",
    instead="InMemoryMemoryService, or a BaseMemoryService of your own",
):
    """Memory kept in a RAG corpus of Vertex AI."""
