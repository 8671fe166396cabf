"""VertexAiRagRetrieval: finds texts in corpora of Vertex AI's RAG Engine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ... import types
from ..._google_rest import GoogleApiError, GoogleRestClient
from ..._vertex_rag import RagCorpora
from ...models.llm_request import LlmRequest
from ...models.model_names import is_gemini_eap_or_2_or_above, is_gemini_model_id_check_disabled
from ..model_mistake import missing_arguments
from .base_retrieval_tool import BaseRetrievalTool

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext


class VertexAiRagRetrieval(BaseRetrievalTool):
    """Finds texts in corpora of Vertex AI's RAG Engine.

    Gemini 2 and later searches itself, within its answer. Other models call a function, which asks
    over REST as the machine's own identity and needs the extra `vertex`.

    Args:
      name: what the model calls it by.
      description: what the model is told about it.
      rag_corpora: full resource names of corpora; short ones are of the project and location of
        GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION.
      rag_resources: corpora with some of their files, in place of `rag_corpora`.
      similarity_top_k: number of texts.
      vector_distance_threshold: only texts whose distance to the query is smaller.
    """

    repeatable = True

    def __init__(
        self,
        *,
        name: str,
        description: str,
        rag_corpora: list[str] | None = None,
        rag_resources: list[Any] | None = None,
        similarity_top_k: int | None = None,
        vector_distance_threshold: float | None = None,
    ) -> None:
        super().__init__(name=name, description=description)
        self.vertex_rag_store = types.VertexRagStore(
            rag_corpora=rag_corpora,
            rag_resources=rag_resources
            and [
                types.VertexRagStoreRagResource(
                    rag_corpus=one.rag_corpus, rag_file_ids=one.rag_file_ids
                )
                for one in rag_resources
            ],
            similarity_top_k=similarity_top_k,
            vector_distance_threshold=vector_distance_threshold,
        )

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the search to a request of a Gemini; the function to that of another model."""
        if not (
            is_gemini_eap_or_2_or_above(llm_request.model) or is_gemini_model_id_check_disabled()
        ):
            await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
            return
        search = types.Tool(retrieval=types.Retrieval(vertex_rag_store=self.vertex_rag_store))
        present: list[Any] = list(llm_request.config.tools or [])
        llm_request.config.tools = [*present, search]

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the texts for a query.

        Returns:
          A list of texts; a sentence if nothing was found; a dict with `error` if the service
          refused or failed.

        Raises:
          AgentConfigError: no project and location are known.
        """
        query = args.get("query")
        if not isinstance(query, str):
            return missing_arguments(self.name, ["query"])
        try:
            texts = await asyncio.to_thread(self._retrieve, query)
        except GoogleApiError as error:
            return {"error": str(error)}
        return texts or f"No matching result found with the config: {self.vertex_rag_store}"

    def _retrieve(self, query: str) -> list[str]:
        with GoogleRestClient("Vertex AI RAG Engine") as client:
            corpora = RagCorpora(f"Tool {self.name!r}", client, self.vertex_rag_store)
            return [found.text for found in corpora.retrieve_contexts(query)]
