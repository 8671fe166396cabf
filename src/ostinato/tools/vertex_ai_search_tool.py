"""VertexAiSearchTool: Gemini grounds its answer in a data store or search app of Vertex AI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..context.readonly import ReadonlyContext
from ..errors import AgentConfigError
from ..models.llm_request import LlmRequest
from ._model_side_tool import add_model_side_tool
from .base_tool import BaseTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class VertexAiSearchTool(BaseTool):
    """Lets Gemini search a data store of Vertex AI (Spec 1 §10).

    The service runs it within its answer; nothing runs here. Subclasses may override
    `_build_vertex_ai_search_config` to choose per run, by state for example.

    Args:
      data_store_id: full resource name of a data store.
      data_store_specs: data stores of the search app to use; only with `search_engine_id`.
      search_engine_id: full resource name of a search app.
      filter: which documents to search, in the service's filter language.
      max_results: number of results.
      bypass_multi_tools_limit: whether an agent with other tools may put this one into an agent of
        its own.

    Raises:
      AgentConfigError: not exactly one of data store and search app, or specs without an app.
    """

    def __init__(
        self,
        *,
        data_store_id: str | None = None,
        data_store_specs: list[types.VertexAISearchDataStoreSpec] | None = None,
        search_engine_id: str | None = None,
        filter: str | None = None,
        max_results: int | None = None,
        bypass_multi_tools_limit: bool = False,
    ) -> None:
        super().__init__(name="vertex_ai_search", description="vertex_ai_search")
        if (data_store_id is None) == (search_engine_id is None):
            raise AgentConfigError(
                "VertexAiSearchTool takes either data_store_id or search_engine_id, and needs one."
            )
        if data_store_specs is not None and search_engine_id is None:
            raise AgentConfigError(
                "VertexAiSearchTool: data_store_specs choose among the stores of a search app; "
                "give search_engine_id with them."
            )
        self.data_store_id = data_store_id
        self.data_store_specs = data_store_specs
        self.search_engine_id = search_engine_id
        self.filter = filter
        self.max_results = max_results
        self.bypass_multi_tools_limit = bypass_multi_tools_limit

    def _build_vertex_ai_search_config(
        self, readonly_context: ReadonlyContext
    ) -> types.VertexAISearch:
        """Return what to search in the run that `readonly_context` shows."""
        return types.VertexAISearch(
            datastore=self.data_store_id,
            data_store_specs=self.data_store_specs,
            engine=self.search_engine_id,
            filter=self.filter,
            max_results=self.max_results,
        )

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool to a request.

        Raises:
          ValueError: the request's model does not take it.
        """
        search = self._build_vertex_ai_search_config(tool_context)
        add_model_side_tool(
            llm_request,
            types.Tool(retrieval=types.Retrieval(vertex_ai_search=search)),
            label="Vertex AI search",
        )
