"""Readings of idempotency keys: which calls read their key while the tool's own body ran."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from ..context.context import Context
from ..flows.llm_flows import functions
from ..tools.function_tool import FunctionTool
from ..workflow import tool_node

# Where agents and graphs run a tool, settle a doubt right before its body, and ask for approval.
_RUNS = ((functions, "_run_body"), (tool_node, "_run_call"))
_SETTLE, _CONDITION = "settle_doubt", "_ask_condition"


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
    ask_condition = getattr(FunctionTool, _CONDITION)
    bodies: set[tuple[Hashable, str]] = set()

    def read_key(context: Context) -> str:
        call_id = context.function_call_id or ""
        if (process(), call_id) in bodies:
            on_read(call_id)
        return key_of(context)

    def open_after(settle: Callable[..., Any]) -> Callable[..., Any]:
        async def settle_and_open(tool: Any, args: Any, context: Context, *more: Any) -> Any:
            result = await settle(tool, args, context, *more)
            if result is None:
                bodies.add((process(), context.function_call_id or ""))
            return result

        return settle_and_open

    def close_after(run_body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def run_and_close(run: Any) -> Any:
            try:
                return await run_body(run)
            finally:
                bodies.discard((process(), run.call.id or ""))

        return run_and_close

    async def ask_aside(tool: FunctionTool, condition: Any, values: Any, context: Context) -> Any:
        body = process(), context.function_call_id or ""
        was_open = body in bodies
        bodies.discard(body)
        try:
            return await ask_condition(tool, condition, values, context)
        finally:
            if was_open:
                bodies.add(body)

    with ExitStack() as stack:
        for module, name in _RUNS:
            run_body, settle = getattr(module, name), getattr(module, _SETTLE)
            stack.enter_context(patch.object(module, name, close_after(run_body)))
            stack.enter_context(patch.object(module, _SETTLE, open_after(settle)))
        stack.enter_context(patch.object(FunctionTool, _CONDITION, ask_aside))
        stack.enter_context(patch.object(Context, "idempotency_key", property(read_key)))
        yield
