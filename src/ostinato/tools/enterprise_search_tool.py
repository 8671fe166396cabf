"""enterprise_web_search: Gemini grounds its answer in a web search made for enterprises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..models.llm_request import LlmRequest
from ._model_side_tool import add_model_side_tool
from .base_tool import BaseTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class EnterpriseWebSearchTool(BaseTool):
    """Lets Gemini search the web within an enterprise's rules (Spec 1 §10).

    The service runs it within its answer; nothing runs here.
    """

    def __init__(self) -> None:
        super().__init__(name="enterprise_web_search", description="enterprise_web_search")

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool to a request.

        Raises:
          ValueError: the request's model does not take it.
        """
        add_model_side_tool(
            llm_request,
            types.Tool(enterprise_web_search=types.EnterpriseWebSearch()),
            label="Enterprise Web Search",
        )


enterprise_web_search_tool = EnterpriseWebSearchTool()
