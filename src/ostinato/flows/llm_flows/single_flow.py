"""SingleFlow: the loop of an agent that transfers to nobody. Its processors, in the specified
order.
"""

from __future__ import annotations

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
from ._if_agent_has import IfAgentHas
from .base_llm_flow import BaseLlmFlow

# The order is specified (Spec 2 §3.1, FEATURES A.27 X1).
REQUEST_PROCESSORS: tuple[BaseLlmRequestProcessor, ...] = (
    basic.request_processor,  # first: it replaces the config that others add to
    auth_preprocessor.request_processor,  # calls that waited run before the history is read
    request_confirmation.request_processor,
    instructions.request_processor,
    identity.request_processor,
    compaction.request_processor,  # before contents, which read its summary
    contents.request_processor,  # after instructions, whose contents it places
    context_cache_processor.request_processor,
    interactions_processor.request_processor,
    IfAgentHas("planner", "nl_planning_request_processor"),  # edits contents, so after them
    IfAgentHas("code_executor", "code_execution_request_processor"),
    _output_schema_processor.request_processor,
)
RESPONSE_PROCESSORS: tuple[BaseLlmResponseProcessor, ...] = (
    IfAgentHas("planner", "nl_planning_response_processor"),
    IfAgentHas("code_executor", "code_execution_response_processor"),
)


class SingleFlow(BaseLlmFlow):
    """Flow with tools and without transfers (Spec 1 §22)."""

    def __init__(self) -> None:
        super().__init__()
        self.request_processors = list(REQUEST_PROCESSORS)
        self.response_processors = list(RESPONSE_PROCESSORS)
