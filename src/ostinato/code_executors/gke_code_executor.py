"""GkeCodeExecutor: the name; running code there is not built yet."""

from .._absences import refuse_absent
from .._later_on import NotBuilt

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


class GkeCodeExecutor(
    NotBuilt,
    part="the code executors of other machines",
    instead="UnsafeLocalCodeExecutor for code you trust, or BuiltInCodeExecutor",
):
    """Runs code in a pod of Google Kubernetes Engine."""
