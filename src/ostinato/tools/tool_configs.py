"""Settings of tools in YAML files: names; agents described in YAML are not built yet."""

from .._later_on import NotBuilt

_PART = "agents described in YAML"
_INSTEAD = "build the agent in Python, with LlmAgent and its kin"


class BaseToolConfig(NotBuilt, part=_PART, instead=_INSTEAD):
    """Base of the settings of one kind of tool."""


class ToolArgsConfig(NotBuilt, part=_PART, instead=_INSTEAD):
    """The arguments a tool is made with."""


class ToolConfig(NotBuilt, part=_PART, instead=_INSTEAD):
    """A tool, named in a YAML file."""
