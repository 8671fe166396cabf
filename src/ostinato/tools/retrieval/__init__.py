"""Tools that find texts for a query."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.retrieval.base_retrieval_tool import BaseRetrievalTool as BaseRetrievalTool
    from ostinato.tools.retrieval.files_retrieval import FilesRetrieval as FilesRetrieval
    from ostinato.tools.retrieval.llama_index_retrieval import (
        LlamaIndexRetrieval as LlamaIndexRetrieval,
    )
    from ostinato.tools.retrieval.vertex_ai_rag_retrieval import (
        VertexAiRagRetrieval as VertexAiRagRetrieval,
    )

__getattr__, __dir__, __all__ = attach(__name__)
