"""Memories in one SQLite file, found by full text and, with an embedder, by meaning.

For programs that need no memory server.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic_core import PydanticSerializationError

from ostinato._clock import new_id
from ostinato._words import asked_words
from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.memory import _sqlite_memories as memories_of
from ostinato.memory._vector_index import VectorIndex
from ostinato.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse, check_query
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.models.embedder import Embedder
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite.sqlite_file import SqliteFile
from ostinato.sessions.sqlite.sqlite_threads import Threads
from ostinato.types import Content

_READERS = 2
_NO_SESSION = ""


class SqliteMemoryService(BaseMemoryService):
    """Keeps memories in a SQLite file and finds those that share a word with the query, best first.

    With an `embedder` it also finds what is near to the query in meaning, and joins both rankings:
    what is high in both comes first. Each text is embedded once; another embedder makes the vectors
    of a user's memories anew. A query without words finds nothing.

    Words are whole words without regard to case. Chinese, Japanese, Korean, Thai, Lao, Burmese and
    Khmer text is found by each pair of neighbouring characters, because it has no spaces to tell
    words by; `_words.py` says why no tokenizer of SQLite's is used. Words that few memories hold
    count more (bm25). A query is data: nothing in it has a meaning of its own.

    Memories are apart per app and user. Several services and processes may use the file, which
    holds nothing else; all work on it runs in threads. Needs an SQLite with FTS5, as Python's has
    almost everywhere. Methods raise StoreError where the file cannot be used. Call `close` when
    done.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str],
        *,
        max_results: int = 20,
        embedder: Embedder | None = None,
        min_similarity: float = 0.3,
    ) -> None:
        """Use the file `db_path`, and make it at first use; `:memory:` keeps all in memory.

        Args:
            db_path: the file's path.
            max_results: how many memories a search gives at most.
            embedder: makes vectors of texts, such as `OpenAILlm(model="text-embedding-3-small")`.
                Texts and queries are sent to its provider.
            min_similarity: the least cosine of a memory that shares no word with the query. How
                alike texts are differs between embedders.

        Raises:
            InputValidationError: `db_path` is no path, `max_results` is not positive, or
                `min_similarity` is not between -1 and 1.
        """
        if max_results < 1:
            raise InputValidationError(f"max_results must be 1 or more, not {max_results}.")
        if not -1 <= min_similarity <= 1:
            raise InputValidationError(f"min_similarity is {min_similarity}; give -1 to 1.")
        self._max_results, self._min_similarity = max_results, min_similarity
        self._threads = Threads(SqliteFile.of(db_path, memories_of.FORMAT), readers=_READERS)
        self._vectors = VectorIndex(self._threads, embedder) if embedder is not None else None

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember a session's events in place of those remembered of it before."""
        owner = _check_owner(session.app_name, session.user_id, session.id)
        rows = _build_rows(session.events, "{}")
        await self._threads.writer.submit(
            lambda db: memories_of.replace_memories(db, *owner, rows), _as_is
        )
        await self._embed_memories(session.app_name, session.user_id)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember events that the session, or the place of events without one, has not yet.

        `custom_metadata` comes back with what a search finds.

        Raises:
            InputValidationError: an event or the metadata holds something that JSON cannot carry.
        """
        owner = _check_owner(app_name, user_id, session_id or _NO_SESSION)
        rows = _build_rows(events, _metadata_json(custom_metadata))
        await self._threads.writer.submit(
            lambda db: memories_of.add_memories(db, *owner, rows), _as_is
        )
        await self._embed_memories(app_name, user_id)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store entries as given; one whose id is already stored is not added again.

        An entry comes back as it was given; its metadata goes before `custom_metadata`.

        Raises:
            InputValidationError: an entry or the metadata holds something that JSON cannot carry.
        """
        owner = _check_owner(app_name, user_id, _NO_SESSION)
        rows = [_entry_row(entry, custom_metadata or {}) for entry in memories]
        await self._threads.writer.submit(
            lambda db: memories_of.add_memories(db, *owner, rows), _as_is
        )
        await self._embed_memories(app_name, user_id)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The user's memories that hold a word of the query (of its first 100), the best first.

        With an embedder, also those that are near to it in meaning.

        Raises:
            InputValidationError: the query is not a text.
        """
        _check_owner(app_name, user_id, _NO_SESSION)
        check_query(query)
        near = await self._embed_query(app_name, user_id, query)
        return await self._threads.reader.submit(
            lambda db: memories_of.search_memories(
                db, app_name, user_id, query, self._max_results, near
            ),
            lambda found: SearchMemoryResponse(memories=[_build_entry(one) for one in found]),
        )

    async def _embed_memories(self, app_name: str, user_id: str) -> None:
        if self._vectors is not None:
            await self._vectors.update(app_name, user_id)

    async def _embed_query(
        self, app_name: str, user_id: str, query: str
    ) -> memories_of.QueryVector | None:
        """Return the query's vector, once the user's memories have theirs."""
        if self._vectors is None or not asked_words(query):
            return None
        await self._vectors.update(app_name, user_id)
        vector = await self._vectors.embed_query(query)
        if vector is None:
            return None
        return memories_of.QueryVector(self._vectors.name, vector, self._min_similarity)

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Forget all that is remembered of a user; its place in the file is overwritten.

        What was written last may lie in the file's write-ahead log until all have closed it.
        """
        await self.erase_user(app_name, user_id)

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Forget all that is remembered of a user, as `delete_user` does.

        Args:
            app_name: the app; None for all apps.
            user_id: the user.

        Returns:
            How many memories there were.
        """
        _check_owner(app_name or "", user_id, _NO_SESSION)
        return await self._threads.writer.submit(
            lambda db: memories_of.delete_user(db, app_name, user_id), lambda count: count
        )

    async def close(self) -> None:
        """Store what is queued, close the file and end the threads; harmless when repeated."""
        await self._threads.close()


def _as_is(answer: None) -> None:
    return answer


def _check_owner(app_name: str, user_id: str, session_id: str) -> tuple[str, str, str]:
    for what, value in (("app_name", app_name), ("user_id", user_id), ("session_id", session_id)):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputValidationError(
                f"The {what} {value[:40]!r} holds half a character; remove it."
            ) from error
    return app_name, user_id, session_id


def _build_rows(events: Sequence[Event], metadata: str) -> list[memories_of.Row]:
    """Return a row for each event that holds text."""
    return [
        memories_of.Row(
            id=event.id,
            shown=False,
            author=event.author,
            timestamp=datetime.fromtimestamp(event.timestamp).isoformat(),
            content=_content_json(event.content),
            metadata=metadata,
            text=text,
        )
        for event in events
        if event.content is not None and (text := _content_text(event.content))
    ]


def _entry_row(entry: MemoryEntry, custom_metadata: Mapping[str, object]) -> memories_of.Row:
    return memories_of.Row(
        id=entry.id or new_id(),
        shown=entry.id is not None,
        author=entry.author,
        timestamp=entry.timestamp,
        content=_content_json(entry.content),
        metadata=_metadata_json({**custom_metadata, **entry.custom_metadata}),
        text=_content_text(entry.content),
    )


def _content_text(content: Content) -> str:
    return " ".join(part.text for part in content.parts or [] if part.text)


def _content_json(content: Content) -> str:
    try:
        return content.model_dump_json(by_alias=True, exclude_none=True)
    except PydanticSerializationError as error:
        raise InputValidationError(
            f"A content to be remembered holds something that JSON cannot carry: {error}"
        ) from error


def _metadata_json(custom_metadata: Mapping[str, object] | None) -> str:
    try:
        return json.dumps(dict(custom_metadata or {}))
    except (TypeError, ValueError) as error:
        raise InputValidationError(f"custom_metadata is not JSON: {error}") from error


def _build_entry(found: memories_of.Found) -> MemoryEntry:
    metadata: dict[str, Any] = json.loads(found.metadata)
    return MemoryEntry(
        content=Content.model_validate_json(found.content),
        custom_metadata=metadata,
        id=found.id,
        author=found.author,
        timestamp=found.timestamp,
    )
