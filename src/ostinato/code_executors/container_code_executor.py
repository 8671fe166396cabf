"""ContainerCodeExecutor: the name; running code there is not built yet."""

from .._later_on import NotBuilt

DEFAULT_IMAGE_TAG = "adk-code-executor:latest"


class ContainerCodeExecutor(
    NotBuilt,
    part="the code executors of other machines",
    instead="UnsafeLocalCodeExecutor for code you trust, or BuiltInCodeExecutor",
):
    """Runs code in a Docker container."""
