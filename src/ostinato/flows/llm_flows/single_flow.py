"""SingleFlow: the loop of an agent without transfers, with its processors in order."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from ...context.invocation import InvocationContext
from ...events.event import Event
from .. import llm_flows
from . import (
    _output_schema_processor,
    auth_preprocessor,
    basic,
    compaction,
    contents,
    context_cache_processor,
    identity,
    instructions,
    interactions_processor,
    request_confirmation,
)
from ._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from .base_llm_flow import BaseLlmFlow


class LazyProcessor(BaseLlmRequestProcessor, BaseLlmResponseProcessor):
    """Stands for a processor that only agents with a certain setting need.

    Args:
      setting: field of the agent, such as `planner`.
      processor: name of the processor in the face of this package.
    """

    def __init__(self, setting: str, processor: str) -> None:
        self._setting = setting
        self._processor = processor

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Return whether the agent has the setting."""
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


# The order is specified (Spec 2 §3.1, FEATURES A.27 X1).
REQUEST_PROCESSORS: tuple[BaseLlmRequestProcessor, ...] = (
    basic.request_processor,  # first, because it replaces the config that others extend
    auth_preprocessor.request_processor,  # waiting calls run before the history is read
    request_confirmation.request_processor,
    instructions.request_processor,
    identity.request_processor,
    compaction.request_processor,  # before contents, which shows its summary
    contents.request_processor,  # after instructions, whose contents it inserts
    context_cache_processor.request_processor,
    interactions_processor.request_processor,
    LazyProcessor("planner", "nl_planning_request_processor"),  # edits contents, so after them
    LazyProcessor("code_executor", "code_execution_request_processor"),
    _output_schema_processor.request_processor,
)
RESPONSE_PROCESSORS: tuple[BaseLlmResponseProcessor, ...] = (
    LazyProcessor("planner", "nl_planning_response_processor"),
    LazyProcessor("code_executor", "code_execution_response_processor"),
)


class SingleFlow(BaseLlmFlow):
    """Flow with tools and without transfers (Spec 1 §22)."""

    def __init__(self) -> None:
        super().__init__()
        self.request_processors = list(REQUEST_PROCESSORS)
        self.response_processors = list(RESPONSE_PROCESSORS)
