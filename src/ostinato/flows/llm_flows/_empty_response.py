"""What an empty response of a model becomes, or one whose stream was cut: an error on record."""

from __future__ import annotations

from ...context.invocation import InvocationContext
from ...models.llm_response import LlmResponse


def has_substance(response: LlmResponse) -> bool:
    """Tell whether a complete response says anything at all."""
    has_parts = response.content is not None and bool(response.content.parts)
    return has_parts or bool(response.error_code) or bool(response.interrupted)


def without_content(ctx: InvocationContext, response: LlmResponse) -> LlmResponse:
    """Return an empty response, or one whose stream was cut, as the error it is."""
    return response.model_copy(
        update={
            "error_code": "EMPTY_RESPONSE",
            "error_message": (
                f"The model {ctx.agent.canonical_model.model!r} of agent {ctx.agent.name!r} ended "
                "its response without any content. Try again, or handle it in an "
                "after_model_callback."
            ),
        }
    )
