"""Corpora of Vertex AI's RAG Engine over REST: search, and upload of texts.

VertexAiRagRetrieval and VertexAiRagMemoryService ask through it. It blocks: they run in worker
threads.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel, Field

from ._google_rest import GoogleApiError, GoogleRestClient, vertex_server
from ._secrets import redact_text
from .errors import AgentConfigError
from .features.environment import find_variable
from .types import VertexRagStore

_CORPUS = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<location>[a-z0-9-]+)/.+")


class RagContext(BaseModel):
    """A text that a search found.

    Attributes:
      text: the text; empty if the service gives none.
      source: the display name of the file that it is from.
    """

    text: str = ""
    source: str = Field(default="", alias="sourceDisplayName")


class _RagContexts(BaseModel):
    contexts: list[RagContext] = Field(default_factory=list[RagContext])


class _Search(BaseModel):
    contexts: _RagContexts = Field(default_factory=_RagContexts)


class _Failure(BaseModel):
    message: str = "it gives no reason."


class _RagFile(BaseModel):
    name: str


class _Upload(BaseModel):
    failure: _Failure | None = Field(default=None, alias="error")
    file: _RagFile | None = Field(default=None, alias="ragFile")


class RagCorpora:
    """Some corpora of one project and location.

    Args:
      owner: who asks, for errors, such as "Tool 'docs'".
      client: sends the requests.
      store: the corpora and how to search them. A corpus without project and location is of
        GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION.
    """

    def __init__(self, owner: str, client: GoogleRestClient, store: VertexRagStore) -> None:
        self._owner, self._client, self._store = owner, client, store

    def retrieve_contexts(self, query: str) -> list[RagContext]:
        """Return the texts that are nearest to a query, with their sources.

        Raises:
          AgentConfigError: no project and location are known.
          GoogleApiError: the service refused, failed or answered something else, or there is no
            login.
        """
        resources = [
            {"ragCorpus": one.rag_corpus or "", "ragFileIds": one.rag_file_ids or []}
            for one in self._store.rag_resources or ()
        ] or [{"ragCorpus": name} for name in self._store.rag_corpora or ()]
        location, parent = self._find_place(str(resources[0]["ragCorpus"]) if resources else "")
        for resource in resources:
            resource["ragCorpus"] = _name_in_full(str(resource["ragCorpus"]), parent)
        settings: dict[str, Any] = {}
        if self._store.similarity_top_k is not None:
            settings["topK"] = self._store.similarity_top_k
        if self._store.vector_distance_threshold is not None:
            threshold = self._store.vector_distance_threshold
            settings["filter"] = {"vectorDistanceThreshold": threshold}
        answer = self._client.send_request(
            "POST",
            f"{vertex_server(location)}/v1/{parent}:retrieveContexts",
            body={
                "vertexRagStore": {"ragResources": resources},
                "query": {"text": query, "ragRetrievalConfig": settings},
            },
        )
        return self._client.read_record(_Search, answer).contexts.contexts

    def upload_text(self, corpus: str, display_name: str, text: str) -> None:
        """Add a text to a corpus as a file.

        Raises:
          AgentConfigError: no project and location are known.
          GoogleApiError: the service refused, failed or does not name the file that it made, or
            there is no login.
        """
        location, parent = self._find_place(corpus)
        name = _name_in_full(corpus, parent)
        answer = self._client.send_request(
            "POST",
            f"{vertex_server(location)}/upload/v1beta1/{name}/ragFiles:upload",
            form={
                "metadata": (None, json.dumps({"rag_file": {"display_name": display_name}})),
                "file": ("memory.txt", text.encode("utf-8", "replace")),
            },
            repeatable=False,
        )
        upload = self._client.read_record(_Upload, answer)
        if upload.file is None:
            reason = "it gives no reason." if upload.failure is None else upload.failure.message
            raise GoogleApiError(
                f"{self._owner}: the corpus {name} did not take a file: {redact_text(reason)}"
            )

    def _find_place(self, corpus: str) -> tuple[str, str]:
        """Return the location of a corpus, and the resource name of its project and location."""
        found = _CORPUS.fullmatch(corpus)
        project = found["project"] if found else find_variable("GOOGLE_CLOUD_PROJECT")[1]
        location = found["location"] if found else find_variable("GOOGLE_CLOUD_LOCATION")[1]
        if not corpus or not project or not location:
            raise AgentConfigError(
                f"{self._owner}: the corpus {corpus!r} names no project and location. Give it as "
                "projects/PROJECT/locations/LOCATION/ragCorpora/ID, or set GOOGLE_CLOUD_PROJECT "
                "and GOOGLE_CLOUD_LOCATION."
            )
        return location, f"projects/{project}/locations/{location}"


def _name_in_full(corpus: str, parent: str) -> str:
    return corpus if "/" in corpus else f"{parent}/ragCorpora/{corpus}"
