"""The hooks around a model call: those of the plugins first, then the agent's own (Spec 2 §5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...context.callbacks import first_answer, plugin_answer
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ._skeleton import Skeleton


async def before_model(
    ctx: InvocationContext, llm_request: LlmRequest, skeleton: Skeleton
) -> LlmResponse | None:
    """Run the before_model hooks; an answer replaces the call."""
    hook, callbacks = "before_model_callback", ctx.agent.canonical_before_model_callbacks
    if not callbacks and not ctx.plugin_manager.overrides(hook):
        return None
    return await _ask(ctx, skeleton, hook, callbacks, llm_request=llm_request)


async def after_model(
    ctx: InvocationContext, llm_response: LlmResponse, skeleton: Skeleton
) -> LlmResponse:
    """Run the after_model hooks; an answer replaces the response."""
    hook, callbacks = "after_model_callback", ctx.agent.canonical_after_model_callbacks
    if not callbacks and not ctx.plugin_manager.overrides(hook):
        return llm_response
    answer = await _ask(ctx, skeleton, hook, callbacks, llm_response=llm_response)
    return answer or llm_response


async def on_model_error(
    ctx: InvocationContext, llm_request: LlmRequest, skeleton: Skeleton, error: Exception
) -> LlmResponse | None:
    """Run the on_model_error hooks; an answer stands in for the response (Spec 2 §5.4)."""
    hook, callbacks = "on_model_error_callback", ctx.agent.canonical_on_model_error_callbacks
    return await _ask(ctx, skeleton, hook, callbacks, llm_request=llm_request, error=error)


async def _ask(
    ctx: InvocationContext,
    skeleton: Skeleton,
    hook: str,
    callbacks: list[Callable[..., Any]],
    **told: Any,
) -> LlmResponse | None:
    """Return the first answer to a hook; None where nobody gives one."""
    context, name = Context(ctx, event_actions=skeleton.actions), ctx.agent.name
    ask_plugins = getattr(ctx.plugin_manager, f"run_{hook}")
    pending = ask_plugins(callback_context=context, **told)
    answer = await plugin_answer(pending, LlmResponse, hook, name)
    return answer or await first_answer(
        callbacks, LlmResponse, hook, name, callback_context=context, **told
    )
