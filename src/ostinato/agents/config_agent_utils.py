"""Making agents of YAML files: names; it is not built yet."""

from .._later_on import not_built

_PART = "agents described in YAML"
_INSTEAD = "build the agent in Python, with LlmAgent and its kin"

from_config = not_built("from_config", part=_PART, instead=_INSTEAD)

resolve_agent_reference = not_built("resolve_agent_reference", part=_PART, instead=_INSTEAD)

resolve_callbacks = not_built("resolve_callbacks", part=_PART, instead=_INSTEAD)

resolve_code_reference = not_built("resolve_code_reference", part=_PART, instead=_INSTEAD)

resolve_fully_qualified_name = not_built(
    "resolve_fully_qualified_name", part=_PART, instead=_INSTEAD
)
