"""AgentConfig: the name; agents described in YAML are not built yet."""

from .._later_on import NotBuilt, not_built

_PART = "agents described in YAML"
_INSTEAD = "build the agent in Python, with LlmAgent and its kin"


class AgentConfig(NotBuilt, part=_PART, instead=_INSTEAD):
    """The settings of any kind of agent in a YAML file."""


agent_config_discriminator = not_built("agent_config_discriminator", part=_PART, instead=_INSTEAD)

ConfigsUnion = AgentConfig
