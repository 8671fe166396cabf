"""google_search: Gemini grounds its answer in a Google search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import types
from ..models.llm_request import LlmRequest
from ._model_side_tool import add_model_side_tool
from .base_tool import BaseTool
from .searching_agent import SEARCHING_AGENT, GoogleSearchAgentTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class GoogleSearchTool(BaseTool):
    """Lets Gemini search with Google (Spec 1 §10).

    The service runs it within its answer; nothing runs here.

    Args:
      bypass_multi_tools_limit: whether an agent with other tools puts this one into an agent of its
        own, for models that take it alone only.
      model: name of the model to ask instead of the agent's.
    """

    def __init__(self, *, bypass_multi_tools_limit: bool = False, model: str | None = None) -> None:
        super().__init__(name="google_search", description="google_search")
        self.bypass_multi_tools_limit = bypass_multi_tools_limit
        self.wants_own_agent = bypass_multi_tools_limit
        self.model = model

    def in_own_agent(self, make_agent: Callable[..., Any]) -> BaseTool:
        """Return an agent that only searches, as a tool; see BaseTool."""
        return GoogleSearchAgentTool(make_agent(**SEARCHING_AGENT, tools=[google_search]))

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool to a request; Gemini 1.x gets its own form of it.

        Raises:
          ValueError: the request's model does not take it.
        """
        if self.model is not None:
            llm_request.model = self.model
        add_model_side_tool(
            llm_request,
            types.Tool(google_search=types.GoogleSearch()),
            label="Google search",
            instead_in_first=types.Tool(google_search_retrieval=types.GoogleSearchRetrieval()),
        )


google_search = GoogleSearchTool()
