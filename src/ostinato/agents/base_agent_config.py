"""BaseAgentConfig: the settings of every agent's file, and the arguments of an agent from them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..agent_files.file_reading import FieldFault, current_reading, enter_field, resolve_callbacks
from ..agent_files.references import AgentRefConfig, CodeConfig


class BaseAgentConfig(BaseModel):
    """The settings of an agent in a file; a user's own class may have more fields.

    Attributes:
      agent_class: `LlmAgent`, another short name, or the dotted name of a class.
      name, description: see BaseAgent.
      sub_agents: the children, by file or dotted name.
      before_agent_callbacks, after_agent_callbacks: dotted names of functions.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)

    agent_class: str = Field(
        default="BaseAgent",
        description="LlmAgent, LoopAgent, ParallelAgent, SequentialAgent, or the dotted name of a "
        "class. LlmAgent by default.",
    )
    name: str = Field(description="Name of the agent, an identifier, unique in the tree.")
    description: str = Field(default="", description="What the agent can do.")
    sub_agents: list[AgentRefConfig] | None = Field(default=None, description="Its children.")
    before_agent_callbacks: list[CodeConfig] | None = Field(
        default=None, description="Functions that run before the agent."
    )
    after_agent_callbacks: list[CodeConfig] | None = Field(
        default=None, description="Functions that run after the agent."
    )


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
