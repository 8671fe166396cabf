"""The identity processor: tells the model which agent it is (Spec 2 §3.5)."""

from __future__ import annotations

from ...context.invocation import InvocationContext
from ...models.llm_request import LlmRequest
from ._base_llm_processor import RequestEdit


class _IdentityLlmRequestProcessor(RequestEdit):
    """Appends the agent's name and description to the system instruction."""

    def edit(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> None:
        """Append the identity."""
        agent = invocation_context.agent
        if invocation_context.is_single_turn:
            return  # it answers a call or another node, and has no conversation
        text = f'You are an agent. Your internal name is "{agent.name}".'
        if agent.description:
            text += f' The description about you is "{agent.description}".'
        llm_request.append_instructions([text])


request_processor = _IdentityLlmRequestProcessor()
