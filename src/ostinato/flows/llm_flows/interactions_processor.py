"""The interactions processor: continues a provider-side conversation (FEATURES row 214)."""

from __future__ import annotations

from typing import Any

from ...context.invocation import InvocationContext
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest
from ._base_llm_processor import RequestEdit


class InteractionsRequestProcessor(RequestEdit):
    """Names the agent's last interaction, for models that chain them."""

    def edit(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> None:
        """Fill in `previous_interaction_id` where the model chains."""
        ctx = invocation_context
        # Not by getattr: to find that a record has no such field is slow.
        model: BaseLlm = ctx.agent.canonical_model
        fields: dict[str, Any] = vars(model)
        if not fields.get("use_interactions_api"):
            return
        for record in reversed(ctx.log.records):
            same = record.author == ctx.agent.name and record.branch == ctx.branch
            if same and '"interactionId"' in record.data:
                llm_request.previous_interaction_id = record.event().interaction_id
                break


request_processor = InteractionsRequestProcessor()
