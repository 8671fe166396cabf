"""The JSON schema of files that describe agents, for editors. `ostinato generate --schema`."""

from __future__ import annotations

from typing import Any

from .agent_config import AgentConfig

_DIALECT = "http://json-schema.org/draft-07/schema#"  # what editors of YAML know


def agent_schema() -> dict[str, Any]:
    """Return the schema.

    `agent_class` decides which fields there are: those of LlmAgent where a file does not say it,
    and any where it names a class by its dotted name.
    """
    definitions = AgentConfig.model_json_schema(by_alias=False)["$defs"]
    _add_camel_case(definitions)
    kinds = ("LoopAgent", "ParallelAgent", "SequentialAgent")
    for kind in ("LlmAgent", *kinds):
        said = definitions[f"{kind}Config"]["properties"]["agent_class"]
        said["enum"] = [kind] if kind != "LlmAgent" else [kind, ""]
    choice: dict[str, Any] = {"$ref": "#/$defs/LlmAgentConfig"}
    for kind in kinds:
        choice = _if_class({"const": kind}, f"{kind}Config", choice)
    own = {"anyOf": [{"const": "BaseAgent"}, {"pattern": r"\."}]}
    return {
        "$schema": _DIALECT,
        "title": "An agent of Ostinato",
        "description": "What root_agent.yaml and the files of sub-agents say.",
        "type": "object",
        **_if_class(own, "BaseAgentConfig", choice),
        "$defs": definitions,
    }


def _add_camel_case(definitions: dict[str, Any]) -> None:
    """Let the settings of models be written in the camel case of their services as well."""
    for name, other in AgentConfig.model_json_schema()["$defs"].items():
        for field, said in other.get("properties", {}).items():
            definitions[name]["properties"].setdefault(field, said)


def _if_class(said: dict[str, Any], config: str, otherwise: dict[str, Any]) -> dict[str, Any]:
    return {
        "if": {"required": ["agent_class"], "properties": {"agent_class": said}},
        "then": {"$ref": f"#/$defs/{config}"},
        "else": otherwise,
    }
