"""The confirmation processor: runs the calls that the user has just confirmed or rejected."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from ... import auth, types
from ..._aclosing import Aclosing
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ._act import act
from ._base_llm_processor import BaseLlmRequestProcessor
from ._requests import REQUEST_CONFIRMATION_FUNCTION_CALL_NAME
from ._user_answers import is_answered, message_answers, user_answers

if TYPE_CHECKING:
    from ...auth.tool_confirmation import ToolConfirmation


class _RequestConfirmationLlmRequestProcessor(BaseLlmRequestProcessor):
    """Takes up the user's answers to `adk_request_confirmation` (FEATURES row 147)."""

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Only where the user's message answers a call."""
        return message_answers(invocation_context)

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Run the answered calls and yield their response event."""
        ctx = invocation_context
        calls: list[types.FunctionCall] = []
        confirmations: dict[str, ToolConfirmation] = {}
        for answer in user_answers(ctx, REQUEST_CONFIRMATION_FUNCTION_CALL_NAME):
            asked = answer.arguments.get("originalFunctionCall")
            call = types.FunctionCall.model_validate(asked or {})
            if not call.id or is_answered(call.id, answer.after):
                continue
            fields = _answer_fields(answer.response)
            edited = fields.pop("args", None)
            if isinstance(edited, dict):
                call.args = edited
            calls.append(call)
            confirmations[call.id] = _parse_tool_confirmation(fields)
        if not calls:
            return
        tools = await ctx.agent.canonical_tools(ReadonlyContext(ctx))
        event = Event(
            invocation_id=ctx.invocation_id,
            author=ctx.agent.name,
            branch=ctx.branch,
            content=types.Content(role="model", parts=[types.Part(function_call=c) for c in calls]),
        )
        by_name = {tool.name: tool for tool in tools}
        async with Aclosing(act(ctx, event, by_name, None, confirmations)) as events:
            async for response in events:
                yield response


request_processor = _RequestConfirmationLlmRequestProcessor()


def _answer_fields(response: dict[str, Any]) -> dict[str, Any]:
    """Return an answer's fields; some clients wrap them as JSON text in `response`."""
    wrapped = response.get("response")
    if len(response) == 1 and isinstance(wrapped, str):
        return dict(json.loads(wrapped))
    return dict(response)


def _parse_tool_confirmation(response: dict[str, Any]) -> ToolConfirmation:
    """Read a ToolConfirmation out of an answer: `confirmed`, and `hint` and `payload` if given."""
    return auth.ToolConfirmation.model_validate(_answer_fields(response))
