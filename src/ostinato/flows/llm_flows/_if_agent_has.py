"""Processors for what few agents have: loaded when the first of those agents runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from ...context.invocation import InvocationContext
from ...events.event import Event
from .. import llm_flows
from ._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor


class IfAgentHas(BaseLlmRequestProcessor, BaseLlmResponseProcessor):
    """Stands for a processor that matters only to agents with a certain setting.

    Args:
      setting: field of the agent, such as `planner`.
      processor: name of the processor in the face of this package.
    """

    def __init__(self, setting: str, processor: str) -> None:
        self._setting = setting
        self._processor = processor

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Only for agents with the setting."""
        return getattr(invocation_context.agent, self._setting) is not None

    async def run_async(
        self, invocation_context: InvocationContext, *work: Any, **named: Any
    ) -> AsyncGenerator[Event, None]:
        """Run the processor, unless the agent's setting is None."""
        if not self.applies(invocation_context):
            return
        processor = getattr(llm_flows, self._processor)
        async for event in processor.run_async(invocation_context, *work, **named):
            yield event
