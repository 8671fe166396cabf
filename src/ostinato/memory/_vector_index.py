"""Vectors of memories in their SQLite file: made by an embedder, found by cosine.

They are 32-bit floats of unit length. A search compares the owner's newest ones one by one, which
takes about 0.05 ms for a vector of 1,536 numbers.
"""

from __future__ import annotations

import json
import math
import sqlite3
from array import array
from collections.abc import Sequence
from heapq import nlargest
from operator import mul
from typing import Any

from ostinato._log import get_logger
from ostinato._secrets import redact_text
from ostinato.errors import ModelAnswerError
from ostinato.models.embedder import Embedder
from ostinato.sessions.sqlite.sqlite_threads import Threads

logger = get_logger(__name__)

SCHEMA = """
CREATE TABLE memory_vectors(
  memory INTEGER PRIMARY KEY REFERENCES memories(memory),
  embedder TEXT NOT NULL,
  vector BLOB NOT NULL
)
"""
_BATCH = 100  # texts of one request; no provider takes fewer
_MOST_BATCHES = 20  # of one call; the next one continues
_MOST_COMPARED = 10_000
_LONGEST_TEXT = 8_000  # characters
_FUSION = 60  # the usual damping of ranks that are added up


class VectorIndex:
    """Makes the vectors of what is stored and of queries.

    A vector belongs to the embedder that made it, by name: its `model`, or that of its class. With
    another embedder, the vectors of a user are made again when the user's memories are next used.
    If the embedder fails, memories are stored and found by their words, with a warning.

    Args:
      threads: of the file.
      embedder: makes vectors.
    """

    def __init__(self, threads: Threads, embedder: Embedder) -> None:
        self._threads, self._embedder = threads, embedder
        self._size = 0  # bytes of each vector; 0 before the first
        self.name = str(getattr(embedder, "model", "") or type(embedder).__qualname__)

    async def update(self, app: str, user: str) -> None:
        """Make the vectors that a user's memories do not have, the newest first."""
        for _ in range(_MOST_BATCHES):
            missing = await self._threads.reader.submit(
                lambda db: _list_missing(db, app, user, self.name), _as_is
            )
            vectors = await self._embed([text for _, text in missing])
            if not vectors:
                return
            made = [(memory, made) for (memory, _), made in zip(missing, vectors, strict=True)]
            await self._threads.writer.submit(
                lambda db, made=made: _store_vectors(db, self.name, made), _as_is
            )
            if len(missing) < _BATCH:
                return

    async def embed_query(self, query: str) -> bytes | None:
        """Return the vector of a query; None if the embedder fails."""
        vectors = await self._embed([query[:_LONGEST_TEXT]])
        return vectors[0] if vectors else None

    async def _embed(self, texts: list[str]) -> list[bytes]:
        """Return the vectors of texts; none if the embedder fails."""
        if not texts:
            return []
        try:
            vectors = await self._embedder.embed(texts)
            if len(vectors) != len(texts):
                raise ModelAnswerError(f"{len(vectors)} vectors came for {len(texts)} texts.")
            packed = [_pack_vector(vector) for vector in vectors]
            self._check_lengths(packed)
            return packed
        except Exception as error:  # boundary: the embedder is the user's
            logger.warning(
                "The embedder %s failed, so memories are searched by their words only: %s: %s",
                self.name,
                type(error).__name__,
                redact_text(str(error)),
            )
            return []

    def _check_lengths(self, vectors: Sequence[bytes]) -> None:
        """Refuse vectors of different lengths; warn if they differ from those before."""
        size = len(vectors[0])
        if any(len(vector) != size for vector in vectors):
            raise ModelAnswerError("The vectors have different lengths, so they do not compare.")
        if self._size not in (0, size):
            logger.warning(
                "The embedder %s gave vectors of another length than before, so memories with "
                "older ones are found by their words only.",
                self.name,
            )
        self._size = size


def find_nearest(
    db: sqlite3.Connection, owner: int, embedder: str, query: bytes, limit: int, least: float
) -> list[int]:
    """Return the owner's memories that are nearest to a query, the best first.

    Args:
      db: the file.
      owner: whose memories.
      embedder: the name of the embedder that made the query's vector.
      query: that vector.
      limit: the most memories.
      least: the least cosine.
    """
    wanted = array("f", query)
    rows = db.execute(
        "SELECT memory, vector FROM memory_vectors WHERE embedder = ? AND length(vector) = ?"
        " AND memory IN (SELECT memory FROM memories WHERE owner = ? ORDER BY memory DESC LIMIT ?)",
        (embedder, len(query), owner, _MOST_COMPARED),
    )
    scored = ((sum(map(mul, wanted, array("f", vector))), -memory) for memory, vector in rows)
    return [-place for _, place in nlargest(limit, (one for one in scored if one[0] >= least))]


def fuse_ranks(*rankings: Sequence[int]) -> list[int]:
    """Return the places of several rankings in one: what is high in many comes first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking):
            scores[place] = scores.get(place, 0.0) + 1 / (_FUSION + rank)
    return sorted(scores, key=lambda place: (-scores[place], place))


def _list_missing(db: sqlite3.Connection, app: str, user: str, name: str) -> list[tuple[int, str]]:
    """Return memories without a vector of an embedder, and their texts."""
    rows = db.execute(
        "SELECT memory, content FROM memories JOIN owners USING(owner)"
        " WHERE app = ? AND user = ? AND NOT EXISTS(SELECT 1 FROM memory_vectors"
        " WHERE memory_vectors.memory = memories.memory AND embedder = ?)"
        " ORDER BY memory DESC LIMIT ?",
        (app, user, name, _BATCH),
    )
    return [(memory, _text_of(json.loads(content))) for memory, content in rows]


def _text_of(content: Any) -> str:
    texts = [part["text"] for part in content.get("parts") or () if part.get("text")]
    return " ".join(texts)[:_LONGEST_TEXT]


def _store_vectors(db: sqlite3.Connection, name: str, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Store vectors in place of older ones, but for memories that are gone by now."""
    db.executemany(
        "INSERT OR REPLACE INTO memory_vectors(memory, embedder, vector)"
        " SELECT memory, ?, ? FROM memories WHERE memory = ?",
        [(name, vector, memory) for memory, vector in vectors],
    )


def _pack_vector(vector: Sequence[float]) -> bytes:
    """Return a vector of unit length in bytes.

    Raises:
      ModelAnswerError: it is empty or holds something that is no finite number.
    """
    length = math.sqrt(sum(value * value for value in vector))
    if not vector or not math.isfinite(length):
        raise ModelAnswerError("A vector is empty or not finite.")
    return array("f", [value / (length or 1.0) for value in vector]).tobytes()


def _as_is(answer: Any) -> Any:
    return answer
