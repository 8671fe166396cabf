"""AgentConfig: the settings of any agent's file, and their JSON schema for editors."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import Discriminator, RootModel, Tag

from .base_agent_config import BaseAgentConfig
from .llm_agent_config import LlmAgentConfig
from .loop_agent_config import LoopAgentConfig
from .parallel_agent_config import ParallelAgentConfig
from .sequential_agent_config import SequentialAgentConfig

_DIALECT = "http://json-schema.org/draft-07/schema#"  # YAML editors support this version
_KNOWN = ("LlmAgent", "LoopAgent", "ParallelAgent", "SequentialAgent")


def agent_config_discriminator(v: Any) -> str:
    """Return the kind of a file's settings.

    Args:
      v: the file's fields.

    Raises:
      ValueError: `v` is neither settings nor a dict.
    """
    if isinstance(v, BaseAgentConfig):
        said = v.agent_class
    elif isinstance(v, dict):
        said = str(cast("dict[str, Any]", v).get("agent_class") or "LlmAgent")
    else:
        raise ValueError(f"Invalid agent config: {v!r:.80}")
    return said if said in _KNOWN else "BaseAgent"


ConfigsUnion = Annotated[
    Annotated[LlmAgentConfig, Tag("LlmAgent")]
    | Annotated[LoopAgentConfig, Tag("LoopAgent")]
    | Annotated[ParallelAgentConfig, Tag("ParallelAgent")]
    | Annotated[SequentialAgentConfig, Tag("SequentialAgent")]
    | Annotated[BaseAgentConfig, Tag("BaseAgent")],
    Discriminator(agent_config_discriminator),
]


class AgentConfig(RootModel[ConfigsUnion]):
    """The settings of any kind of agent in a file."""


def build_json_schema() -> dict[str, Any]:
    """Return the schema.

    `agent_class` decides on the fields: those of LlmAgent if it is missing, any fields if it is a
    dotted name.
    """
    definitions = AgentConfig.model_json_schema(by_alias=False)["$defs"]
    _add_camel_case(definitions)
    kinds = ("LoopAgent", "ParallelAgent", "SequentialAgent")
    for kind in ("LlmAgent", *kinds):
        value = definitions[f"{kind}Config"]["properties"]["agent_class"]
        value["enum"] = [kind] if kind != "LlmAgent" else [kind, ""]
    choice: dict[str, Any] = {"$ref": "#/$defs/LlmAgentConfig"}
    for kind in kinds:
        choice = _if_class({"const": kind}, f"{kind}Config", choice)
    own = {"anyOf": [{"const": "BaseAgent"}, {"pattern": r"\."}]}
    return {
        "$schema": _DIALECT,
        "title": "An agent of Ostinato",
        "description": "The settings in root_agent.yaml and the files of sub-agents.",
        "type": "object",
        **_if_class(own, "BaseAgentConfig", choice),
        "$defs": definitions,
    }


def _add_camel_case(definitions: dict[str, Any]) -> None:
    """Allow model settings in the camel case of their services, too."""
    for name, other in AgentConfig.model_json_schema()["$defs"].items():
        for field, value in other.get("properties", {}).items():
            definitions[name]["properties"].setdefault(field, value)


def _if_class(value: dict[str, Any], config: str, otherwise: dict[str, Any]) -> dict[str, Any]:
    return {
        "if": {"required": ["agent_class"], "properties": {"agent_class": value}},
        "then": {"$ref": f"#/$defs/{config}"},
        "else": otherwise,
    }
