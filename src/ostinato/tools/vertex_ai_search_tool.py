"""VertexAiSearchTool: Gemini grounds its answer in a data store or search app of Vertex AI."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import types
from ..context.readonly import ReadonlyContext
from ..errors import AgentConfigError
from .base_tool import BaseTool
from .discovery_engine_search_tool import DiscoveryEngineSearchTool
from .google.model_side_tool import ModelSideTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class VertexAiSearchTool(ModelSideTool):
    """Lets Gemini search a data store of Vertex AI (Spec 1 §10).

    Subclasses may override `_build_vertex_ai_search_config` to choose per run, for example by
    state.

    Args:
      data_store_id: full resource name of a data store.
      data_store_specs: data stores of the search app to use; only with `search_engine_id`.
      search_engine_id: full resource name of a search app.
      filter: which documents to search, in the service's filter language.
      max_results: number of results.
      bypass_multi_tools_limit: whether an agent with other tools takes a DiscoveryEngineSearchTool
        instead, which searches as a function, for models that take this tool alone only.

    Raises:
      AgentConfigError: not exactly one of data store and search app, or specs without an app.
    """

    label = "Vertex AI search"

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
        super().__init__("vertex_ai_search")
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
        self.wants_own_agent = bypass_multi_tools_limit

    def in_own_agent(self, make_agent: Callable[..., Any]) -> BaseTool:
        """Return the tool that searches as a function; see BaseTool."""
        return DiscoveryEngineSearchTool(
            data_store_id=self.data_store_id,
            data_store_specs=self.data_store_specs,
            search_engine_id=self.search_engine_id,
            filter=self.filter,
            max_results=self.max_results,
        )

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

    def build_tool(self, context: ToolContext, *, is_gemini_1: bool) -> types.Tool:
        """Return the tool to add to a request."""
        search = self._build_vertex_ai_search_config(context)
        return types.Tool(retrieval=types.Retrieval(vertex_ai_search=search))
