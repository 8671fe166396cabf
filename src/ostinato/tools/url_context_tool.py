"""url_context: Gemini reads the pages whose addresses stand in the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..models.llm_request import LlmRequest
from ._model_side_tool import add_model_side_tool
from .base_tool import BaseTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class UrlContextTool(BaseTool):
    """Lets Gemini 2 and later read the pages that the prompt names (Spec 1 §10).

    The service runs it within its answer; nothing runs here.
    """

    def __init__(self) -> None:
        super().__init__(name="url_context", description="url_context")

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool to a request.

        Raises:
          ValueError: the request's model does not take it.
        """
        add_model_side_tool(
            llm_request,
            types.Tool(url_context=types.UrlContext()),
            label="Url context",
            in_first="never",
            oldest=2,
        )


url_context = UrlContextTool()
