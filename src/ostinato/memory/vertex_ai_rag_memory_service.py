"""VertexAiRagMemoryService: sessions kept as files in a corpus of Vertex AI's RAG Engine."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple, cast

from ostinato._google_rest import GoogleRestClient
from ostinato._vertex_rag import RagCorpora
from ostinato.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse, check_query
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.sessions.session import Session
from ostinato.types import Content, Part, VertexRagStore, VertexRagStoreRagResource

# How google-adk names the file of a session: this, then app, user and session in base64.
_PREFIX = "adk-memory-v1"


class VertexAiRagMemoryService(BaseMemoryService):
    """Keeps sessions in a RAG corpus and finds texts by their meaning.

    Files have google-adk's names and format, so that both read each other's. A session that is
    added again becomes another file; a search joins what they share. Needs the extra `vertex` and
    asks as the machine's own identity. Close it when done.

    Args:
      rag_corpus: the corpus as projects/PROJECT/locations/LOCATION/ragCorpora/ID; an ID alone is of
        GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION.
      similarity_top_k: how many texts a search asks for.
      vector_distance_threshold: only texts whose distance to the query is smaller.
    """

    def __init__(
        self,
        rag_corpus: str | None = None,
        similarity_top_k: int | None = None,
        vector_distance_threshold: float = 10,
    ) -> None:
        self._corpus = rag_corpus or ""
        store = VertexRagStore(
            rag_resources=[VertexRagStoreRagResource(rag_corpus=self._corpus)],
            similarity_top_k=similarity_top_k,
            vector_distance_threshold=vector_distance_threshold,
        )
        self._client = GoogleRestClient("Vertex AI RAG Engine")
        self._corpora = RagCorpora(type(self).__name__, self._client, store)

    async def close(self) -> None:
        """Close the connections."""
        await asyncio.to_thread(self._client.close)

    async def add_session_to_memory(self, session: Session) -> None:
        """Upload the texts of a session's events as one file.

        Raises:
          AgentConfigError: no corpus is given, or no project and location are known.
          GoogleApiError: the service refused or failed, or there is no login.
        """
        lines: list[str] = []
        for event in session.events:
            parts = (event.content.parts if event.content else None) or []
            texts = [part.text.replace("\n", " ") for part in parts if part.text]
            if texts:
                line = {"author": event.author, "timestamp": event.timestamp}
                lines.append(json.dumps({**line, "text": ".".join(texts)}))
        if not lines:
            return  # an empty file holds no memory, and the service refuses it
        name = _name_file(session.app_name, session.user_id, session.id)
        await asyncio.to_thread(self._corpora.upload_text, self._corpus, name, "\n".join(lines))

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the events of the user's texts that are nearest to the query.

        Events of one session that belong together come in the order of their time.

        Raises:
          AgentConfigError: no corpus is given, or no project and location are known.
          GoogleApiError: the service refused or failed, or there is no login.
        """
        check_query(query)
        contexts = await asyncio.to_thread(self._corpora.retrieve_contexts, query)
        by_session: dict[str, list[set[_Line]]] = {}
        for context in contexts:
            owner = _read_name(context.source)
            if owner is not None and owner[:2] == (app_name, user_id):
                lines = {*_read_lines(context.text)}
                by_session.setdefault(owner[2], []).append(lines)
        return SearchMemoryResponse(
            memories=[
                _build_entry(line)
                for texts in by_session.values()
                for lines in _join_overlapping(texts)
                for line in sorted(lines)
            ]
        )


class _Line(NamedTuple):
    """An event in a file."""

    timestamp: float
    author: str
    text: str


def _name_file(app: str, user: str, session: str) -> str:
    encoded = [
        base64.urlsafe_b64encode(part.encode("utf-8", "surrogatepass")).decode().rstrip("=")
        for part in (app, user, session)
    ]
    return ".".join([_PREFIX, *encoded])


def _read_name(name: str) -> tuple[str, str, str] | None:
    """Return app, user and session of a file; None if its name does not say one of each."""
    parts = name.split(".")
    try:
        if parts[0] == _PREFIX:
            parts = [
                base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode(
                    "utf-8", "surrogatepass"
                )
                for part in parts[1:]
            ]
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None


def _read_lines(text: str) -> Iterable[_Line]:
    """Yield the events of a text; the service may have cut its first and last."""
    for line in text.split("\n"):
        try:
            read: Any = json.loads(line)
            if isinstance(read, dict):
                told = cast("dict[str, Any]", read)
                time = float(told.get("timestamp") or 0)
                datetime.fromtimestamp(time)  # fails for a number that is no time
                yield _Line(time, str(told.get("author", "")), str(told.get("text", "")))
        except (ValueError, TypeError, OverflowError, OSError, RecursionError):
            continue


def _join_overlapping(texts: list[set[_Line]]) -> list[set[_Line]]:
    """Return the texts of a session, those joined that share an event."""
    joined: list[set[_Line]] = []
    for lines in texts:
        for other in [one for one in joined if one & lines]:
            joined.remove(other)
            lines = lines | other
        joined.append(lines)
    return joined


def _build_entry(line: _Line) -> MemoryEntry:
    return MemoryEntry(
        author=line.author,
        content=Content(parts=[Part(text=line.text)]),
        timestamp=datetime.fromtimestamp(line.timestamp).isoformat(),
    )
