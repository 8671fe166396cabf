"""RemoteA2aAgent: the name and its errors; speaking A2A is not built yet."""

from .._later_on import NotBuilt

A2A_METADATA_PREFIX = "a2a:"
DEFAULT_TIMEOUT = 600.0


class AgentCardResolutionError(Exception):
    """A remote agent's card cannot be found or read."""


class A2AClientError(Exception):
    """A remote agent cannot be reached, or answers out of protocol."""


class RemoteA2aAgent(
    NotBuilt, part="A2A", instead="call the other agent over HTTP in a function tool"
):
    """An agent that runs elsewhere and is reached over A2A."""
