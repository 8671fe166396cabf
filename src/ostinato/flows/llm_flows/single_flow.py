"""SingleFlow: the loop of an agent that transfers to nobody. Its processors, in the specified
order.
"""

from __future__ import annotations

from . import (
    _code_execution,
    _nl_planning,
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
    _nl_planning.request_processor,  # edits contents, so after them
    _code_execution.request_processor,
    _output_schema_processor.request_processor,
)
RESPONSE_PROCESSORS: tuple[BaseLlmResponseProcessor, ...] = (
    _nl_planning.response_processor,
    _code_execution.response_processor,
)


class SingleFlow(BaseLlmFlow):
    """Flow with tools and without transfers (Spec 1 §22)."""

    def __init__(self) -> None:
        super().__init__()
        self.request_processors = list(REQUEST_PROCESSORS)
        self.response_processors = list(RESPONSE_PROCESSORS)
