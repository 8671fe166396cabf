"""SequentialAgentConfig: the name; agents described in YAML are not built yet."""

from .._later_on import NotBuilt


class SequentialAgentConfig(
    NotBuilt,
    part="agents described in YAML",
    instead="build the agent in Python, with LlmAgent and its kin",
):
    """The settings of a SequentialAgent in a YAML file."""
