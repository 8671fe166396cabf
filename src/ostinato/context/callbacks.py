"""Running of callbacks: plugins first, then the agent's list; the first answer counts (Spec 2
§9.2).

Agents, the flow and the tool calls run every hook through `first_answer`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

from ..errors import CallbackError
from ..types.like_named import own

T = TypeVar("T")


def as_list(callbacks: Any) -> list[Callable[..., Any]]:
    """Return callbacks given as None, one callable or a list of them as a list."""
    if not callbacks:
        return []
    return cast(list[Any], callbacks) if isinstance(callbacks, list) else [callbacks]


async def first_answer(
    callbacks: Sequence[Callable[..., Any]],
    expected: type[T],
    hook: str,
    agent_name: str,
    **arguments: Any,
) -> T | None:
    """Run callbacks in order and return the first answer that is not None.

    Args:
      callbacks: functions, plain or async.
      expected: type of an answer.
      hook: name of the hook, for the error.
      agent_name: name of the agent, for the error.
      **arguments: what each callback is called with.

    Raises:
      CallbackError: a callback answered with another type.
    """
    for callback in callbacks:
        answer = callback(**arguments)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is not None:
            return checked(answer, expected, f"{hook} {_name(callback)!r}", agent_name)
    return None


async def plugin_answer(
    pending: Awaitable[Any], expected: type[T], hook: str, agent_name: str
) -> T | None:
    """Await the plugins' answer to a hook and check its type."""
    answer = await pending
    if answer is None:
        return None
    return checked(answer, expected, f"a plugin's {hook}", agent_name)


def checked(answer: Any, expected: type[T], who: str, agent_name: str) -> T:
    """Return `answer` if it is of the expected type; raise CallbackError otherwise."""
    if isinstance(answer, expected):
        return answer
    converted = own(answer)
    if isinstance(converted, expected):
        return converted
    raise CallbackError(
        f"Agent {agent_name!r}: {who} returned {type(answer).__name__}; "
        f"it must return {expected.__name__} or None."
    )


def _name(callback: Callable[..., Any]) -> str:
    return getattr(callback, "__qualname__", type(callback).__name__)
