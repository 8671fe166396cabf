"""enterprise_web_search: Gemini grounds its answer in a web search made for enterprises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from .google.model_side_tool import ModelSideTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class EnterpriseWebSearchTool(ModelSideTool):
    """Lets Gemini search the web within an enterprise's rules (Spec 1 §10)."""

    label = "Enterprise Web Search"

    def __init__(self) -> None:
        super().__init__("enterprise_web_search")

    def build_tool(self, context: ToolContext, *, is_gemini_1: bool) -> types.Tool:
        """Return the tool to add to a request."""
        return types.Tool(enterprise_web_search=types.EnterpriseWebSearch())


enterprise_web_search_tool = EnterpriseWebSearchTool()
