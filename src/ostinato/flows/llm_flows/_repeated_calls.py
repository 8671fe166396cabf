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
    last = ctx.last_calls.get(call.name) if ctx.last_calls else None
    limit = ctx.run_config.max_repeated_calls if ctx.run_config is not None else 0
    if last is None or not 0 < limit <= last[2] or last[0] != call.args:
        return None
    return ModelMistake(
        error=f"`{call.name}()` was called with these arguments {last[2]} times in a row and gave "
        "the same result each time, so it was not run again. Go on with that result, call it with "
        "other arguments, or say that you cannot do what was asked."
    )


def note_result(ctx: InvocationContext, call: types.FunctionCall, response: dict[str, Any]) -> None:
    """Note the result of a call that was run."""
    if ctx.last_calls is None:
        ctx.last_calls = {}
    last = ctx.last_calls.get(call.name)
    same = last is not None and last[0] == call.args and last[1] == response
    ctx.last_calls[call.name] = (call.args, response, last[2] + 1 if same and last else 1)
