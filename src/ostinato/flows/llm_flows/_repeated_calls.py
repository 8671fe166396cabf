"""Calls that go round in circles: the same tool, arguments and result again and again.

`functions.py` asks before it runs a call, and notes what came of it.
"""

from __future__ import annotations

from typing import Any

from ... import types
from ...context.invocation import InvocationContext
from ...tools.model_mistake import ModelMistake


def refused_repeat(ctx: InvocationContext, call: types.FunctionCall) -> ModelMistake | None:
    """Return what to answer a call that was made too often with no new result; else None."""
    args, _, times, _ = ctx.last_calls[call.name]
    limit = ctx.run_config.max_repeated_calls if ctx.run_config is not None else 0
    if not 0 < limit <= times or args != call.args:
        return None
    return ModelMistake(
        error=f"`{call.name}()` was called with these arguments {times} times in a row and gave "
        "the same result each time, so it was not run again. Go on with that result, call it with "
        "other arguments, or say that you cannot do what was asked."
    )


def note_result(ctx: InvocationContext, call: types.FunctionCall, response: dict[str, Any]) -> None:
    """Note the result of a call that was run; equal calls of one response count once."""
    seen, times, asked = ctx.last_calls, 1, len(ctx.log)
    if call.name in seen:
        args, result, before, then = seen[call.name]
        if args == call.args and result == response:
            times = before if then == asked else before + 1
    seen[call.name] = (call.args, response, times, asked)
