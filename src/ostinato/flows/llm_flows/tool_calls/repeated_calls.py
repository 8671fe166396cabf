"""Detection of repeated calls: the same tool, arguments and result several times in a row."""

from __future__ import annotations

from typing import Any

from .... import types
from ....context.invocation import InvocationContext
from ....tools.model_mistake import ModelMistake


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
