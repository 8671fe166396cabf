"""Parameters of OpenAI's requests that have no meaning for an agent: ignored, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .openai_problems import unsupported_parameter

# How the model samples and is served is the agent's own business.
_IGNORED = frozenset(
    "frequency_penalty logit_bias max_completion_tokens max_output_tokens max_tokens metadata "
    "parallel_tool_calls presence_penalty prompt_cache_key prompt_cache_retention reasoning "
    "reasoning_effort seed service_tier stop stream_options temperature top_p truncation "
    "verbosity".split()
)
# Values that ask for nothing but what happens anyway.
_HARMLESS: dict[str, tuple[Any, ...]] = {
    "function_call": ("auto",),
    "include": ([],),
    "logprobs": (False,),
    "tool_choice": ("auto",),
    "top_logprobs": (0,),
}
_REASONS = {
    "function_call": "the agent decides which tools it calls.",
    "tool_choice": "the agent decides which tools it calls.",
    "max_tool_calls": "the agent's budget decides.",
    "store": "the server stores every session; erase it by DELETE.",
    "web_search_options": "the agent has its own tools.",
}


def check_other_parameters(given: Mapping[str, Any] | None, **harmless: tuple[Any, ...]) -> None:
    """Refuse parameters that would change the answer and that an agent cannot honour.

    Args:
      given: the parameters that the request's record does not declare.
      harmless: further values that ask for nothing special, by parameter.

    Raises:
      Problem: a parameter is not supported.
    """
    for name, value in (given or {}).items():
        if value is None or name in _IGNORED:
            continue
        if any(value == one for one in (*_HARMLESS.get(name, ()), *harmless.get(name, ()))):
            continue
        reason = _REASONS.get(name, "agents do not support this parameter; leave it out.")
        raise unsupported_parameter(name[:100], reason)
