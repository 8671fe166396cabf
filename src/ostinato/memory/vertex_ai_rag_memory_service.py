"""VertexAiRagMemoryService: a name only; its service is not implemented."""

from .._later_on import NotBuilt


class VertexAiRagMemoryService(
    NotBuilt,
    part="the services of Google Cloud",
    instead="InMemoryMemoryService, or a BaseMemoryService of your own",
):
    """Memory kept in a RAG corpus of Vertex AI."""
