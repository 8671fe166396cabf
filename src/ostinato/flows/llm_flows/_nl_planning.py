"""The planning processors: the planner's instruction before a model call, its tags after it.

The flow runs both for agents with a planner.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from ... import types
from ...context._ports import LlmAgentLike
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...planners.base_planner import BasePlanner
from ...planners.built_in_planner import BuiltInPlanner
from ._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from .history.content_edits import get_edits

_VIEW = "nl_planning"


class NlPlanningRequestProcessor(BaseLlmRequestProcessor):
    """Prepares a request for the agent's planner (Spec 1 §15, FEATURES rows 162, 163).

    For BuiltInPlanner it sets the thinking configuration. For any other it appends the planning
    instruction and shows the model its earlier plans as plain text, because a model without
    thinking would not see parts that are marked as thoughts.
    """

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        planner = _get_planner(invocation_context)
        if isinstance(planner, BuiltInPlanner):
            planner.apply_thinking_config(llm_request)
        elif planner is not None:
            instruction = planner.build_planning_instruction(
                ReadonlyContext(invocation_context), llm_request
            )
            if instruction:
                llm_request.append_instructions([instruction])
            edits = get_edits(invocation_context.log, (_VIEW, invocation_context.agent.name))
            llm_request.contents = edits.apply(llm_request.contents, _clear_thought_marks)
        return
        yield


class NlPlanningResponseProcessor(BaseLlmResponseProcessor):
    """Lets the planner process a response (Spec 1 §7, FEATURES rows 163, 164).

    An event of its own, before the response's, commits the planner's state changes. A partial
    response has no effects.
    """

    async def run_async(
        self, invocation_context: InvocationContext, llm_response: LlmResponse
    ) -> AsyncGenerator[Event, None]:
        planner = _get_planner(invocation_context)
        content = llm_response.content
        if planner is None or content is None or not content.parts:
            return
        context = Context(invocation_context)
        parts = planner.process_planning_response(context, list(content.parts))
        if parts:
            llm_response.content = types.Content(role=content.role, parts=parts)
        if context.state.has_delta() and not llm_response.partial:
            yield Event(
                invocation_id=invocation_context.invocation_id,
                author=invocation_context.agent.name,
                branch=invocation_context.branch,
                actions=context.actions,
            )


def _get_planner(invocation_context: InvocationContext) -> BasePlanner | None:
    agent: LlmAgentLike = invocation_context.agent
    return agent.planner


def _clear_thought_marks(index: int, content: types.Content) -> types.Content:
    """Return the content itself, or a copy of it in which no part is marked as thought."""
    parts = content.parts or []
    if all(part.thought is None for part in parts):
        return content
    plain = [
        part if part.thought is None else part.model_copy(update={"thought": None})
        for part in parts
    ]
    return content.model_copy(update={"parts": plain})


request_processor = NlPlanningRequestProcessor()
response_processor = NlPlanningResponseProcessor()
