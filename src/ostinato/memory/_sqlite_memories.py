"""The SQLite file of memories: its tables and statements. Called in the threads of a store.

Python splits texts into words and FTS5 indexes those words. They are encoded so that its tokenizer
neither splits nor changes them, in any script and any version of SQLite.
A memory's owner is a word of its own column, so that a search meets the owner's memories only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from ostinato._words import asked_words, words
from ostinato.memory import _vector_index as vectors_of
from ostinato.sessions.sqlite.sqlite_file import FileFormat

_MAX_WORDS = 100  # of a query
_FUSED = 50  # memories of each ranking that are joined, if a search gives fewer

FORMAT = FileFormat(
    noun="memory store",
    service="SqliteMemoryService",
    otherwise="keep that program's database apart",
    mark=0x4F73744D,
    # memories: session is '' for what belongs to none; shown is 1 where the id is the caller's own.
    migrations=(
        """
        CREATE TABLE owners(
          owner INTEGER PRIMARY KEY AUTOINCREMENT,
          app TEXT NOT NULL,
          user TEXT NOT NULL,
          UNIQUE(app, user)
        );
        CREATE TABLE memories(
          memory INTEGER PRIMARY KEY AUTOINCREMENT,
          owner INTEGER NOT NULL REFERENCES owners(owner),
          session TEXT NOT NULL,
          id TEXT NOT NULL,
          shown INTEGER NOT NULL,
          author TEXT,
          timestamp TEXT,
          content TEXT NOT NULL,
          metadata TEXT NOT NULL,
          UNIQUE(owner, session, id)
        );
        CREATE VIRTUAL TABLE memory_words USING fts5(
          owner, words, tokenize = "ascii tokenchars '_-'"
        )
        """,
        vectors_of.SCHEMA,
    ),
)


class Row(NamedTuple):
    """A memory to be stored: `text` is what it is found by, content and metadata are JSON."""

    id: str
    shown: bool
    author: str | None
    timestamp: str | None
    content: str
    metadata: str
    text: str


class QueryVector(NamedTuple):
    """A query as a vector: the embedder that made it, and the least cosine of what it finds."""

    embedder: str
    vector: bytes
    least: float


class Found(NamedTuple):
    """A memory that was found; `id` is None if it belongs to another owner."""

    id: str | None
    author: str | None
    timestamp: str | None
    content: str
    metadata: str


def add_memories(
    db: sqlite3.Connection, app: str, user: str, session: str, rows: Sequence[Row]
) -> None:
    """Store the memories that the session has not yet."""
    db.execute("INSERT OR IGNORE INTO owners(app, user) VALUES(?, ?)", (app, user))
    owner = _find_owner(db, app, user)
    for row in rows:
        indexed = words(row.text)
        if not indexed:
            continue
        place = (owner, session, row.id, row.shown)
        values = (*place, row.author, row.timestamp, row.content, row.metadata)
        new = db.execute(
            "INSERT INTO memories(owner, session, id, shown, author, timestamp, content, metadata)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING memory",
            values,
        ).fetchone()
        if new is not None:
            db.execute(
                "INSERT INTO memory_words(rowid, owner, words) VALUES(?, ?, ?)",
                (new[0], str(owner), " ".join(map(_encode_word, indexed))),
            )


def replace_memories(
    db: sqlite3.Connection, app: str, user: str, session: str, rows: Sequence[Row]
) -> None:
    """Store a session's memories in place of those there are; equal ones keep their vectors."""
    owner = _find_owner(db, app, user)
    if owner is not None:
        kept = {tuple(row[:6]) for row in rows}
        present = db.execute(
            "SELECT memory, id, shown, author, timestamp, content, metadata FROM memories"
            " WHERE owner = ? AND session = ?",
            (owner, session),
        ).fetchall()
        for memory, *values in present:
            if tuple(values) not in kept:
                _remove_memories(db, "memory = ?", (memory,))
    add_memories(db, app, user, session, rows)


def search_memories(
    db: sqlite3.Connection,
    app: str,
    user: str,
    query: str,
    limit: int,
    near: QueryVector | None = None,
) -> list[Found]:
    """The owner's memories that hold a word of the query or are near to it, the best first."""
    owner, wanted = _find_owner(db, app, user), asked_words(query)[:_MAX_WORDS]
    if owner is None or not wanted:
        return []
    depth = limit if near is None else max(limit, _FUSED)
    either = " OR ".join(f'"{_encode_word(word)}"' for word in wanted)
    worded = db.execute(
        "SELECT memory FROM memory_words JOIN memories ON memory = memory_words.rowid"
        " WHERE memory_words MATCH ? AND memories.owner = ?"
        " ORDER BY bm25(memory_words, 0.0, 1.0), memory LIMIT ?",
        (f'owner : "{owner}" AND words : ({either})', owner, depth),
    )
    found = [row[0] for row in worded]
    if near is not None:
        nearest = vectors_of.find_nearest(db, owner, near.embedder, near.vector, depth, near.least)
        found = vectors_of.fuse_ranks(found, nearest)[:limit]
    marks = ",".join("?" * len(found))
    rows = db.execute(
        "SELECT memory, iif(shown, id, NULL), author, timestamp, content, metadata"
        f" FROM memories WHERE memory IN ({marks})",
        found,
    )
    by_memory = {memory: Found(*values) for memory, *values in rows}
    return [by_memory[memory] for memory in found]


def delete_user(db: sqlite3.Connection, app: str | None, user: str) -> int:
    """Remove all that is remembered of a user, so that the file holds no trace of it.

    Args:
      app: the app; None for all apps.
      user: the user.

    Returns:
      How many memories there were.
    """
    owners = db.execute(
        "SELECT owner FROM owners WHERE user = ? AND app = ifnull(?, app)", (user, app)
    ).fetchall()
    if not owners:
        return 0
    db.execute("PRAGMA secure_delete=ON")
    count = 0
    for owner in owners:
        counted = db.execute("SELECT count(*) FROM memories WHERE owner = ?", owner)
        count += counted.fetchone()[0]
        _remove_memories(db, "owner = ?", owner)
        db.execute("DELETE FROM owners WHERE owner = ?", owner)
    # FTS5 only marks words as removed until it next merges its parts.
    db.execute("INSERT INTO memory_words(memory_words) VALUES('optimize')")
    return count


def _find_owner(db: sqlite3.Connection, app: str, user: str) -> int | None:
    found = db.execute("SELECT owner FROM owners WHERE app = ? AND user = ?", (app, user))
    row = found.fetchone()
    return None if row is None else row[0]


def _remove_memories(db: sqlite3.Connection, which: str, values: tuple[object, ...]) -> None:
    db.execute(
        f"DELETE FROM memory_words WHERE rowid IN (SELECT memory FROM memories WHERE {which})",
        values,
    )
    db.execute(
        f"DELETE FROM memory_vectors WHERE memory IN (SELECT memory FROM memories WHERE {which})",
        values,
    )
    db.execute(f"DELETE FROM memories WHERE {which}", values)


def _encode_word(word: str) -> str:
    """A word in letters that every version of FTS5's tokenizer knows; `-` begins encoded ones."""
    return word if word.isascii() else "-" + word.encode("utf-8", "surrogatepass").hex()
