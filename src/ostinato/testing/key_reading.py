"""Readings of idempotency keys: which calls read their key while the tool's own body ran."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from ..context.context import Context
from ..flows.llm_flows import functions
from ..tools.function_tool import FunctionTool

# Where the runtime runs a tool, settles a doubt right before its body, and asks for approval.
_RUN_BODY, _SETTLE, _CONDITION = "_run_body", "settle_doubt", "_ask_condition"


@contextmanager
def watch_key_readings(
    on_read: Callable[[str], None], process: Callable[[], Hashable] = lambda: None
) -> Generator[None]:
    """Report each reading of a call's idempotency key by the tool's own body, until the block ends.

    The body is `run_async` of the tool with all that it calls, also in threads. Callbacks, plugins,
    policies, `check=` and a function of `require_confirmation=` are not part of it: what they do
    with a key does not keep the effect from happening twice.

    Args:
      on_read: called with the id of the call.
      process: returns what the current process is known by, if several share this interpreter.
    """
    key_of = Context.idempotency_key.fget
    assert key_of is not None
    run_body, settle = getattr(functions, _RUN_BODY), getattr(functions, _SETTLE)
    ask_condition = getattr(FunctionTool, _CONDITION)
    bodies: set[tuple[Hashable, str]] = set()

    def read_key(context: Context) -> str:
        call_id = context.function_call_id or ""
        if (process(), call_id) in bodies:
            on_read(call_id)
        return key_of(context)

    async def settle_and_open(
        tool: Any, args: Any, context: Context, answer: Any, in_doubt: bool
    ) -> Any:
        result = await settle(tool, args, context, answer, in_doubt)
        if result is None:
            bodies.add((process(), context.function_call_id or ""))
        return result

    async def run_and_close(run: Any) -> Any:
        try:
            return await run_body(run)
        finally:
            bodies.discard((process(), run.call.id or ""))

    async def ask_aside(tool: FunctionTool, condition: Any, values: Any, context: Context) -> Any:
        body = process(), context.function_call_id or ""
        was_open = body in bodies
        bodies.discard(body)
        try:
            return await ask_condition(tool, condition, values, context)
        finally:
            if was_open:
                bodies.add(body)

    with (
        patch.object(functions, _RUN_BODY, run_and_close),
        patch.object(functions, _SETTLE, settle_and_open),
        patch.object(FunctionTool, _CONDITION, ask_aside),
        patch.object(Context, "idempotency_key", property(read_key)),
    ):
        yield
