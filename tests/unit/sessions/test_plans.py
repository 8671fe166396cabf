"""No statement of a store reads a whole table that grows."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import Pool

from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.support.databases import execute, new_database
from tests.unit.sessions.plans import do_everything, fill, postgres_scans, sqlite_scans
from tests.unit.sessions.talk import trace_statements

# Work that is open in many sessions, so that plans are those of tables with many rows.
_OPEN = (
    "INSERT INTO ostinato_journal (sid, invocation_id, call_id, status, tool, result) "
    "SELECT sid, 'e-' || n, 'c', 'finished', 't', '{}' FROM ostinato_sessions, "
    "generate_series(1, 5) n",
    "INSERT INTO ostinato_inbox (sid, invocation_id, owner, process, payload, expires) "
    "SELECT sid, 'm-' || n, 'owner' || sid, 'p', '{}', 3e9 FROM ostinato_sessions, "
    "generate_series(1, 5) n",
    "UPDATE ostinato_sessions SET begun = 1, owner = 'owner' || sid, token = 1, "
    "invocation_id = 'e-1', expires = 3e9",
)
# What many sessions that have been used leave in the embedded store.
_USED = (
    "INSERT OR IGNORE INTO ostinato_lease(sid, owner, token, expires, process) "
    "SELECT sid, '', 1, 0, '' FROM sessions",
    "INSERT INTO ostinato_journal(sid, invocation_id, call_id, status, tool) "
    "SELECT sid, 'e-9', 'c', 'finished', 't' FROM sessions",
    "INSERT INTO ostinato_inbox(sid, seq, id, message, created, owner) "
    "SELECT sid, 9, 'm-9', '{}', sid, 'owner' || sid FROM sessions",
    "INSERT INTO session_state(sid, key, value) SELECT sid, 'topic', '1' FROM sessions WHERE id "
    "LIKE 'f%'",
)
_PLANNED = ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")


@pytest.mark.parametrize("wide", [False, True])
async def test_sqlite_scans_no_growing_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: bool
) -> None:
    statements: set[str] = set()
    trace_statements(monkeypatch, statements.add)
    path = tmp_path / "s.db"
    store: Any = SqliteSessionService(path, synchronous="NORMAL")
    if wide:  # so that a search has to walk
        await fill(store, 300)
    await do_everything(store)
    await store.close()
    scans: dict[str, list[str]] = {}
    with closing(sqlite3.connect(path)) as db, db:
        if wide:
            for statement in _USED:
                db.execute(statement)
            db.execute("ANALYZE")
        for statement in statements:
            if not statement.lstrip().startswith(_PLANNED) or "sqlite_master" in statement:
                continue
            plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
            if found := sqlite_scans(statement, plan):
                scans[statement] = found
    db.close()
    allowed = {one for one in scans if "INSERT INTO ostinato_unindexed(sid) SELECT sid" in one}
    assert {one: scans[one] for one in scans.keys() - allowed} == {}
    assert len(statements) > 60


@pytest.mark.service
async def test_postgres_scans_no_growing_table() -> None:
    sent: dict[str, tuple[Any, ...]] = {}

    def note(_c: Any, _k: Any, statement: str, values: Any, _x: Any, _m: Any) -> None:
        first = values[0] if isinstance(values, list) else values
        sent.setdefault(statement, tuple(first))

    def note_single(query: Any) -> None:  # what goes to the driver past SQLAlchemy
        sent.setdefault(query.query, tuple(query.args))

    def listen(connection: Any, _: Any) -> None:
        connection.driver_connection.add_query_logger(note_single)

    with new_database("postgres") as url:
        store: Any = DatabaseSessionService(url)
        await fill(store, 1200)
        await store.close()
        execute(url, *_OPEN)
        store = DatabaseSessionService(url)
        event.listen(Pool, "connect", listen)
        event.listen(Engine, "before_cursor_execute", note)
        try:
            await do_everything(store)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
            event.remove(Pool, "connect", listen)
        await store.close()
        assert len(sent) > 50
        assert any(statement.startswith("WITH locked") for statement in sent)
        assert await _plans(url, sent) == {}


async def _plans(url: str, sent: dict[str, tuple[Any, ...]]) -> dict[str, list[str]]:
    scans: dict[str, list[str]] = {}
    db = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        await db.execute("ANALYZE")
        await db.execute("SET enable_seqscan = off")
        for statement, values in sent.items():
            if not statement.lstrip().startswith(_PLANNED) or "pg_catalog" in statement:
                continue
            plan = await db.fetchval(f"EXPLAIN (FORMAT JSON) {statement}", *values)
            if found := postgres_scans(statement, plan):
                scans[statement] = found
    finally:
        await asyncio.wait_for(db.close(), 10)
    return scans
