"""The hooks around a model call: the plugins' first, then the agent's (Spec 2 §5).

They write to `EventDraft`, from which the response becomes an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import _clock
from ....context.callbacks import first_answer, plugin_answer
from ....context.context import Context
from ....context.invocation import InvocationContext
from ....events.event_actions import ACTIONS_TEMPLATE, EventActions
from ....models.llm_request import LlmRequest
from ....models.llm_response import LlmResponse
from ....telemetry.model_call import NO_CALL, AnyCall


class EventDraft:
    """Identity and effects of the event that the next response becomes; an Event can replace it.

    Id, time and effects are created on first access.

    Args:
      ctx: the run.

    Attributes:
      invocation_id, author, branch: those of the event.
    """

    __slots__ = ("_actions", "_id", "_timestamp", "author", "branch", "invocation_id")

    def __init__(self, ctx: InvocationContext) -> None:
        self.invocation_id = ctx.invocation_id
        self.author: str = ctx.agent.name
        self.branch = ctx.branch
        self.start_next()

    def start_next(self) -> None:
        """Start the next event, with an id, a time and effects of its own."""
        self._id: str | None = None
        self._timestamp: float | None = None
        self._actions: EventActions | None = None

    @property
    def id(self) -> str:
        """Id of the event."""
        if self._id is None:
            self._id = _clock.new_id()
        return self._id

    @property
    def timestamp(self) -> float:
        """Time of the event, seconds since 1970."""
        if self._timestamp is None:
            self._timestamp = _clock.now()
        return self._timestamp

    @property
    def actions(self) -> EventActions:
        """Effects of the event; hooks write to them before the event exists."""
        if self._actions is None:
            self._actions = ACTIONS_TEMPLATE.create()
        return self._actions


async def run_before_model_hooks(
    ctx: InvocationContext, llm_request: LlmRequest, draft: EventDraft, call: AnyCall = NO_CALL
) -> LlmResponse | None:
    """Run the before_model hooks within the span of the call; an answer replaces the call."""
    hook, callbacks = "before_model_callback", ctx.agent.canonical_before_model_callbacks
    if not callbacks and not ctx.plugin_manager.overrides(hook):
        return None
    return await _run_hooks(ctx, draft, call, hook, callbacks, llm_request=llm_request)


def has_after_model_hooks(ctx: InvocationContext) -> bool:
    """Return whether the agent or a plugin has an after_model hook."""
    return bool(
        ctx.agent.canonical_after_model_callbacks
        or ctx.plugin_manager.overrides("after_model_callback")
    )


async def run_after_model_hooks(
    ctx: InvocationContext, llm_response: LlmResponse, draft: EventDraft, call: AnyCall = NO_CALL
) -> LlmResponse:
    """Run the after_model hooks within the span of the call; an answer replaces the response."""
    if not has_after_model_hooks(ctx):
        return llm_response
    hook, callbacks = "after_model_callback", ctx.agent.canonical_after_model_callbacks
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
