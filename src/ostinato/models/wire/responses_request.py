"""Settings, tools and instruction as a body for the Responses API, for `OpenAIResponsesLlm`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ... import types
from ..request_text import instruction_text
from .chat_request import chosen_functions, effort_of, other_tools, schema_instruction, tier_of
from .faults import Unsendable
from .json_schema import output_schema_of, parameters_of, schema_name, strict_form

_REASONS = re.compile(r"(o\d|gpt-([5-9]|\d\d)|codex)(?!.*-chat)")
_SEARCH_ITEMS = ("tool_search_call", "tool_search_output")
_ENCRYPTED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"
_VERSION = re.compile(r"gpt-(\d{1,3})(?:\.(\d{1,3}))?(?!\d)")


def reasons(model: str) -> bool:
    """Return whether a model of this name is a reasoning model."""
    return _REASONS.match(model) is not None


def has_tool_search(model: str) -> bool:
    """Return whether a model of this name searches deferred tools: GPT-5.4 and newer."""
    found = None if "-chat" in model else _VERSION.match(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 4)


def responses_body(
    model: str,
    items: list[dict[str, Any]],
    config: types.GenerateContentConfig,
    *,
    keep: bool,
    previous: str | None,
    deferred: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
      model: the model's name.
      items: the conversation, or what is new since `previous`.
      config: settings and tools.
      keep: whether the provider stores the response, so that a later request can continue it.
      previous: id of the response to continue.
      deferred: the names of functions that the API's own search finds. They come last, behind the
        search, so that the tools before them stay the same.

    Raises:
      Unsendable: a tool that the API does not know.
    """
    tools = _tools(config, deferred)
    asked: dict[str, Any] = {
        "model": model,
        "input": _fit_searches(items, tools.get("tools", [])),
        "store": keep or bool(config.store),
        "previous_response_id": previous,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "max_output_tokens": config.max_output_tokens,
        "service_tier": tier_of(config),
    }
    instruction = instruction_text(config)
    form = _text_format(config)
    if isinstance(form, str):
        instruction = f"{instruction}\n\n{form}" if instruction else form
    elif form is not None:
        asked["text"] = {"format": form}
    asked["instructions"] = instruction or None
    include = [_ENCRYPTED] if reasons(model) and not asked["store"] else []
    if config.response_logprobs:
        include.append(_LOGPROBS)
        asked["top_logprobs"] = config.logprobs
    asked["include"] = include or None
    asked["reasoning"] = _reasoning(config)
    asked |= tools
    return {name: value for name, value in asked.items() if value is not None}


def since_last_answer(contents: Sequence[types.Content]) -> list[types.Content]:
    """Return the contents after the model's last one: what an answer that is kept does not hold."""
    for at in range(len(contents) - 1, -1, -1):
        if contents[at].role == "model":
            return list(contents[at + 1 :])
    return list(contents)


def _reasoning(config: types.GenerateContentConfig) -> dict[str, Any] | None:
    effort = effort_of(config)
    fields = {"effort": effort} if effort else {}
    if config.thinking_config is not None and config.thinking_config.include_thoughts:
        fields["summary"] = "auto"
    return fields or None


def _fit_searches(items: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items; without those of tool searches if the request defers no tool."""
    if any([tool.get("defer_loading") for tool in tools]):
        return items
    return [item for item in items if item["type"] not in _SEARCH_ITEMS]


def _tools(config: types.GenerateContentConfig, deferred: frozenset[str]) -> dict[str, Any]:
    functions, choice = chosen_functions(config)
    tools: list[dict[str, Any]] = [
        {
            "type": "function",
            "name": one.name,
            "description": one.description or "",
            "parameters": parameters_of(one),
            "strict": False,  # the API's default is strict, which open schemas are refused for
        }
        for one in functions
    ]
    for name in other_tools(config):
        if name != "google_search":
            raise Unsendable(
                f"the built-in tool {name!r}. Name OpenAI's own tools in extra_body: "
                'extra_body={"tools": [{"type": ...}]}.'
            )
        tools.append({"type": "web_search"})
    later = [{**tool, "defer_loading": True} for tool in tools if tool.get("name") in deferred]
    if later:
        first = [tool for tool in tools if tool.get("name") not in deferred]
        tools = [*first, {"type": "tool_search"}, *later]
    if not tools:
        return {}
    return {"tools": tools, "tool_choice": choice} if choice is not None else {"tools": tools}


def _text_format(config: types.GenerateContentConfig) -> dict[str, Any] | str | None:
    schema = output_schema_of(config)
    if schema is None:
        as_json = config.response_mime_type == "application/json"
        return {"type": "json_object"} if as_json else None
    if schema.get("type") != "object":
        return schema_instruction(schema)
    strict = strict_form(schema)
    return {
        "type": "json_schema",
        "name": schema_name(schema),
        "schema": strict or schema,
        "strict": strict is not None,
    }
