"""Model requests with retries, for empty responses and calls that cannot be parsed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from .... import types
from ...._aclosing import Aclosing, describe_non_generator
from ...._log import get_logger
from ....context.invocation import InvocationContext
from ....errors import AgentConfigError, ModelAnswerError
from ....models.base_llm import BaseLlm
from ....models.llm_request import LlmRequest
from ....models.llm_response import LlmResponse

logger = get_logger(__name__)

_PARSE_FAILURES = frozenset(
    ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE")
)
# The model may answer if it is asked again; any other reason says why it did not.
_UNEXPLAINED = frozenset(("", "STOP", "FINISH_REASON_UNSPECIFIED"))


def generate_responses(
    ctx: InvocationContext, model: BaseLlm, llm_request: LlmRequest, streaming: bool
) -> AsyncGenerator[LlmResponse, None]:
    """Call the agent's model; retry empty responses as often as the run allows."""
    limit = ctx.run_config.max_empty_retries if ctx.run_config is not None else None
    if limit is None:
        limit = model.empty_retries
    if not limit:
        return _start(ctx, model, llm_request, streaming)
    return _generate_with_retries(ctx, model, llm_request, streaming, limit)


def _start(
    ctx: InvocationContext, model: BaseLlm, request: LlmRequest, streaming: bool
) -> AsyncGenerator[LlmResponse, None]:
    responses = model.generate_content_async(request, stream=streaming)
    if not hasattr(responses, "aclose"):
        method = f"Agent {ctx.agent.name!r}: {type(model).__name__}.generate_content_async"
        raise AgentConfigError(describe_non_generator(responses, method, "LlmResponse"))
    return responses


async def _generate_with_retries(
    ctx: InvocationContext, model: BaseLlm, request: LlmRequest, streaming: bool, limit: int
) -> AsyncGenerator[LlmResponse, None]:
    """Yield the model's responses; those of the last attempt even if they are empty."""
    hinted = False
    for left in range(limit, -1, -1):
        spoke = False
        empty: LlmResponse | None = None
        async with Aclosing(_start(ctx, model, request, streaming)) as responses:
            async for response in responses:
                if left and not spoke and not response.partial and _is_empty(response):
                    empty = response
                    continue
                spoke = spoke or not response.partial or has_content(response)
                if hinted:  # the provider's stored conversation has a hint that the session lacks
                    response.interaction_id = None
                yield response
        if spoke or not left:
            return
        reason = _find_parse_failure(empty)
        logger.warning(
            "Model %r of agent %r returned %s; retrying.",
            model.model,
            ctx.agent.name,
            reason or "an empty response",
        )
        if empty is not None and ctx.services.budget_usage is not None:
            ctx.services.budget_usage.count(empty.usage_metadata, model.model)
        ctx.increment_llm_call_count()
        if reason:
            hinted = True
            request = request.model_copy(
                update={"contents": [*request.contents, _make_hint(empty)]}
            )


def _is_empty(response: LlmResponse) -> bool:
    """Return whether a complete response holds no text, no call and no error."""
    if _find_parse_failure(response):
        return True
    if response.error_code or response.interrupted or _find_stop_reason(response):
        return False
    return not has_content(response)


def _find_stop_reason(response: LlmResponse) -> str:
    """Return the finish reason if it explains a missing answer; else an empty string."""
    reason = response.finish_reason
    name = str(getattr(reason, "value", reason or ""))
    return "" if name in _UNEXPLAINED else name


def _find_parse_failure(response: LlmResponse | None) -> str:
    """Return the reason if the model's function call could not be parsed; else an empty string."""
    if response is None or (response.content is not None and _has_calls(response.content)):
        return ""
    for reason in (response.finish_reason, response.error_code):
        name = str(getattr(reason, "value", reason))
        if name in _PARSE_FAILURES:
            return name
    return ""


def _has_calls(content: types.Content) -> bool:
    return any(part.function_call is not None for part in content.parts or ())


def _make_hint(empty: LlmResponse | None) -> types.Content:
    """Return the hint that tells the model about it, for this request only."""
    reason = (empty.error_message or "") if empty is not None else ""
    text = (
        f"Your last function call could not be parsed, and nothing was run. {reason:.500} To call "
        "a function, use one from your list of tools, with arguments in valid JSON."
    )
    return types.Content(role="user", parts=[types.Part(text=text)])


def has_content(response: LlmResponse) -> bool:
    """Return whether a response holds more than thoughts and whitespace."""
    parts = response.content.parts if response.content is not None else None
    for part in parts or ():
        text: object = part.text  # may be of any type until the event is stored and validated
        if not part.thought and (not isinstance(text, str) or text.strip()):
            return True
    return False


def is_answer(response: LlmResponse) -> bool:
    """Return whether a complete response is an answer, an error or an interruption."""
    return has_content(response) or bool(response.error_code) or bool(response.interrupted)


def mark_as_empty(ctx: InvocationContext, response: LlmResponse) -> LlmResponse:
    """Return an empty or cut-off response with an EMPTY_RESPONSE error."""
    return response.model_copy(
        update={
            "error_code": "EMPTY_RESPONSE",
            "error_message": (
                f"The model {ctx.agent.canonical_model.model!r} of agent {ctx.agent.name!r} ended "
                "its response without text, call or other content. Retry, or handle it in an "
                "after_model_callback."
            ),
        }
    )


def require_content(ctx: InvocationContext, response: LlmResponse) -> LlmResponse:
    """Return a complete response; with an error if it is empty.

    The error's code is the finish reason, or EMPTY_RESPONSE if that explains nothing.
    """
    if is_answer(response):
        return response
    marked = mark_as_empty(ctx, response)
    marked.error_code = _find_stop_reason(response) or marked.error_code
    return marked


def refuse_nul(content: types.Content, model: str | None) -> None:
    """Refuse a response with a text that not every store can keep.

    Raises:
      ModelAnswerError: a text holds NUL.
    """
    for part in content.parts or ():
        text: Any = part.text
        if part.executable_code is not None:
            text = part.executable_code.code
        elif part.code_execution_result is not None:
            text = part.code_execution_result.output
        if text.__class__ is str and "\0" in text:
            raise ModelAnswerError(
                f"The answer of model {model!r} holds a NUL character, which not every store can "
                "keep.",
                model=model or "",
                retryable=False,
            )
