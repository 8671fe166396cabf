"""Filling a store with many sessions at once, past the store itself."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg

from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.search_words import document_text

APP = "desk"
USERS = 1000
BEGUN = 1_700_000_000.0
_CHUNK = 2000  # sessions that are made in memory before they are written
_WORDS = [
    a + b + c
    for a in ("ba", "co", "di", "fu", "ge", "ha", "ki", "lo", "mu", "ne", "pa", "ro", "su", "ti")
    for b in ("lan", "mer", "nor", "pos", "ran", "set", "tor", "vin", "wel", "zan")
    for c in ("", "ing", "er", "ly", "ness", "able", "est", "ful", "ism", "ous")
]


class Filler(NamedTuple):
    """A session to be stored, and what was said in it.

    Attributes:
      number: from 0; a later one is newer.
      user, name: whose it is, and its id.
      updated: time of its newest event, seconds since 1970.
      events: id, author, time and JSON text of each.
      words: the document of the search's index.
    """

    number: int
    user: str
    name: str
    updated: float
    events: list[tuple[str, str, float, str]]
    words: str


def fillers(sessions: int, events: int) -> Iterator[Filler]:
    """Make sessions: every one says `everywhere`, each tenth `sometimes`, one in 5,000 `seldom`."""
    dice = random.Random(7)
    each = max(1, events // sessions)
    for number in range(sessions):
        user, name = f"user{number * 7919 % USERS}", f"session-{number:07}"
        begun = BEGUN + number * 60.0
        said: list[str] = []
        stored: list[tuple[str, str, float, str]] = []
        for seq in range(each):
            text = " ".join(dice.choices(_WORDS, k=25))
            if seq == 0:
                text += " everywhere" + " sometimes" * (number % 10 == 3)
                text += " seldom" * (number % 5000 == 17)
            said.append(text)
            author = "user" if seq % 2 == 0 else "helper"
            data = {"content": {"parts": [{"text": text}], "role": author}}
            if seq % 2:
                data |= {"usageMetadata": {"promptTokenCount": 900, "totalTokenCount": 950}}
            stored.append((f"{number:x}-{seq:x}", author, begun + seq, json.dumps(data)))
        whole = json.dumps({"content": {"parts": [{"text": text[:4000]} for text in said]}})
        words = document_text(APP, user, [name], [whole])
        yield Filler(number, user, name, begun + each - 1, stored, words)


def _chunks(sessions: int, events: int) -> Iterator[list[Filler]]:
    chunk: list[Filler] = []
    for one in fillers(sessions, events):
        chunk.append(one)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def fill_sqlite(path: Path, sessions: int, events: int) -> None:
    """Fill the file of an embedded store that has its tables."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous=OFF")
    (first,) = db.execute("SELECT ifnull(max(sid), 0) + 1 FROM sessions").fetchone()
    for chunk in _chunks(sessions, events):
        with db:
            _fill_sqlite(db, first, chunk)
            db.execute("DELETE FROM ostinato_unindexed")
    db.execute("ANALYZE")
    db.commit()
    db.close()


def _fill_sqlite(db: sqlite3.Connection, first: int, chunk: list[Filler]) -> None:
    db.executemany(
        "INSERT INTO sessions(sid, app, user, id, created, updated, revision) "
        "VALUES(?, ?, ?, ?, ?, ?, ?)",
        [
            (first + one.number, APP, one.user, one.name, BEGUN, one.updated, len(one.events))
            for one in chunk
        ],
    )
    db.executemany(
        "INSERT INTO events(pos, sid, id, invocation_id, author, timestamp, data) "
        "VALUES(?, ?, ?, ?, ?, ?, ?)",
        (
            (first + one.number << 32 | seq, first + one.number, name, "e-1", author, time, data)
            for one in chunk
            for seq, (name, author, time, data) in enumerate(one.events, 1)
        ),
    )
    db.executemany(
        "INSERT INTO session_state(sid, key, value) VALUES(?, 'topic', '\"travel\"')",
        [(first + one.number,) for one in chunk],
    )
    db.executemany(
        "INSERT INTO ostinato_lease(sid, owner, token, expires, process) VALUES(?, '', 3, 0, '')",
        [(first + one.number,) for one in chunk],
    )
    db.executemany(
        "INSERT INTO ostinato_search(sid, part, words) VALUES(?, 0, ?)",
        [(first + one.number, one.words) for one in chunk],
    )


async def fill_postgres(url: str, sessions: int, events: int) -> None:
    """Fill a database that has the tables."""
    db = await asyncpg.connect(url.replace("+asyncpg", ""))
    await db.execute("SET synchronous_commit = off")
    for chunk in _chunks(sessions, events):
        async with db.transaction():
            await _fill_postgres(db, chunk)
    await db.execute("VACUUM ANALYZE", timeout=None)
    await db.close()


async def _fill_postgres(db: Any, chunk: list[Filler]) -> None:
    await db.executemany(
        "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time) VALUES "
        "($1, $2, $3, '{\"topic\": \"travel\"}', to_timestamp($4) AT TIME ZONE 'UTC', "
        "to_timestamp($4) AT TIME ZONE 'UTC')",
        [(APP, one.user, one.name, one.updated) for one in chunk],
    )
    for one in chunk[:: max(1, len(chunk) // USERS)]:
        await db.execute(
            "INSERT INTO user_states VALUES ($1, $2, '{}', now()) ON CONFLICT DO NOTHING",
            APP,
            one.user,
        )
    await db.executemany(
        "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, "
        "event_data) VALUES ($1, $2, $3, $4, 'e-1', to_timestamp($5) AT TIME ZONE 'UTC', "
        "CAST($6 AS text)::jsonb)",
        [
            (name, APP, one.user, one.name, time, _whole(name, author, time, data))
            for one in chunk
            for name, author, time, data in one.events
        ],
    )
    await db.executemany(
        "INSERT INTO ostinato_sessions (app_name, user_id, session_id, generation, revision, "
        "last_micros, update_micros, updated, tail, summaries, initial, owner, process, token, "
        "expires, invocation_id, digest, attempts, stuck, cancelled, unindexed) VALUES "
        "($1, $2, $3, 0, $4, $5, $5, $6, 1, '[]', '{}', '', '', 3, 0, '', '', 0, '', 0, 0)",
        [
            (APP, one.user, one.name, len(one.events), round(one.updated * 1e6), one.updated)
            for one in chunk
        ],
    )
    await db.executemany(
        "INSERT INTO ostinato_search (sid, part, words) SELECT sid, 0, CAST($4 AS text)::tsvector "
        "FROM ostinato_sessions WHERE app_name = $1 AND user_id = $2 AND session_id = $3",
        [(APP, one.user, one.name, one.words) for one in chunk],
    )


def _whole(name: str, author: str, time: float, data: str) -> str:
    columns = {"id": name, "invocation_id": "e-1", "author": author, "timestamp": time}
    return json.dumps({**columns, **json.loads(data)})


async def make_sqlite(path: Path) -> None:
    """Make the tables of an embedded store, those of the search included."""
    store = SqliteSessionService(path)
    await store.index_sessions()
    await store.close()
