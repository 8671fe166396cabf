"""Ports of request and response processors, the steps around a model call.

The flow runs its processors in order; programs may add their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable
from typing import ClassVar

from ...context.invocation import InvocationContext
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse


class BaseLlmRequestProcessor(ABC):
    """Prepares the request before the model is called (Spec 2 §3.1)."""

    # Whether `edit` does everything, as in RequestEdit; cheaper than isinstance.
    edits_only: ClassVar[bool] = False

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Return whether the processor has anything to do in this step; a cheap check."""
        return True

    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Edit `llm_request` in place, if `edits_only`; the flow awaits a returned awaitable."""
        raise NotImplementedError(f"{type(self).__name__} yields events; call run_async.")

    @abstractmethod
    def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Edit `llm_request` in place; yield events to commit before the model call.

        Args:
          invocation_context: the run.
          llm_request: the request from the previous processors. Its `contents` are shared with the
            session's history: replace entries of the list, never edit them.

        Returns:
          An async generator; it may yield nothing.
        """
        raise NotImplementedError


class RequestEdit(BaseLlmRequestProcessor):
    """A processor that edits the request and yields no events, as most do.

    The flow calls `edit` directly, because a generator would cost more than most edits.
    """

    edits_only = True

    @abstractmethod
    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Edit `llm_request` in place; the flow awaits a returned awaitable."""
        raise NotImplementedError

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Edit the request; yields nothing."""
        pending = self.edit(invocation_context, llm_request)
        if pending is not None:
            await pending
        return
        yield


class BaseLlmResponseProcessor(ABC):
    """Processes a model response before it becomes an event (Spec 2 §3.3)."""

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Return whether the processor has anything to do in this step; a cheap check."""
        return True

    @abstractmethod
    def run_async(
        self, invocation_context: InvocationContext, llm_response: LlmResponse
    ) -> AsyncGenerator[Event, None]:
        """Edit `llm_response` in place; yield events to commit before its own.

        Args:
          invocation_context: the run.
          llm_response: the response; with `content` set to None it becomes no event.

        Returns:
          An async generator; it may yield nothing.
        """
        raise NotImplementedError
