"""Callback execution: plugins first, then the agent's list; the first answer counts (Spec 2 §9.2).

Agents and the flow run hooks through `first_answer`, the tool calls through `first_result`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator
from pydantic_core import PydanticSerializationError, to_json

from .._lists import is_several
from ..errors import CallbackError
from ..types.like_named import own

T = TypeVar("T")

_NONE_ONLY = ("on_model_error_callback", "on_tool_error_callback", "on_event_callback")


def as_list(callbacks: Any) -> list[Callable[..., Any]]:
    """Return callbacks given as None, one callable or a list of them as a list."""
    if not callbacks:
        return []
    return cast(list[Any], callbacks) if isinstance(callbacks, list) else [callbacks]


def _check_callable(value: Any) -> Any:
    """Return the value of a callback field, several in a list.

    Raises:
      ValueError: one cannot be called.
    """
    given: Any = value if callable(value) or not is_several(value) else list(value)
    for one in as_list(given):
        if one is not None and not callable(one):
            raise ValueError(
                f"{one!r:.100} is not a callback. Give a function, or a list of functions."
            )
    return given


#: Type of a field that holds None, a callback or a list of callbacks.
CallbackField = Annotated[Any, AfterValidator(_check_callable)]


async def first_answer(
    callbacks: Sequence[Callable[..., Any]],
    expected: type[T],
    hook: str,
    agent_name: str,
    **arguments: Any,
) -> T | None:
    """Run callbacks in order and return the first answer; a false one counts as None.

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
        if _is_answer(answer, hook):
            return check_answer(
                answer, expected, f"{hook} {_name_callback(callback)!r}", agent_name
            )
    return None


async def plugin_answer(
    pending: Awaitable[Any], expected: type[T], hook: str, agent_name: str
) -> T | None:
    """Await the plugins' answer to a hook and check its type; false counts as None."""
    answer = await pending
    if not _is_answer(answer, hook):
        return None
    return check_answer(answer, expected, f"a plugin's {hook}", agent_name)


def _is_answer(answer: Any, hook: str) -> bool:
    """Return whether an answer counts: google-adk tests its truth, except in three hooks."""
    return bool(answer) or (answer is not None and hook in _NONE_ONLY)


async def first_result(
    callbacks: Sequence[Callable[..., Any]], hook: str, agent_name: str, **arguments: Any
) -> Any:
    """Run the callbacks of a tool hook and return their result, or None.

    The first true result counts, else the last one, `{}` too.

    Args:
      callbacks, hook, agent_name, **arguments: as for `first_answer`.

    Raises:
      CallbackError: a callback returned an invalid tool result.
    """
    result, who = None, hook
    for callback in callbacks:
        who = f"{hook} {_name_callback(callback)!r}"
        result = callback(**arguments)
        if inspect.isawaitable(result):
            result = await result
        if _is_answer(result, hook):
            break
    return _checked_result(result, who, agent_name)


async def plugin_result(pending: Awaitable[Any], hook: str, agent_name: str) -> Any:
    """Await the plugins' answer to a tool hook and check that it is a valid tool result."""
    return _checked_result(await pending, f"a plugin's {hook}", agent_name)


def _checked_result(result: Any, who: str, agent_name: str) -> Any:
    """Return a result; raise CallbackError if JSON cannot carry it."""
    if result is not None and not isinstance(result, dict):
        try:
            to_json(result, inf_nan_mode="constants")
        except (PydanticSerializationError, ValueError):
            check_answer(result, dict, who, agent_name)
    return cast(Any, result)


def check_answer(answer: Any, expected: type[T], who: str, agent_name: str) -> T:
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


def _name_callback(callback: Callable[..., Any]) -> str:
    return getattr(callback, "__qualname__", type(callback).__name__)
