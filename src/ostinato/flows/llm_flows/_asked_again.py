"""Asking a model again that answered nothing, or made a call that cannot be read. The loop asks its
models through here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from ... import types
from ..._aclosing import Aclosing
from ..._log import get_logger
from ...context.invocation import InvocationContext
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse

logger = get_logger(__name__)

_UNREADABLE = frozenset(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"))


def ask(
    ctx: InvocationContext, llm_request: LlmRequest, streaming: bool
) -> AsyncGenerator[LlmResponse, None]:
    """Ask the agent's model; again where it answers nothing, as often as the run allows."""
    model: BaseLlm = ctx.agent.canonical_model
    limit = ctx.run_config.max_empty_retries if ctx.run_config is not None else None
    if limit is None:
        limit = model.empty_retries
    if not limit:
        return model.generate_content_async(llm_request, stream=streaming)
    return _ask(ctx, model, llm_request, streaming, limit)


async def _ask(
    ctx: InvocationContext, model: BaseLlm, request: LlmRequest, streaming: bool, limit: int
) -> AsyncGenerator[LlmResponse, None]:
    """Hand on what a model answers; the last answer whatever it is."""
    for left in range(limit, -1, -1):
        spoke = False
        empty: LlmResponse | None = None
        async with Aclosing(model.generate_content_async(request, stream=streaming)) as responses:
            async for response in responses:
                if left and not spoke and not response.partial and _is_empty(response):
                    empty = response
                    continue
                spoke = spoke or not response.partial or _says(response)
                yield response
        if spoke or not left:
            return
        reason = _unreadable(empty)
        logger.warning(
            "Model %r of agent %r gave %s; it is asked again.",
            model.model,
            ctx.agent.name,
            reason or "an empty response",
        )
        if empty is not None and ctx.ports.spending is not None:
            ctx.ports.spending.count(empty.usage_metadata, model.model)
        ctx.increment_llm_call_count()
        if reason:
            request = request.model_copy(update={"contents": [*request.contents, _hint(empty)]})


def _is_empty(response: LlmResponse) -> bool:
    """Tell whether a complete response has nothing to go on with: no word, no call, no error."""
    if _unreadable(response):
        return True
    if response.error_code or response.interrupted:
        return False
    return not _says(response)


def _says(response: LlmResponse) -> bool:
    """Tell whether a response holds more than thoughts and blanks."""
    parts = response.content.parts if response.content is not None else None
    return any(
        not part.thought and (part.text is None or part.text.strip() != "") for part in parts or ()
    )


def _unreadable(response: LlmResponse | None) -> str:
    """Return the reason where the model tried to call a tool, and nobody can tell what."""
    if response is None or (response.content is not None and _calls(response.content)):
        return ""
    for reason in (response.finish_reason, response.error_code):
        name = str(getattr(reason, "value", reason))
        if name in _UNREADABLE:
            return name
    return ""


def _calls(content: types.Content) -> bool:
    return any(part.function_call is not None for part in content.parts or ())


def _hint(empty: LlmResponse | None) -> types.Content:
    """Return what to tell the model, in this request only."""
    said = (empty.error_message or "") if empty is not None else ""
    text = (
        f"Your last function call could not be read, and nothing was run. {said:.500} If you want "
        "to call a function, call one that you were given, with arguments in valid JSON."
    )
    return types.Content(role="user", parts=[types.Part(text=text)])
