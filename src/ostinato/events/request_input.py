"""RequestInput: the name; workflow nodes that ask people are not built yet."""

from .._later_on import NotBuilt


class RequestInput(
    NotBuilt,
    part="workflow graphs",
    instead="FunctionTool(..., require_confirmation=True) or a long-running tool",
):
    """A question of a workflow node to a person."""
