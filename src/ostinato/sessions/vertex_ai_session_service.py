"""VertexAiSessionService: the name; the services of Google Cloud are not built yet."""

from .._later_on import NotBuilt


class VertexAiSessionService(
    NotBuilt, part="the services of Google Cloud", instead="SqliteSessionService('sessions.db')"
):
    """Sessions kept by Vertex AI Agent Engine."""
