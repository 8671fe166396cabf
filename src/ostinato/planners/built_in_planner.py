"""BuiltInPlanner: planning by the model's own thinking."""

from __future__ import annotations

from .. import types
from .._log import get_logger
from ..context.context import Context
from ..context.readonly import ReadonlyContext
from ..models.llm_request import LlmRequest
from .base_planner import BasePlanner

logger = get_logger(__name__)


class BuiltInPlanner(BasePlanner):
    """Turns on the model's thinking (Spec 1 §15, FEATURES row 162).

    Args:
      thinking_config: how much the model may think, and whether it shows its thoughts.
    """

    thinking_config: types.ThinkingConfig

    def __init__(self, *, thinking_config: types.ThinkingConfig) -> None:
        self.thinking_config = thinking_config

    def apply_thinking_config(self, llm_request: LlmRequest) -> None:
        """Set the request's thinking settings; they override those of the agent's config."""
        if llm_request.config.thinking_config is not None:
            logger.debug("The planner's thinking_config replaces that of generate_content_config.")
        llm_request.config.thinking_config = self.thinking_config

    def build_planning_instruction(
        self, readonly_context: ReadonlyContext, llm_request: LlmRequest
    ) -> str | None:
        """Return None, because the model needs no instruction to think."""
        return None

    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """Return None, because the model marks its thoughts itself."""
        return None
