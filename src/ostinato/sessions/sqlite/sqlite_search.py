"""The full-text index of the embedded session store, made when sessions are searched first.

Appends write nothing into it: a trigger notes which sessions have changed, and searches and
`index_sessions` index these, some at a time. Called in the threads of `sqlite_threads.py`.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from ..base_session_service import HIDDEN_PREFIX
from ..store.listing_page import Page, token_of
from ..store.search_words import (
    COUNTED,
    FTS5_INDEX,
    PART,
    STEP_EVENTS,
    STEP_SESSIONS,
    document_text,
    fts5_query,
    query_tokens,
    stretch_of,
    text_condition,
)
from ..store.session_search import TITLE_KEY, Unindexed, title_of
from .sqlite_events import SHIFT
from .sqlite_listing import VISIBLE, Listing, page_parameters, read_sessions

_WALK = 200  # sessions in which words are looked for one by one before the index is asked
_LONG_WALK = 1500  # and after it where it holds too many
_MOST = 3000  # documents of the index that are sorted for one page

_MERGED_PAGES = 200  # of the index, in one transaction

_NOTE = (
    "BEGIN INSERT INTO ostinato_unindexed(sid) SELECT new.sid "
    "WHERE NOT EXISTS (SELECT 1 FROM ostinato_unindexed WHERE sid = new.sid); END"
)
_TABLES = (
    "CREATE TABLE ostinato_search(doc INTEGER PRIMARY KEY, sid INTEGER NOT NULL "
    "REFERENCES sessions(sid) ON DELETE CASCADE, part INTEGER NOT NULL, words TEXT NOT NULL, "
    "UNIQUE(sid, part))",
    *FTS5_INDEX,
    "CREATE TABLE ostinato_unindexed(sid INTEGER PRIMARY KEY "
    "REFERENCES sessions(sid) ON DELETE CASCADE)",
    f"CREATE TRIGGER ostinato_session_made AFTER INSERT ON sessions {_NOTE}",
    f"CREATE TRIGGER ostinato_session_changed AFTER UPDATE OF revision ON sessions {_NOTE}",
    "INSERT INTO ostinato_unindexed(sid) SELECT sid FROM sessions",
)


def is_searchable(db: sqlite3.Connection) -> bool:
    """Return whether the file has the index."""
    found = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'ostinato_unindexed'").fetchone()
    return found is not None


def make_searchable(db: sqlite3.Connection) -> None:
    """Make the index; every session is to be indexed then."""
    if not is_searchable(db):
        for statement in _TABLES:
            db.execute(statement)


def read_unindexed(db: sqlite3.Connection) -> list[Unindexed]:
    """Read some sessions that are to be indexed, the newest first."""
    found: list[Unindexed] = []
    count = 0
    rows = db.execute(
        "SELECT s.sid, s.app, s.user, s.id, s.revision, (SELECT max(part) FROM ostinato_search x "
        "WHERE x.sid = s.sid) FROM ostinato_unindexed u CROSS JOIN sessions s ON s.sid = u.sid "
        "ORDER BY u.sid DESC LIMIT ?",
        (STEP_SESSIONS,),
    ).fetchall()
    for sid, app, user, name, revision, newest_part in rows:
        if count >= STEP_EVENTS:
            break
        parts, ends = stretch_of(revision, newest_part)
        if name.startswith(HIDDEN_PREFIX):
            parts, ends = [], True
        documents: list[tuple[int, str]] = []
        for part in parts:
            events = _read_events(db, sid, part)
            count += len(events)
            titles = _read_titles(db, sid, name) if part == 0 else []
            documents.append((part, document_text(app, user, titles, events)))
        found.append(Unindexed(sid, revision, documents, ends))
    return found


def _read_events(db: sqlite3.Connection, sid: int, part: int) -> list[str]:
    start = (sid << SHIFT) + part * PART
    rows = db.execute(
        "SELECT data FROM events WHERE pos BETWEEN ? AND ? ORDER BY pos", (start + 1, start + PART)
    )
    return [row[0] for row in rows]


def _read_titles(db: sqlite3.Connection, sid: int, name: str) -> list[str]:
    row = db.execute(
        "SELECT value FROM session_state WHERE sid = ? AND key = ?", (sid, TITLE_KEY)
    ).fetchone()
    title = title_of(json.loads(row[0])) if row is not None and row[0] is not None else None
    return [name] if title is None else [name, title]


def write_documents(db: sqlite3.Connection, found: list[Unindexed]) -> int:
    """Index sessions that have not changed since they were read; return how many remain."""
    for one in found:
        same = db.execute(
            "SELECT 1 FROM sessions WHERE sid = ? AND revision = ?", (one.sid, one.revision)
        ).fetchone()
        if same is None:
            continue
        for part, text in one.documents:
            db.execute(
                "INSERT INTO ostinato_search(sid, part, words) VALUES(?, ?, ?) "
                "ON CONFLICT(sid, part) DO UPDATE SET words = excluded.words "
                "WHERE words <> excluded.words",
                (one.sid, part, text),
            )
        if one.ends:
            db.execute("DELETE FROM ostinato_unindexed WHERE sid = ?", (one.sid,))
    return db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM ostinato_unindexed LIMIT ?)", (COUNTED,)
    ).fetchone()[0]


def merge_words(db: sqlite3.Connection) -> bool:
    """Drop some of the words of deleted documents from the index, which only marks them at first.

    Returns:
      Whether more may be left.
    """
    if not is_searchable(db):
        return False
    before = db.total_changes
    db.execute(
        "INSERT INTO ostinato_words(ostinato_words, rank) VALUES('merge', ?)", (-_MERGED_PAGES,)
    )
    return db.total_changes - before > 1


def search_sessions(
    db: sqlite3.Connection, app: str, user: str | None, text: str, page: Page
) -> Listing:
    """Read a page of sessions that hold the words of a text.

    Words that many sessions hold are found by looking into the newest sessions, others by the
    index, so that neither reads more than a bounded number of rows.
    """
    tokens = query_tokens(app, user, text)
    if not tokens:
        return Listing([])
    assert page.size is not None
    rows, last, ended = _walk_sessions(db, app, user, page, tokens, _WALK)
    if not ended and len(rows) <= page.size:
        asked = {"query": fts5_query(tokens), "most": _MOST + 1}
        counted = db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM ostinato_words WHERE ostinato_words MATCH :query "
            "LIMIT :most)",
            asked,
        ).fetchone()
        if counted[0] <= _MOST:
            rows, ended = _read_indexed(db, app, user, page, asked), True
        else:
            behind = Page(page.size + 1 - len(rows), last[4], last[0])
            more, last, ended = _walk_sessions(db, app, user, behind, tokens, _LONG_WALK)
            rows += more
    shown = rows[: page.size]
    found = read_sessions(db, shown)
    if len(rows) > page.size:
        found.next = token_of(shown[-1][4], shown[-1][0])
    elif not ended:
        found.next = token_of(last[4], last[0])
    return found


def _walk_sessions(
    db: sqlite3.Connection, app: str, user: str | None, page: Page, tokens: list[str], most: int
) -> tuple[list[Any], Any, bool]:
    """Look into sessions one by one, newest first, until a page is full.

    Returns:
      Those that hold the words, the last one looked into, and whether it was the last of all.
    """
    assert page.size is not None
    of_user = "" if user is None else "AND user = :user"
    holds, words = text_condition(tokens)
    walked = db.execute(
        "SELECT sid, app, user, id, updated, revision, EXISTS (SELECT 1 FROM ostinato_search x "
        f"WHERE x.sid = s.sid AND {holds}) FROM sessions s WHERE app = :app {of_user} "
        f"AND {VISIBLE} AND (updated, sid) < (:updated, :number) "
        "ORDER BY updated DESC, sid DESC LIMIT :most",
        {**page_parameters(app, user, page), **words, "most": most},
    )
    found: list[Any] = []
    last: Any = None
    count = 0
    for last in walked:
        count += 1
        if last[6]:
            found.append(last[:6])
            if len(found) > page.size:
                return found, last, False
    return found, last, count < most


def _read_indexed(
    db: sqlite3.Connection, app: str, user: str | None, page: Page, asked: dict[str, Any]
) -> list[Any]:
    """Read the sessions of all documents that hold the words, newest first."""
    assert page.size is not None
    of_user = "" if user is None else "AND user = :user"
    return db.execute(
        "SELECT s.sid, app, user, id, updated, revision FROM (SELECT DISTINCT x.sid "
        "FROM ostinato_words f CROSS JOIN ostinato_search x ON x.doc = f.rowid "
        "WHERE f.ostinato_words MATCH :query) found CROSS JOIN sessions s ON s.sid = found.sid "
        f"WHERE app = :app {of_user} AND {VISIBLE} "
        "AND (updated, s.sid) < (:updated, :number) ORDER BY updated DESC, s.sid DESC LIMIT :size",
        {**page_parameters(app, user, page), **asked, "size": page.size + 1},
    ).fetchall()
