"""Structured output by a tool, for models without output schemas, or without them beside tools."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

from ... import types
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest
from ...tools.set_model_response_tool import SetModelResponseTool
from ._base_llm_processor import RequestEdit

_INSTRUCTION = (
    "IMPORTANT: You may call other tools to gather what you need. To give your final answer you "
    "must call the `set_model_response` tool with every required field, not answer in plain text."
)


class _OutputSchemaRequestProcessor(RequestEdit):
    """Adds `set_model_response` if the model does not support the output schema (Spec 2 §3.8)."""

    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Add tool and instruction."""
        agent = invocation_context.agent
        if agent.output_schema is None or agent.mode == "task" or has_schema_support(agent):
            return None
        return self._offer_tool(invocation_context, llm_request)

    async def _offer_tool(self, ctx: InvocationContext, llm_request: LlmRequest) -> None:
        tool = SetModelResponseTool(ctx.agent.output_schema)
        await tool.process_llm_request(tool_context=Context(ctx), llm_request=llm_request)
        llm_request.append_instructions([_INSTRUCTION])


def has_schema_support(agent: Any) -> bool:
    """Return whether the agent's model supports the output schema without a tool."""
    model: BaseLlm = agent.canonical_model
    if agent.tools or agent.delegates:
        return model.supports_output_schema_with_tools
    return model.capabilities.structured_output


request_processor = _OutputSchemaRequestProcessor()


def get_structured_model_response(function_response_event: Event) -> str | None:
    """Return the final output given through `set_model_response` as JSON text, or None."""
    answer = function_response_event.actions.set_model_response
    if answer is None:
        return None
    return json.dumps(answer, ensure_ascii=False)


def create_final_model_response_event(
    invocation_context: InvocationContext, json_response: str
) -> Event:
    """Return the final model event that carries structured output as text."""
    return Event(
        invocation_id=invocation_context.invocation_id,
        author=invocation_context.agent.name,
        branch=invocation_context.branch,
        content=types.Content(role="model", parts=[types.Part(text=json_response)]),
    )
