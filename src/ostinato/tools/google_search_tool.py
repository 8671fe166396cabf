"""google_search: Gemini grounds its answer in a Google search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import types
from ..models.llm_request import LlmRequest
from .base_tool import BaseTool
from .google.model_side_tool import ModelSideTool
from .google.searching_agent import SEARCHING_AGENT, GoogleSearchAgentTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class GoogleSearchTool(ModelSideTool):
    """Lets Gemini search with Google (Spec 1 §10).

    Args:
      bypass_multi_tools_limit: whether an agent with other tools puts this one into an agent of its
        own, for models that take it alone only.
      model: name of the model to ask instead of the agent's.
    """

    label = "Google search"

    def __init__(self, *, bypass_multi_tools_limit: bool = False, model: str | None = None) -> None:
        super().__init__("google_search")
        self.bypass_multi_tools_limit = bypass_multi_tools_limit
        self.wants_own_agent = bypass_multi_tools_limit
        self.model = model

    def in_own_agent(self, make_agent: Callable[..., Any]) -> BaseTool:
        """Return an agent that only searches, as a tool; see BaseTool."""
        return GoogleSearchAgentTool(make_agent(**SEARCHING_AGENT, tools=[google_search]))

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool to a request.

        Raises:
          ValueError: the request's model does not take it.
        """
        if self.model is not None:
            llm_request.model = self.model
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def build_tool(self, context: ToolContext, *, is_gemini_1: bool) -> types.Tool:
        """Return the tool to add to a request; Gemini 1.x takes a form of its own."""
        if is_gemini_1:
            return types.Tool(google_search_retrieval=types.GoogleSearchRetrieval())
        return types.Tool(google_search=types.GoogleSearch())


google_search = GoogleSearchTool()
