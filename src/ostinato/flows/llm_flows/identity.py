"""The identity processor: tells the model which agent it is (Spec 2 §3.5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from ...context.invocation import InvocationContext
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ._base_llm_processor import BaseLlmRequestProcessor


class _IdentityLlmRequestProcessor(BaseLlmRequestProcessor):
    """Appends the agent's name and description to the system instruction."""

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Append the identity; yields nothing."""
        agent = invocation_context.agent
        text = f'You are an agent. Your internal name is "{agent.name}".'
        if agent.description:
            text += f' The description about you is "{agent.description}".'
        llm_request.append_instructions([text])
        return
        yield


request_processor = _IdentityLlmRequestProcessor()
