"""What the settings of agents in YAML share: names; they are not built yet."""

from .._later_on import NotBuilt

_PART = "agents described in YAML"
_INSTEAD = "build the agent in Python, with LlmAgent and its kin"


class CodeConfig(NotBuilt, part=_PART, instead=_INSTEAD):
    """A function or object of a program, named in a YAML file."""


class AgentRefConfig(NotBuilt, part=_PART, instead=_INSTEAD):
    """Another agent, named in a YAML file."""
