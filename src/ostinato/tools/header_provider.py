"""The question to a program's `header_provider`: which headers the requests of a call carry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from ..errors import AgentConfigError


async def ask_header_provider(provider: Callable[[Any], Any], context: Any) -> dict[str, str]:
    """Return the headers that a provider gives for a call; none if it returns None.

    Args:
      provider: a plain or async function of the context.
      context: the context of the call.

    Raises:
      AgentConfigError: it returns no mapping, or a header without a value.
    """
    answer = provider(context)
    found: Any = await answer if inspect.isawaitable(answer) else answer
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise AgentConfigError(
            f"header_provider returned {type(found).__name__}, but must return a mapping of "
            "header names to texts."
        )
    headers = cast("Mapping[Any, Any]", found)
    for name, value in headers.items():
        if value is None:
            raise AgentConfigError(
                f"header_provider returned None for the header {str(name)!r}: leave the header "
                "out, or give a text."
            )
    return {str(name): str(value) for name, value in headers.items()}
