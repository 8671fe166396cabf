"""GkeCodeExecutor: the name; running code there is not built yet."""

from .._later_on import NotBuilt


class GkeCodeExecutor(
    NotBuilt,
    part="the code executors of other machines",
    instead="UnsafeLocalCodeExecutor for code you trust, or BuiltInCodeExecutor",
):
    """Runs code in a pod of Google Kubernetes Engine."""
