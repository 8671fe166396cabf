"""Constructor arguments of an agent, from its settings in a file."""

from __future__ import annotations

from typing import Any

from ..agent_files.reading import FieldFault, current_reading, enter_field, resolve_callbacks
from .base_agent_config import BaseAgentConfig

# Callback fields of the settings, with the agent's own names for them.
CALLBACKS = {
    "before_agent_callbacks": "before_agent_callback",
    "after_agent_callbacks": "after_agent_callback",
}


def base_fields(
    config: BaseAgentConfig, config_abs_path: str, known: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of every kind of agent, and the further fields of a user's own class.

    Args:
      config: the settings.
      config_abs_path: the file that holds them.
      known: the fields of the agent's class.
    """
    fields: dict[str, Any] = {"name": config.name, "description": config.description}
    fields |= {name: value for name, value in (config.model_extra or {}).items() if name in known}
    if config.sub_agents:
        fields["sub_agents"] = _sub_agents(config, config_abs_path)
    return fields | callback_fields(config, CALLBACKS)


def callback_fields(config: BaseAgentConfig, names: dict[str, str]) -> dict[str, Any]:
    """Return the callbacks of the settings under the agent's own names."""
    fields: dict[str, Any] = {}
    for theirs, ours in names.items():
        callbacks = getattr(config, theirs)
        if callbacks:
            with enter_field(theirs):
                fields[ours] = resolve_callbacks(callbacks)
    return fields


def _sub_agents(config: BaseAgentConfig, config_abs_path: str) -> list[Any]:
    reading = current_reading()
    if reading is None:
        raise FieldFault(
            f"Agent {config.name!r}: only config_agent_utils.from_config(path) can create the "
            "sub-agents of settings; call it with the path of the file."
        )
    agents: list[Any] = []
    for index, reference in enumerate(config.sub_agents or ()):
        with enter_field("sub_agents", index):
            agents.append(reading.build(reference, config_abs_path))
    return agents
