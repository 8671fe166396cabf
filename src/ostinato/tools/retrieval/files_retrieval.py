"""FilesRetrieval: finds texts in the files of a folder, indexed by LlamaIndex."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..._optional import need
from ...errors import MissingExtraError
from .llama_index_retrieval import LlamaIndexRetrieval

_CORE = "llama-index-core llama-index-readers-file"
_EMBEDDING_MODEL = "gemini-embedding-2-preview"


class FilesRetrieval(LlamaIndexRetrieval):
    """Finds the best text in the files of a folder. They are read and indexed at once.

    It needs the packages llama-index-core and llama-index-readers-file, and without
    `embedding_model` llama-index-embeddings-google-genai.

    Args:
      name: what the model calls it by.
      description: what the model is told about it.
      input_dir: the folder.
      embedding_model: an embedding of LlamaIndex; Gemini's if None.

    Raises:
      MissingExtraError: a package of LlamaIndex is not installed.
    """

    def __init__(
        self, *, name: str, description: str, input_dir: str, embedding_model: Any = None
    ) -> None:
        core = _need_package("llama_index.core", _CORE)
        if embedding_model is None:
            google = _need_package(
                "llama_index.embeddings.google_genai", "llama-index-embeddings-google-genai"
            )
            embedding_model = google.GoogleGenAIEmbedding(
                model_name=_EMBEDDING_MODEL, embed_batch_size=1
            )
        documents = core.SimpleDirectoryReader(input_dir).load_data()
        index = core.VectorStoreIndex.from_documents(documents, embed_model=embedding_model)
        super().__init__(name=name, description=description, retriever=index.as_retriever())
        self.input_dir = input_dir


def _need_package(module: str, package: str) -> ModuleType:
    """Return a module of LlamaIndex, of which Ostinato has no extra."""
    try:
        return need(module)
    except MissingExtraError as error:
        raise MissingExtraError(
            f"FilesRetrieval needs {module!r}, which is not installed. Install it with: "
            f"pip install {package}"
        ) from error
