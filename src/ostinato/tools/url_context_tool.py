"""url_context: Gemini reads the pages whose addresses stand in the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from .google.model_side_tool import ModelSideTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class UrlContextTool(ModelSideTool):
    """Lets Gemini 2 and later read the pages that the prompt names (Spec 1 §10)."""

    label = "Url context"
    runs_in_gemini_1 = False
    needs_gemini_2 = True

    def __init__(self) -> None:
        super().__init__("url_context")

    def build_tool(self, context: ToolContext, *, is_gemini_1: bool) -> types.Tool:
        """Return the tool to add to a request."""
        return types.Tool(url_context=types.UrlContext())


url_context = UrlContextTool()
