"""Tables and statements of the SQLite span store; they run in the threads of a store.

Each prompt extends the previous one, so a prompt is stored as the end of a chain: a link holds one
content and points to the link before it. Two more contents cost two more links.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from .._secrets import redact_text
from ..sessions.base_session_service import HIDDEN_PREFIX
from ..sessions.sqlite.sqlite_file import FileFormat
from .recorder import SpanRecord

_LONGEST_ERROR = 10_000  # characters of an error's text
FORMAT = FileFormat(
    noun="span store",
    service="SqliteSpanStore",
    otherwise="keep that program's database apart",
    mark=0x4F737453,
    migrations=(
        """
        CREATE TABLE texts(text INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, data TEXT NOT NULL);
        CREATE TABLE links(
          link INTEGER PRIMARY KEY,
          before INTEGER NOT NULL,
          text INTEGER NOT NULL,
          UNIQUE(before, text)
        );
        CREATE TABLE spans(
          number INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          trace_id TEXT NOT NULL,
          parent_id TEXT,
          name TEXT NOT NULL,
          operation TEXT NOT NULL,
          start REAL NOT NULL,
          end REAL,
          app TEXT NOT NULL,
          user TEXT NOT NULL,
          session TEXT NOT NULL,
          invocation TEXT NOT NULL,
          error TEXT,
          attributes TEXT NOT NULL,
          prompt INTEGER,
          texts TEXT NOT NULL
        );
        CREATE INDEX spans_of_session ON spans(app, user, session, number)
        """,
        """
        CREATE INDEX spans_of_invocation ON spans(app, user, session, invocation);
        CREATE INDEX spans_of_parent ON spans(parent_id);
        CREATE INDEX spans_of_user ON spans(user, app)
        """,
    ),
)

_MOST_LINKS = 20_000

_COLUMNS = (
    "id, trace_id, parent_id, name, operation, start, end, app, user, session, invocation, error, "
    "attributes, prompt, texts"
)
_HIDDEN, _PAST_HIDDEN = HIDDEN_PREFIX, HIDDEN_PREFIX[:-1] + chr(ord(HIDDEN_PREFIX[-1]) + 1)
# The spans of a session or of one of its invocations, and their descendants in the hidden sessions
# of agents that ran as tools.
_WITHIN = (
    "within(number, id) AS (SELECT number, id FROM spans INDEXED BY {index}"
    " WHERE app = :app AND user = :user AND session = :session{more}"
    " UNION SELECT h.number, h.id FROM within w JOIN spans h INDEXED BY spans_of_parent"
    " ON h.parent_id = w.id WHERE h.app = :app AND h.user = :user"
    f" AND h.session >= '{_HIDDEN}' AND h.session < '{_PAST_HIDDEN}')"
)
_WITHIN_SESSION = _WITHIN.format(index="spans_of_session", more="")
_WITHIN_INVOCATION = _WITHIN.format(
    index="spans_of_invocation", more=" AND invocation = :invocation"
)
_UPSERT = (
    f"INSERT INTO spans({_COLUMNS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT(id) DO UPDATE SET end = excluded.end, invocation = excluded.invocation, "
    "error = excluded.error, attributes = excluded.attributes, prompt = excluded.prompt, "
    "texts = excluded.texts"
)


class KnownLinks:
    """Cache of recently written links, so that a long prompt needs no lookup for each link."""

    def __init__(self) -> None:
        self._links: dict[tuple[int, str], int] = {}

    def get(self, before: int, data: str) -> int | None:
        """Return the link that holds `data` after `before`, if it is known."""
        return self._links.get((before, data))

    def add(self, before: int, data: str, link: int) -> None:
        """Remember a link."""
        if len(self._links) >= _MOST_LINKS:
            self.clear()
        self._links[before, data] = link

    def clear(self) -> None:
        """Empty the cache: stored links may have been rolled back or deleted."""
        self._links.clear()


def write_span(db: sqlite3.Connection, record: SpanRecord, known: KnownLinks) -> None:
    """Store a span that has begun, or its final state."""
    try:
        _insert_span(db, record, known)
    except BaseException:  # boundary: any error rolls the links back
        known.clear()
        raise


def _insert_span(db: sqlite3.Connection, record: SpanRecord, known: KnownLinks) -> None:
    texts = {kind: _store_text(db, data) for kind, data in record.texts.items()}
    row = (
        record.id,
        record.trace_id,
        record.parent_id,
        record.name,
        record.operation,
        record.start,
        record.end,
        *record.place,
        record.invocation_id,
        None if record.error is None else redact_text(record.error[:_LONGEST_ERROR]),
        json.dumps(record.attributes, ensure_ascii=False, default=repr),
        _store_chain(db, record.contents, known),
        json.dumps(texts),
    )
    db.execute(_UPSERT, row)


def _store_text(db: sqlite3.Connection, data: str) -> int:
    """Return the number of a text, stored once."""
    digest = blake2b(data.encode("utf-8", "replace"), digest_size=16).digest()
    found = db.execute("SELECT text FROM texts WHERE hash = ?", (digest,)).fetchone()
    if found is None:
        stored = "INSERT INTO texts(hash, data) VALUES(?, ?) RETURNING text"
        found = db.execute(stored, (digest, data)).fetchone()
    return found[0]


def _store_chain(db: sqlite3.Connection, contents: Iterable[str], known: KnownLinks) -> int | None:
    """Return the last link of a prompt, or None if none was recorded."""
    link = 0
    for data in contents:
        found = known.get(link, data)
        if found is None:
            found = _store_link(db, link, _store_text(db, data))
            known.add(link, data, found)
        link = found
    return link or None


def _store_link(db: sqlite3.Connection, before: int, text: int) -> int:
    """Return the link that holds a text after another link, stored once."""
    key = (before, text)
    found = db.execute("SELECT link FROM links WHERE before = ? AND text = ?", key).fetchone()
    if found is None:
        stored = "INSERT INTO links(before, text) VALUES(?, ?) RETURNING link"
        found = db.execute(stored, key).fetchone()
    return found[0]


def _place_names(place: tuple[str, str, str]) -> dict[str, Any]:
    return dict(zip(("app", "user", "session"), place, strict=True))


def load_session_spans(
    db: sqlite3.Connection, place: tuple[str, str, str], invocation_id: str | None, limit: int
) -> list[SpanRecord]:
    """Return the newest spans of a session and of its agent tools, oldest first.

    Contents and texts are left out.
    """
    within = _WITHIN_SESSION if invocation_id is None else _WITHIN_INVOCATION
    values = {**_place_names(place), "invocation": invocation_id, "limit": limit}
    rows = db.execute(
        f"WITH RECURSIVE {within} SELECT {_COLUMNS} FROM spans "
        "WHERE number IN (SELECT number FROM within) ORDER BY number DESC LIMIT :limit",
        values,
    ).fetchall()
    return [_make_record(row) for row in reversed(rows)]


def load_span(
    db: sqlite3.Connection, span_id: str, of: tuple[str, str, str] | None
) -> SpanRecord | None:
    """Return a span with its contents and texts, or None if the session has no such span."""
    row = db.execute(f"SELECT {_COLUMNS} FROM spans WHERE id = ?", (span_id,)).fetchone()
    if row is None:
        return None
    record = _make_record(row)
    if of is not None and _find_session(db, record) != of:
        return None
    record.contents = _load_contents(db, row[13])
    numbers: dict[str, int] = json.loads(row[14])
    for kind, number in numbers.items():
        found = db.execute("SELECT data FROM texts WHERE text = ?", (number,)).fetchone()
        record.texts[kind] = found[0]
    return record


def _make_record(row: Sequence[Any]) -> SpanRecord:
    return SpanRecord(
        id=row[0],
        trace_id=row[1],
        parent_id=row[2],
        name=row[3],
        operation=row[4],
        start=row[5],
        end=row[6],
        place=(row[7], row[8], row[9]),
        invocation_id=row[10],
        error=row[11],
        attributes=json.loads(row[12]),
    )


def _find_session(db: sqlite3.Connection, record: SpanRecord) -> tuple[str, str, str]:
    """Return the session that a span belongs to: its own, or that of the calling agent."""
    place, parent = record.place, record.parent_id
    while place[2].startswith(_HIDDEN) and parent is not None:
        statement = "SELECT app, user, session, parent_id FROM spans WHERE id = ?"
        found = db.execute(statement, (parent,)).fetchone()
        if found is None:
            break
        place, parent = found[:3], found[3]
    return place


def _load_contents(db: sqlite3.Connection, link: int | None) -> list[str]:
    """Return the contents of a prompt, oldest first."""
    rows = db.execute(
        "WITH RECURSIVE chain(link, before, text, depth) AS ("
        " SELECT link, before, text, 0 FROM links WHERE link = ?"
        " UNION ALL SELECT l.link, l.before, l.text, depth + 1 FROM links l"
        " JOIN chain c ON l.link = c.before) "
        "SELECT t.data FROM chain JOIN texts t ON t.text = chain.text ORDER BY depth DESC",
        (link,),
    )
    return [data for (data,) in rows]


def delete_session_spans(
    db: sqlite3.Connection, place: tuple[str, str, str], known: KnownLinks
) -> None:
    """Delete the spans of a session and of its agent tools."""
    db.execute(
        f"WITH RECURSIVE {_WITHIN_SESSION} "
        "DELETE FROM spans WHERE number IN (SELECT number FROM within)",
        _place_names(place),
    )
    _delete_unused(db, known)


def delete_user_spans(db: sqlite3.Connection, app: str | None, user: str, known: KnownLinks) -> int:
    """Delete the spans of a user, of all apps for None; return how many there were.

    Their bytes in the file are overwritten.
    """
    db.execute("PRAGMA secure_delete=ON")
    gone = db.execute("DELETE FROM spans WHERE user = ? AND app = ifnull(?, app)", (user, app))
    _delete_unused(db, known)
    return gone.rowcount


def prune_spans(db: sqlite3.Connection, keep: int, known: KnownLinks) -> None:
    """Delete all but the newest spans, and the prompts that no span refers to."""
    newest = db.execute("SELECT max(number) FROM spans").fetchone()[0] or 0
    gone = db.execute("DELETE FROM spans WHERE number <= ?", (newest - keep,)).rowcount
    if gone:
        _delete_unused(db, known)


def _delete_unused(db: sqlite3.Connection, known: KnownLinks) -> None:
    known.clear()
    db.execute(
        "DELETE FROM links WHERE link NOT IN (WITH RECURSIVE used(link) AS ("
        " SELECT prompt FROM spans WHERE prompt IS NOT NULL"
        " UNION SELECT l.before FROM links l JOIN used u ON l.link = u.link) SELECT link FROM used)"
    )
    db.execute(
        "DELETE FROM texts WHERE text NOT IN (SELECT text FROM links) AND text NOT IN "
        "(SELECT j.value FROM spans, json_each(spans.texts) j)"
    )
