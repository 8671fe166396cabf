"""The hooks around a model call: the plugins' first, then the agent's (Spec 2 §5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....context.callbacks import first_answer, plugin_answer
from ....context.context import Context
from ....context.invocation import InvocationContext
from ....models.llm_request import LlmRequest
from ....models.llm_response import LlmResponse
from ....telemetry.model_call import NO_CALL, AnyCall
from .event_draft import EventDraft


async def run_before_model_hooks(
    ctx: InvocationContext, llm_request: LlmRequest, draft: EventDraft, call: AnyCall = NO_CALL
) -> LlmResponse | None:
    """Run the before_model hooks within the span of the call; an answer replaces the call."""
    hook, callbacks = "before_model_callback", ctx.agent.canonical_before_model_callbacks
    if not callbacks and not ctx.plugin_manager.overrides(hook):
        return None
    return await _run_hooks(ctx, draft, call, hook, callbacks, llm_request=llm_request)


async def run_after_model_hooks(
    ctx: InvocationContext, llm_response: LlmResponse, draft: EventDraft, call: AnyCall = NO_CALL
) -> LlmResponse:
    """Run the after_model hooks within the span of the call; an answer replaces the response."""
    hook, callbacks = "after_model_callback", ctx.agent.canonical_after_model_callbacks
    if not callbacks and not ctx.plugin_manager.overrides(hook):
        return llm_response
    answer = await _run_hooks(ctx, draft, call, hook, callbacks, llm_response=llm_response)
    return answer or llm_response


async def run_model_error_hooks(
    ctx: InvocationContext,
    llm_request: LlmRequest,
    draft: EventDraft,
    error: Exception,
    call: AnyCall = NO_CALL,
) -> LlmResponse | None:
    """Run the on_model_error hooks; an answer replaces the response (Spec 2 §5.4)."""
    hook, callbacks = "on_model_error_callback", ctx.agent.canonical_on_model_error_callbacks
    return await _run_hooks(ctx, draft, call, hook, callbacks, llm_request=llm_request, error=error)


async def _run_hooks(
    ctx: InvocationContext,
    draft: EventDraft,
    call: AnyCall,
    hook: str,
    callbacks: list[Callable[..., Any]],
    **arguments: Any,
) -> LlmResponse | None:
    """Return the first answer to a hook, or None."""
    context, name = Context(ctx, event_actions=draft.actions), ctx.agent.name
    ask_plugins = getattr(ctx.plugin_manager, f"run_{hook}")
    call.resume()
    try:
        pending = ask_plugins(callback_context=context, **arguments)
        answer = await plugin_answer(pending, LlmResponse, hook, name)
        return answer or await first_answer(
            callbacks, LlmResponse, hook, name, callback_context=context, **arguments
        )
    finally:
        call.suspend()
