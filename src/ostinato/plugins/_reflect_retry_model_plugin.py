"""ReflectAndRetryModelPlugin: a broken answer of the model goes back to it, some times."""

from __future__ import annotations

from typing import Any

from .. import _clock, types
from ..context.context import Context as CallbackContext
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool
from ._failure_counts import GLOBAL_SCOPE, FailureCounts, TrackingScope, checked_retries
from .base_plugin import BasePlugin
from .reflect_retry_tool_plugin import REFLECT_AND_RETRY_RESPONSE_TYPE

TOOL_NAME = "adk_handle_model_error"
# Gemini 3 refuses calls that it has not signed itself, but for this value.
_UNSIGNED = b"skip_thought_signature_validator"


class ReflectAndRetryModelPlugin(BasePlugin):
    """Turns a model's broken answer into a call whose response tells the model what was wrong, and
    so lets it try again (name as in google-adk 2.13).

    Failures in a row are counted per model; a good answer starts over. Errors that the model's
    adapter raises are not its concern.

    Args:
      name: unique among an app's plugins.
      max_retries: failures in a row that the model may mend; 0 for none.
      throw_exception_if_retry_exceeded: whether a run ends when they are used up; else the broken
        answer is yielded as it came.
      tracking_scope: whether each run counts by itself, or all together.
      on_model_errors: error codes to retry, as finish reasons or names; malformed function calls
        where None.

    Raises:
      ValueError: `max_retries` is negative.
    """

    def __init__(
        self,
        name: str = "reflect_retry_model_plugin",
        max_retries: int = 3,
        throw_exception_if_retry_exceeded: bool = True,
        tracking_scope: TrackingScope = TrackingScope.INVOCATION,
        on_model_errors: list[types.FinishReason] | None = None,
    ) -> None:
        super().__init__(name)
        self.max_retries = checked_retries(name, max_retries)
        self.throw_exception_if_retry_exceeded = throw_exception_if_retry_exceeded
        self.scope = tracking_scope
        if on_model_errors is None:
            on_model_errors = [types.FinishReason.MALFORMED_FUNCTION_CALL]
        self.on_model_errors = on_model_errors
        self._codes = {_code(error) for error in on_model_errors}
        self._counts = FailureCounts()
        self._tool = _ErrorTool(self.max_retries)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Make the tool known to the runtime; it is not declared to the model."""
        llm_request.tools_dict[TOOL_NAME] = self._tool

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Return a call in place of a broken answer.

        Raises:
          RuntimeError: the retries are used up.
        """
        if llm_response.partial:
            return None
        ctx = callback_context.get_invocation_context()
        scope = GLOBAL_SCOPE if self.scope is TrackingScope.GLOBAL else ctx.invocation_id
        model: str = ctx.agent.canonical_model.model
        if not self._is_broken(llm_response):
            if not llm_response.error_code:
                self._counts.reset(scope, model)
            return None
        count = self._counts.add(scope, model)
        if count <= self.max_retries:
            return _retry(llm_response, count)
        if self.throw_exception_if_retry_exceeded:
            raise RuntimeError(
                f"Model {model!r} of agent {ctx.agent.name!r} failed {count} times in a row, and "
                f"the retry limit of {self.max_retries} has been exceeded: "
                f"{llm_response.error_code}: {llm_response.error_message}"
            )
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self._counts.drop(invocation_context.invocation_id)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        self._counts.drop(invocation_context.invocation_id)

    def _is_broken(self, response: LlmResponse) -> bool:
        return _code(response.error_code) in self._codes or _calls_our_tool(response)


class _ErrorTool(BaseTool):
    """Answers the call that stands for a broken answer, with advice."""

    def __init__(self, max_retries: int) -> None:
        super().__init__(name=TOOL_NAME, description="Handles a broken answer of the model.")
        self._max_retries = max_retries

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Tell the model what was wrong."""
        return {
            "reflection_guidance": (
                f"Your last answer could not be used: {args.get('error_type')}. This is retry "
                f"{args.get('retry_count')} of {self._max_retries}. Look at what you were about to "
                "do, and do it in another form: plain JSON arguments, and only tools and "
                "parameters that are declared. Do not send the same answer again."
            )
        }


def _retry(response: LlmResponse, count: int) -> LlmResponse:
    finish = response.finish_reason
    call = types.FunctionCall(
        id=f"{TOOL_NAME}_{_clock.new_id()}",
        name=TOOL_NAME,
        args={
            "response_type": REFLECT_AND_RETRY_RESPONSE_TYPE,
            "error_type": response.error_code or "RESERVED_TOOL_CALL",
            "error_details": response.error_message,
            "finish_reason": _code(finish) if finish else None,
            "retry_count": count,
        },
    )
    part = types.Part(function_call=call, thought_signature=_UNSIGNED)
    return LlmResponse(
        content=types.Content(role="model", parts=[part]), usage_metadata=response.usage_metadata
    )


def _calls_our_tool(response: LlmResponse) -> bool:
    parts = (response.content.parts if response.content else None) or []
    return any(part.function_call and part.function_call.name == TOOL_NAME for part in parts)


def _code(error: Any) -> str:
    return str(getattr(error, "value", error))
