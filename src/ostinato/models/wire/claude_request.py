"""The settings of a request in Anthropic's words: tools, thinking, the form of the answer, and what
may be cached. The adapter builds requests with these.
"""

from __future__ import annotations

import re

from ... import types
from ..context_cache_config import ContextCacheConfig
from ..request_text import declared_functions
from .claude_messages import Block, ClaudeMessage, is_search
from .faults import Unsendable
from .json_schema import parameters_of
from .reading import fields_of, items_of

_TOOL_NAME = r"[a-zA-Z0-9_-]{1,128}"
_LEAST_BUDGET = 1024
_BUDGETS = {"MINIMAL": 1024, "LOW": 4096, "MEDIUM": 12_288, "HIGH": 24_576, "XHIGH": 32_768}
_EFFORTS = {"MINIMAL": "low", "LOW": "low", "MEDIUM": "medium", "HIGH": "high", "XHIGH": "xhigh"}
_NEWEST = (99, 0)
_SHORT_LIFE_S = 300
_SEARCH: Block = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


def version(model: str) -> tuple[int, int]:
    """Return the version in a model's name, such as (4, 5); that of the newest where none is."""
    match = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model)
    return (int(match[1]), int(match[2] or 0)) if match else _NEWEST


def has_tool_search(model: str) -> bool:
    """Return whether a model of this name searches deferred tools: Claude 4.5 and newer."""
    return "claude-" in model and version(model) >= (4, 5)


def tools(
    config: types.GenerateContentConfig, deferred: frozenset[str] = frozenset()
) -> list[Block]:
    """Return the tools that a request may use.

    Args:
      config: declares them.
      deferred: the names of those that the API's own search finds. They come last, behind the
        search, so that the tools before them stay the same.

    Raises:
      Unsendable: a tool's name does not match the API's pattern, or a tool is not a declared
        function.
    """
    for tool in config.tools or []:
        if not isinstance(tool, types.Tool):
            raise Unsendable(f"the tool {tool!r} in config.tools; add it to the agent's tools.")
        others = [name for name, value in tool if value and name != "function_declarations"]
        if others:
            raise Unsendable(f"the built-in tool {others[0]!r}; use a function tool instead.")
    wanted = _read_allowed_names(config)
    chosen = [
        _tool(declaration)
        for declaration in declared_functions(config)
        if wanted is None or declaration.name in wanted
    ]
    later = [{**tool, "defer_loading": True} for tool in chosen if tool["name"] in deferred]
    if not later:
        return chosen
    return [*[tool for tool in chosen if tool["name"] not in deferred], _SEARCH, *later]


def fit_searches(messages: list[ClaudeMessage], tools: list[Block]) -> list[ClaudeMessage]:
    """Return messages whose results of tool searches name only tools that the request defers.

    The API refuses others, which a session may hold from an earlier version of its agent. Without
    deferred tools, searches are left out. Messages that need none of this are returned unchanged.

    Args:
      messages: one for each content.
      tools: of the request.
    """
    if not any([message.has_search for message in messages]):
        return messages
    deferred = {tool["name"] for tool in tools if "defer_loading" in tool}
    fitted: list[ClaudeMessage] = []
    for message in messages:
        if message.has_search:
            blocks = [_fit_search(block, deferred) for block in message.blocks]
            kept = [block for block in blocks if deferred or not is_search(block)]
            if kept != message.blocks:
                message = ClaudeMessage(message.role, kept)
        if message.blocks:
            fitted.append(message)
    return fitted


def _fit_search(block: Block, deferred: set[str]) -> Block:
    content = fields_of(block.get("content"))
    if not is_search(block) or "tool_references" not in content:
        return block
    found = items_of(content["tool_references"])
    known = [one for one in found if fields_of(one).get("tool_name") in deferred]
    return {**block, "content": {**content, "tool_references": known}}


def _tool(declaration: types.FunctionDeclaration) -> Block:
    name = declaration.name or ""
    if not re.fullmatch(_TOOL_NAME, name):
        raise Unsendable(f"the name of tool {name!r}; rename it so that it matches {_TOOL_NAME}.")
    return {
        "name": name,
        "description": declaration.description or "",
        "input_schema": parameters_of(declaration),
    }


def tool_choice(config: types.GenerateContentConfig) -> Block | None:
    """Return whether the model may, must or must not call; None leaves it to the API."""
    calling = config.tool_config and config.tool_config.function_calling_config
    mode = calling.mode.value if calling and calling.mode else ""
    if mode == "ANY":
        names = _read_allowed_names(config)
        if names is not None and len(names) == 1:
            return {"type": "tool", "name": next(iter(names))}
        return {"type": "any"}
    return {"type": "none"} if mode == "NONE" else None


def _read_allowed_names(config: types.GenerateContentConfig) -> set[str] | None:
    calling = config.tool_config and config.tool_config.function_calling_config
    names = calling.allowed_function_names if calling else None
    return set(names) if names else None


def thinking(config: types.GenerateContentConfig, model: str, max_tokens: int) -> Block:
    """Return the fields of a request that say how much to think, and how many tokens to write.

    Args:
      config: its `thinking_config` has a budget in tokens (0: none, -1: open) or a level.
      model: its name; from Claude 4.6 on, models choose their budget themselves.
      max_tokens: tokens for what is not thought, where the request does not say.
    """
    wanted = config.thinking_config
    fields: Block = {"max_tokens": config.max_output_tokens or max_tokens}
    if wanted is None:
        return fields
    level = wanted.thinking_level.value if wanted.thinking_level else ""
    budget = wanted.thinking_budget
    if budget == 0:
        return {**fields, "thinking": {"type": "disabled"}}
    if budget is None and level not in _EFFORTS and not wanted.include_thoughts:
        return fields
    if version(model) >= (4, 6):
        fields["thinking"] = {"type": "adaptive"}
        if level in _EFFORTS:
            fields["output_config"] = {"effort": _EFFORTS[level]}
    else:
        if budget is None or budget < 0:
            budget = _BUDGETS.get(level, _BUDGETS["MEDIUM"])
        budget = max(budget, _LEAST_BUDGET)
        fields["max_tokens"] = config.max_output_tokens or max_tokens + budget
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if wanted.include_thoughts is not None:
        fields["thinking"]["display"] = "summarized" if wanted.include_thoughts else "omitted"
    return fields


def sampling(config: types.GenerateContentConfig) -> Block:
    """Return the fields of a request that say how to choose words and where to stop."""
    fields: Block = {
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": int(config.top_k) if config.top_k is not None else None,
        "stop_sequences": config.stop_sequences or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def cache_control(
    cache: ContextCacheConfig | None, previous_tokens: int | None
) -> dict[str, str] | None:
    """Return the cache control, or None if nothing is to be cached.

    Args:
      cache: the app's settings.
      previous_tokens: the tokens of the previous request's prompt, if known.
    """
    if cache is None or (cache.min_tokens and (previous_tokens or 0) < cache.min_tokens):
        return None
    return {"type": "ephemeral", "ttl": "5m" if cache.ttl_seconds <= _SHORT_LIFE_S else "1h"}


def mark_for_cache(body: Block, control: dict[str, str]) -> None:
    """Set the four marks that the API allows: after tools, system and the last two user messages.

    Marked blocks and messages are replaced, because they may be shared with the next request.
    """
    # The API caches no deferred tools: the prompt does not begin with them.
    told = [at for at, tool in enumerate(body.get("tools", ())) if "defer_loading" not in tool]
    if told:
        last, tools = told[-1], [*body["tools"]]
        tools[last] = {**tools[last], "cache_control": control}
        body["tools"] = tools
    if body.get("system"):
        text = {"type": "text", "text": body["system"], "cache_control": control}
        body["system"] = [text]
    messages: list[Block] = body["messages"]
    users = [index for index, one in enumerate(messages) if one["role"] == "user"]
    for index in users[-2:]:
        blocks: list[Block] = messages[index]["content"]
        marked = [*blocks[:-1], {**blocks[-1], "cache_control": control}]
        messages[index] = {"role": "user", "content": marked}
