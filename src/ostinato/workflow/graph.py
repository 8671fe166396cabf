"""The graph of a workflow: names, and the node that every graph starts at; running graphs is not
built yet. The face is `ostinato.workflow`.
"""

from .._later_on import NotBuilt, not_built
from ..context.node import BaseNode

_PART = "workflow graphs"
_INSTEAD = "SequentialAgent, ParallelAgent and LoopAgent, sub-agents or AgentTool"

DEFAULT_ROUTE = "__DEFAULT__"
START = BaseNode(name="__START__")


class NodeTimeoutError(Exception):
    """A node ran longer than its timeout.

    Args:
      node_name: the node.
      timeout: its limit, in seconds.
    """

    def __init__(self, *, node_name: str, timeout: float) -> None:
        super().__init__(f"Node {node_name!r} ran longer than its timeout of {timeout} seconds.")
        self.node_name = node_name
        self.timeout = timeout


class Workflow(NotBuilt, part=_PART, instead=_INSTEAD):
    """A graph of nodes that runs as one."""


class Edge(NotBuilt, part=_PART, instead=_INSTEAD):
    """A way from one node to the next."""


class Node(NotBuilt, part=_PART, instead=_INSTEAD):
    """A node that runs a step of its own."""


class FunctionNode(NotBuilt, part=_PART, instead=_INSTEAD):
    """A node that calls a function."""


class JoinNode(NotBuilt, part=_PART, instead=_INSTEAD):
    """A node that waits for all ways into it."""


node = not_built("node", part=_PART, instead=_INSTEAD)
