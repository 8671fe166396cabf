"""LangGraphAgent: the name; the bridge to LangGraph is not built yet."""

from .._later_on import NotBuilt


class LangGraphAgent(
    NotBuilt,
    part="the bridge to LangGraph",
    instead="wrap the graph in a BaseAgent subclass whose _run_async_impl calls it",
):
    """An agent that runs a compiled LangGraph graph."""
