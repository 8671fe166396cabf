"""Constructor arguments of an LlmAgent, from its settings in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_origin

from pydantic import BaseModel

from ..agent_files.document import cut_text
from ..agent_files.file_reading import (
    FieldFault,
    current_reading,
    enter_field,
    resolve_code_reference,
)
from ..tools.tool_resolving import resolve_tools
from .base_agent_config import callback_fields

if TYPE_CHECKING:
    from ..types import HttpRetryOptions
    from .llm_agent_config import LlmAgentConfig

PLAIN = (
    "model",
    "instruction",
    "static_instruction",
    "disallow_transfer_to_parent",
    "disallow_transfer_to_peers",
    "include_contents",
    "output_key",
    "mode",
    "generate_content_config",
)
CODE = {
    "model_code": "model",
    "input_schema": "input_schema",
    "output_schema": "output_schema",
    "planner": "planner",
    "code_executor": "code_executor",
}
CALLBACKS = {
    "before_model_callbacks": "before_model_callback",
    "after_model_callbacks": "after_model_callback",
    "before_tool_callbacks": "before_tool_callback",
    "after_tool_callbacks": "after_tool_callback",
}
# Objects that a file refers to, and the method that each must have.
_OBJECTS = {"planner": "build_planning_instruction", "code_executor": "execute_code"}
_SCHEMAS = ("input_schema", "output_schema")
# The largest values that a file may set.
_MAX_RETRIES = {"attempts": 100, "initial_delay": 3_600, "max_delay": 3_600, "exp_base": 100}
# Other options choose the address that receives the provider's key.
_HTTP_OPTIONS_IN_FILES = frozenset({"timeout", "headers", "retry_options"})


def llm_fields(config: LlmAgentConfig, config_abs_path: str) -> dict[str, Any]:
    """Return an LlmAgent's arguments besides those of every agent."""
    fields = {
        name: value
        for name in PLAIN
        if (value := getattr(config, name)) is not None and value != ""
    }
    if current_reading() is not None:
        _check_http_options(config)
    for theirs, ours in CODE.items():
        reference = getattr(config, theirs)
        if reference:
            with enter_field(theirs):
                fields[ours] = resolve_code_reference(reference)
                if ours in _SCHEMAS and not _is_schema(fields[ours]):
                    raise FieldFault(f"{cut_text(reference.name)!r} is not a type.")
                if ours in _OBJECTS and not _is_object_with(fields[ours], _OBJECTS[ours]):
                    what = ours.replace("_", " ")
                    raise FieldFault(f"{cut_text(reference.name)!r} is not a {what} object.")
    if config.tools:
        fields["tools"] = resolve_tools(config.tools, config_abs_path)
    return fields | callback_fields(config, CALLBACKS)


def _is_schema(value: Any) -> bool:
    """Return whether a value is a type or a JSON schema."""
    return isinstance(value, type | dict | BaseModel) or get_origin(value) is not None


def _is_object_with(value: Any, method: str) -> bool:
    return not isinstance(value, type) and callable(getattr(value, method, None))


def _check_retries(options: HttpRetryOptions) -> None:
    """Refuse retries of a file that would take very long.

    Raises:
      FieldFault: a setting is negative or too large.
    """
    for name, largest in _MAX_RETRIES.items():
        value = getattr(options, name)
        if value is not None and not 0 <= value <= largest:
            with enter_field("generate_content_config", "http_options", "retry_options", name):
                raise FieldFault(f"it must be between 0 and {largest}.")


def _check_http_options(config: LlmAgentConfig) -> None:
    """Refuse settings of a file that send requests, and the key in them, to another address.

    Raises:
      FieldFault: the file has such a setting.
    """
    settings = config.generate_content_config
    options = settings.http_options if settings is not None else None
    if options is None:
        return
    if options.retry_options is not None:
        _check_retries(options.retry_options)
    refused = sorted(
        name
        for name in {*options.model_fields_set, *(options.model_extra or ())}
        if name not in _HTTP_OPTIONS_IN_FILES and getattr(options, name) is not None
    )
    if refused:
        with enter_field("generate_content_config", "http_options"):
            raise FieldFault(
                f"a file cannot set {', '.join(refused)}, because requests carry the provider's "
                "key. Create such a model in the agent's code and refer to it with `model_code`."
            )
