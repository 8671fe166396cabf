"""Settings, tools and instruction as a body for chat completions. `OpenAILlm` and `LiteLlm` call
it.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from ... import types
from ..request_text import instruction_text
from .chat_dialects import ChatDialect
from .faults import Unsendable
from .json_schema import output_schema_of, parameters_of, schema_name, strict_form

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SAME_NAMES = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_TIERS = {"flex": "flex", "standard": "default", "priority": "priority"}


def chat_body(
    model: str,
    messages: list[dict[str, Any]],
    config: types.GenerateContentConfig,
    dialect: ChatDialect,
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
      model: the model's name.
      messages: the conversation; the instruction is put before it.
      config: settings and tools.
      dialect: what the server takes.

    Raises:
      Unsendable: a tool or setting that chat completions do not know.
    """
    body: dict[str, Any] = {"model": model}
    instruction = instruction_text(config)
    output = _response_format(config, dialect)
    if isinstance(output, str):
        instruction = f"{instruction}\n\n{output}" if instruction else output
    elif output is not None:
        body["response_format"] = output
    system = [{"role": "system", "content": instruction}] if instruction else []
    body["messages"] = [*system, *messages]
    body |= _settings(config, dialect)
    functions, choice = chosen_functions(config)
    others = other_tools(config)
    if others:
        raise Unsendable(
            f"the built-in tool {others[0]!r}. Chat completions take functions only; offer a "
            "function that does the same, or use a model that has this tool."
        )
    if functions:
        body["tools"] = [{"type": "function", "function": _function(one)} for one in functions]
        if choice is not None:
            choice = dialect.tool_choices.get(choice, choice)
        if choice:
            body["tool_choice"] = choice
    for name in dialect.refused:
        body.pop(name, None)
    return body


def chosen_functions(
    config: types.GenerateContentConfig,
) -> tuple[list[types.FunctionDeclaration], str | None]:
    """Return the functions to offer, and whether one must be called: None leaves that open.

    Raises:
      Unsendable: the API would refuse a function's name.
    """
    declared = [
        one
        for tool in cast(list[Any], config.tools or [])
        if isinstance(tool, types.Tool)
        for one in tool.function_declarations or []
    ]
    for one in declared:
        if TOOL_NAME.fullmatch(one.name or "") is None:
            raise Unsendable(
                f"the tool {one.name!r}: names of tools must match ^[a-zA-Z0-9_-]{{1,64}}$. "
                "Rename it."
            )
    calling = config.tool_config.function_calling_config if config.tool_config else None
    if calling is None:
        return declared, None
    allowed = calling.allowed_function_names
    if allowed:
        declared = [one for one in declared if one.name in allowed]
    mode = calling.mode.value if calling.mode is not None else ""
    return declared, {"ANY": "required", "NONE": "none", "AUTO": "auto"}.get(mode)


def other_tools(config: types.GenerateContentConfig) -> list[str]:
    """Return the names of the tools that are no functions: those a provider runs itself."""
    return [
        name
        for tool in cast(list[Any], config.tools or [])
        if isinstance(tool, types.Tool)
        for name, value in tool
        if value is not None and name != "function_declarations"
    ]


def effort_of(config: types.GenerateContentConfig) -> str | None:
    """Return how much a model shall reason, in OpenAI's words; None leaves it to the model."""
    thinking = config.thinking_config
    if thinking is None:
        return None
    if thinking.thinking_level is not None:
        level = thinking.thinking_level.value.lower()
        return None if level.endswith("unspecified") else level
    budget = thinking.thinking_budget
    if budget is None or budget < 0:
        return None
    if budget == 0:
        return "none"
    return "low" if budget <= 2048 else "medium" if budget <= 8192 else "high"


def tier_of(config: types.GenerateContentConfig) -> str | None:
    """Return the tier of service in OpenAI's words."""
    return _TIERS.get(config.service_tier.value) if config.service_tier is not None else None


def schema_instruction(schema: dict[str, Any]) -> str:
    """Return a schema as an instruction, for where the API cannot be given it."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Answer with JSON alone, without a code fence, that follows this schema: {text}"


def _function(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    return {
        "name": declaration.name,
        "description": declaration.description or "",
        "parameters": parameters_of(declaration),
    }


def _response_format(
    config: types.GenerateContentConfig, dialect: ChatDialect
) -> dict[str, Any] | str | None:
    """Return the field that binds the output to JSON, or an instruction that asks for it."""
    schema = output_schema_of(config)
    if schema is None:
        as_json = config.response_mime_type == "application/json"
        return {"type": "json_object"} if as_json else None
    if schema.get("type") != "object" or not dialect.json_schema:
        return schema_instruction(schema)
    strict = strict_form(schema)
    wanted: dict[str, Any] = {"name": schema_name(schema), "schema": strict or schema}
    wanted["strict"] = strict is not None
    return {"type": "json_schema", "json_schema": wanted}


def _settings(config: types.GenerateContentConfig, dialect: ChatDialect) -> dict[str, Any]:
    asked: dict[str, Any] = {name: getattr(config, name) for name in _SAME_NAMES}
    asked[dialect.max_tokens] = config.max_output_tokens
    asked[dialect.seed] = config.seed
    asked["stop"] = config.stop_sequences or None
    asked["n"] = config.candidate_count
    effort = effort_of(config)
    asked["reasoning_effort"] = dialect.efforts.get(effort, effort) if effort else None
    asked["store"] = config.store
    if config.response_logprobs:
        asked |= {"logprobs": True, "top_logprobs": config.logprobs}
    if dialect.top_k and config.top_k is not None:
        asked["top_k"] = int(config.top_k)
    if dialect.service_tier:
        asked["service_tier"] = tier_of(config)
    modalities = [str(one).rpartition(".")[2].lower() for one in config.response_modalities or ()]
    if modalities and modalities != ["text"]:
        asked["modalities"] = modalities
    return {name: value for name, value in asked.items() if value is not None}
