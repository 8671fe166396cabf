"""VertexAiCodeExecutor: the name; running code there is not built yet."""

from .._later_on import NotBuilt


class VertexAiCodeExecutor(
    NotBuilt,
    part="the code executors of other machines",
    instead="UnsafeLocalCodeExecutor for code you trust, or BuiltInCodeExecutor",
):
    """Runs code in the code interpreter of Vertex AI."""
