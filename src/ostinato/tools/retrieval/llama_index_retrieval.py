"""LlamaIndexRetrieval: finds texts by a retriever of LlamaIndex, which is not imported here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..model_mistake import missing_arguments
from .base_retrieval_tool import BaseRetrievalTool

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext


class LlamaIndexRetrieval(BaseRetrievalTool):
    """Finds the best text for a query; the retriever runs in a worker thread.

    Args:
      name: what the model calls it by.
      description: what the model is told about it.
      retriever: an object with `retrieve(query)`, which returns nodes with a `text`, best first.
    """

    repeatable = True

    def __init__(self, *, name: str, description: str, retriever: Any) -> None:
        super().__init__(name=name, description=description)
        self.retriever = retriever

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the text of the best node, or a sentence that nothing was found."""
        query = args.get("query")
        if not isinstance(query, str):
            return missing_arguments(self.name, ["query"])
        nodes = await asyncio.to_thread(self.retriever.retrieve, query)
        return nodes[0].text if nodes else "No matching text was found. Try another query."
