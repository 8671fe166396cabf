"""The outcome of a call: its result as JSON, its error, and whether it repeats an earlier call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from .... import types
from ....context.context import Context
from ....context.invocation import InvocationContext
from ....errors import StateSchemaError, ToolResultError
from ....events.event import Event
from ....sessions.state import check_state
from ....tools.model_mistake import ModelMistake
from ....tools.result_limits import MAX_LEVELS, has_nul, is_too_deep, replace_nul

_NOT_FINITE = (b"NaN", b"Infinity")
_CUT = "The call was cut off; its outcome is unknown. Check what happened before you call it again."


class ResultTooLarge(Exception):
    """A result above `RunConfig.max_tool_result_bytes`; the message is for the model."""


class CallOutcome:
    """The outcome of one call, or of all calls of one response.

    Attributes:
      event: the response event; None if a long-running tool has returned nothing yet.
      error: the exception to raise once `event` is committed.
      rerun_ids: ids of calls whose tools may have run twice.
      ended_ids: ids of long-running calls that wait for no result: their tools did not begin.
    """

    __slots__ = ("ended_ids", "error", "event", "rerun_ids")

    def __init__(
        self,
        event: Event | None,
        error: BaseException | None = None,
        rerun_ids: Sequence[str] = (),
        ended_ids: Sequence[str] = (),
    ) -> None:
        self.event = event
        self.error = error
        self.rerun_ids = rerun_ids
        self.ended_ids = ended_ids


def make_response_dict(
    result: Any, *, tool: str, agent: str, max_bytes: int, is_outside: bool = False
) -> dict[str, Any]:
    """Return a tool's result as the dict of a function response (Spec 2 §6.6).

    A dict is copied; any other value becomes `{"result": value}`.

    Args:
      result: the value that the tool or its last hook returned.
      tool: name of the tool, for errors.
      agent: name of the agent, for errors.
      max_bytes: maximum size as JSON.
      is_outside: whether others write the tool's results, in which U+FFFD replaces NUL.

    Raises:
      ToolResultError: JSON cannot represent the result: NaN, bytes that are not text, other
        objects, more than 180 levels of lists and dicts; or it holds NUL.
      ResultTooLarge: the result is larger than `max_bytes`.
    """
    wrapped = cast(dict[str, Any], result) if isinstance(result, dict) else {"result": result}
    try:
        data = to_json(wrapped, by_alias=False, exclude_none=True, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError) as error:
        raise ToolResultError(
            f"Tool {tool!r} of agent {agent!r} returned a value that JSON cannot carry "
            f"({_type_name(cast(object, result))}): {error}. Return str, numbers, lists, dicts or "
            "pydantic models; save bytes with tool_context.save_artifact."
        ) from error
    if len(data) > max_bytes:
        raise ResultTooLarge(
            f"The result of `{tool}` is too large: {len(data):,} bytes of JSON, and {max_bytes:,} "
            "are allowed. Call it again for a smaller part, or with a narrower query."
        )
    if any(
        [word in data for word in _NOT_FINITE]
    ):  # a list, because each item of a generator is a call
        path = next(_find_not_finite(wrapped, ""), None)
        if path is not None:
            raise ToolResultError(
                f"Tool {tool!r} of agent {agent!r} returned a number that JSON cannot carry "
                f"(NaN or infinite) at {path or 'the top'}. Return None or a text instead."
            )
    if is_too_deep(data):
        raise ToolResultError(
            f"Tool {tool!r} of agent {agent!r} returned a value that is nested more than "
            f"{MAX_LEVELS} levels deep. Return a flatter one."
        )
    if has_nul(data):
        if not is_outside:
            raise ToolResultError(
                f"Tool {tool!r} of agent {agent!r} has run, and returned a text with a NUL "
                "character, which not every store can keep. Replace or remove it."
            )
        data = replace_nul(data)
    return from_json(data)


def describe_error(error: BaseException) -> str:
    """Return what the model reads of a tool's exception."""
    text = f"{type(error).__name__}: {error}".replace("\0", "\ufffd")
    # A server's tool may have been cut off before or after its request was sent, and says so.
    is_told = "may have taken effect" in text
    return f"{text} {_CUT}" if getattr(error, "cuts_call", False) and not is_told else text


def _type_name(value: object) -> str:
    return type(value).__name__


def _find_not_finite(value: Any, path: str) -> Iterator[str]:
    """Yield the paths of numbers that are not finite."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield path
    elif isinstance(value, dict):
        for key, item in cast(dict[Any, Any], value).items():
            yield from _find_not_finite(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _find_not_finite(item, f"{path}[{index}]")


def refuse_repeat(ctx: InvocationContext, call: types.FunctionCall) -> ModelMistake | None:
    """Return the answer to a call that was repeated too often without a new result, or None."""
    args, _, times, _ = ctx.last_calls[call.name]
    limit = ctx.run_config.max_repeated_calls if ctx.run_config is not None else 0
    if not 0 < limit <= times or args != call.args:
        return None
    return ModelMistake(
        error=f"`{call.name}()` was called with these arguments {times} times in a row and gave "
        "the same result each time, so it was not run again. Use that result, call it with other "
        "arguments, or say that you cannot do what was asked."
    )


def record_result(
    ctx: InvocationContext, call: types.FunctionCall, response: dict[str, Any]
) -> None:
    """Record the result of a call; equal calls of one response count once."""
    if ctx.run_config is None or not ctx.run_config.max_repeated_calls:
        return
    seen, times, asked = ctx.last_calls, 1, len(ctx.log)
    if call.name in seen:
        args, result, before, then = seen[call.name]
        if args == call.args and result == response:
            times = before if then == asked else before + 1
    seen[call.name] = (call.args, response, times, asked)


def check_state_writes(context: Context) -> None:
    """Check the state that a tool wrote; remove keys that do not match the schema.

    Raises:
      StateSchemaError: a value does not match the schema.
    """
    delta: dict[str, Any] = context.actions.state_delta
    schema: Any = context.state_schema
    found: StateSchemaError | None = None
    for key, value in [*delta.items()]:
        try:
            check_state(schema, {key: value})
        except StateSchemaError as error:
            del delta[key]
            found = found or error
    if found is not None:
        raise found
