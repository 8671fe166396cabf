"""What an LlmAgent is constructed with, taken from its settings in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..agent_files.reading import at
from ..agent_files.resolving import resolve_code_reference
from ..tools.tool_resolving import resolve_tools
from .agent_fields import callback_fields

if TYPE_CHECKING:
    from .llm_agent_config import LlmAgentConfig

PLAIN = (
    "model",
    "instruction",
    "static_instruction",
    "disallow_transfer_to_parent",
    "disallow_transfer_to_peers",
    "include_contents",
    "output_key",
    "generate_content_config",
)
CODE = {
    "model_code": "model",
    "input_schema": "input_schema",
    "output_schema": "output_schema",
}
CALLBACKS = {
    "before_model_callbacks": "before_model_callback",
    "after_model_callbacks": "after_model_callback",
    "before_tool_callbacks": "before_tool_callback",
    "after_tool_callbacks": "after_tool_callback",
}


def llm_fields(config: LlmAgentConfig, config_abs_path: str) -> dict[str, Any]:
    """Return what an LlmAgent takes beside the fields of every agent."""
    fields = {
        name: value
        for name in PLAIN
        if (value := getattr(config, name)) is not None and value != ""
    }
    for theirs, ours in CODE.items():
        reference = getattr(config, theirs)
        if reference:
            with at(theirs):
                fields[ours] = resolve_code_reference(reference)
    if config.tools:
        fields["tools"] = resolve_tools(config.tools, config_abs_path)
    return fields | callback_fields(config, CALLBACKS)
