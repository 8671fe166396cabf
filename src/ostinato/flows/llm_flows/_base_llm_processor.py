"""Ports of the steps around a model call: one kind edits the request, the other the response.

The flow runs them in order; every processor of `flows/llm_flows` is one, and users may write more.
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

    # Whether `edit` does all there is to do, as in RequestEdit. Cheaper to ask than isinstance.
    edits_only: ClassVar[bool] = False

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Tell whether there is anything to do in this step; asked first, as it costs little."""
        return True

    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Edit `llm_request` in place, where `edits_only`; what is returned, if anything, is
        awaited.
        """
        raise NotImplementedError(f"{type(self).__name__} yields events; call run_async.")

    @abstractmethod
    def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Edit `llm_request` in place; yield events that are to be committed before the call.

        Args:
          invocation_context: the run.
          llm_request: the request as the processors before this one left it. Its `contents` are
            shared with the session's history: replace entries of the list, never edit them.

        Returns:
          An async generator; it may yield nothing.
        """
        raise NotImplementedError


class RequestEdit(BaseLlmRequestProcessor):
    """A processor that edits the request and has no events to yield: all but a few of ours.

    The flow calls `edit` itself; a generator for each would be the greater part of their cost.
    """

    edits_only = True

    @abstractmethod
    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Edit `llm_request` in place; what is returned, if anything, is awaited."""
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
    """Works on a response of the model before it becomes an event (Spec 2 §3.3)."""

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Tell whether there is anything to do in this step; asked first, as it costs little."""
        return True

    @abstractmethod
    def run_async(
        self, invocation_context: InvocationContext, llm_response: LlmResponse
    ) -> AsyncGenerator[Event, None]:
        """Edit `llm_response` in place; yield events that are to be committed before its own.

        Args:
          invocation_context: the run.
          llm_response: the response; with `content` set to None it makes no event of its own.

        Returns:
          An async generator; it may yield nothing.
        """
        raise NotImplementedError
