"""The rows of the effects ledger in a SQL database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..store.durable_store import Place
from ..store.effect_ledger import (
    EffectCursor,
    EffectFilter,
    EffectMark,
    EffectWriter,
    OrphanedRows,
    StoredEffect,
    chain_hash,
    continue_ledger,
    seed_hash,
)
from ..store.effect_row import decode_text
from .sql_dialects import Dialect
from .sql_rows import searchable_name
from .sql_statements import compile_statements, fetch_all, fetch_one

if TYPE_CHECKING:
    from sqlalchemy import TextClause
    from sqlalchemy.ext.asyncio import AsyncConnection

_OTHERS = 256  # effects that agents called as tools may have added to the ledger since a try
_ROWS = (
    "SELECT o.app_name, o.user_id, o.session_id, e.sid, e.n, e.finished, e.data, e.hash "
    "FROM ostinato_effects e JOIN ostinato_sessions o ON o.sid = e.sid"
)
_LEDGER = _ROWS.replace("e.hash ", "e.hash, m.n, m.hash ") + (
    " LEFT JOIN ostinato_effect_marks m ON m.sid = e.sid AND m.n >= e.n - 1"
)
_NEWEST = "ORDER BY e.finished DESC, e.sid DESC, e.n DESC LIMIT :limit"
_CONDITIONS = {
    "app": "{is o.app_name app}",
    "user": "{is o.user_id user}",
    "id": "{is o.session_id id}",
    "since": "e.finished >= :since",
    "finished": "e.finished <= :finished AND (e.finished < :finished OR e.sid < :sid "
    "OR (e.sid = :sid AND e.n < :number))",
}
_STATEMENTS = {
    "last": "SELECT n, finished, hash FROM ostinato_effects WHERE sid = :sid "
    "AND n <= 2147483647 ORDER BY n DESC LIMIT 1",  # a text, as of a damaged row, sorts above
    "newest": "SELECT data FROM ostinato_effects WHERE sid = :sid ORDER BY n DESC LIMIT :limit",
    "insert": "INSERT INTO ostinato_effects (sid, n, finished, data, hash) "
    "VALUES (:sid, :number, :finished, :data, :hash)",
    "mark": "SELECT n, finished, hash FROM ostinato_effect_marks WHERE sid = :sid",
    "marks": "SELECT o.app_name, o.user_id, o.session_id, m.n, m.finished, m.hash "
    "FROM ostinato_effect_marks m JOIN ostinato_sessions o ON o.sid = m.sid",
    "orphans": "SELECT a.sid, SUM(a.is_row), SUM(1 - a.is_row) FROM (SELECT sid, 1 AS is_row "
    "FROM ostinato_effects UNION ALL SELECT sid, 0 FROM ostinato_effect_marks) a "
    "LEFT JOIN ostinato_sessions o ON o.sid = a.sid WHERE o.sid IS NULL GROUP BY a.sid "
    "ORDER BY a.sid",
    "keep mark": "INSERT INTO ostinato_effect_marks (sid, n, finished, hash) "
    "VALUES (:sid, :number, :finished, :hash) {write mark}",
    "old": "SELECT e.sid, e.n, e.finished, e.hash, o.sid FROM ostinato_effects e "
    "LEFT JOIN ostinato_sessions o ON o.sid = e.sid WHERE e.finished < :before "
    "ORDER BY e.finished, e.sid, e.n LIMIT :limit",
    "delete": "DELETE FROM ostinato_effects WHERE sid = :sid AND n = :number",
    "ledger": f"{_LEDGER} WHERE e.sid >= :sid AND (e.sid > :sid OR e.n > :number) "
    "ORDER BY e.sid, e.n LIMIT :limit",
}


class SqlEffects:
    """Statements about the effects ledger in the SQL of one database.

    Args:
      dialect: the database.
      writer: how the ledger is kept; None if nothing is written.
    """

    def __init__(self, dialect: Dialect, writer: EffectWriter | None) -> None:
        self.writer = writer
        self._dialect = dialect
        self._sql = compile_statements(_STATEMENTS, dialect)

    async def write_effects(
        self, db: AsyncConnection, sid: int, place: Place, texts: Sequence[str], repeated: bool
    ) -> None:
        """Append effects to a session's ledger; sometimes delete old ones of any session.

        Args:
          repeated: whether an earlier try may have stored them already; no other effect of the
            session has the same text.
        """
        writer = self.writer
        if writer is not None and repeated:
            newest = {"sid": sid, "limit": len(texts) + _OTHERS}
            stored = {row[0] for row in await fetch_all(db, self._sql["newest"], newest)}
            texts = [text for text in texts if text not in stored]
        if writer is None or not texts:
            return
        row: Any = await fetch_one(db, self._sql["last"], {"sid": sid})
        row = row or await fetch_one(db, self._sql["mark"], {"sid": sid})
        number, finished, previous = continue_ledger(row)
        rows: list[dict[str, Any]] = []
        for number, text in enumerate(texts, number + 1):  # noqa: B020 - counts on from the last row
            if writer.chained:
                previous = chain_hash(previous or seed_hash(place), number, finished, text)
            kept = previous if writer.chained else None
            rows.append(
                {"sid": sid, "number": number, "finished": finished, "data": text, "hash": kept}
            )
        await db.execute(self._sql["insert"], rows)
        before = writer.count(len(texts))
        if before is not None:
            await self.trim_effects(db, before, 512)

    async def trim_effects(self, db: AsyncConnection, before: int, limit: int) -> int:
        """Delete effects that finished before a time in milliseconds; return how many.

        The last one of each session is noted, so that rows deleted otherwise are noticed.
        """
        found = await fetch_all(db, self._sql["old"], {"before": before, "limit": limit})
        names = ("sid", "number", "finished", "hash", "session")
        old: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in found]
        if old:
            held = [each for each in old if each["session"] is not None]
            last = {each["sid"]: each for each in sorted(held, key=lambda each: each["number"])}
            if last:
                await db.execute(self._sql["keep mark"], [last[sid] for sid in sorted(last)])
            keys = [{"sid": each["sid"], "number": each["number"]} for each in old]
            await db.execute(self._sql["delete"], keys)
        return len(old)

    async def read_marks(self, db: AsyncConnection) -> list[EffectMark]:
        """Read how far the ledger of each session was pruned."""
        return [EffectMark(*row) for row in await _fetch_rows(db, self._sql["marks"], {})]

    async def read_orphans(self, db: AsyncConnection) -> list[OrphanedRows]:
        """Count the rows and marks of sessions that do not exist."""
        found = await fetch_all(db, self._sql["orphans"], {})
        return [OrphanedRows(*map(int, row)) for row in found]

    async def read_effects(
        self,
        db: AsyncConnection,
        which: EffectFilter,
        limit: int,
        after: EffectCursor | None,
    ) -> list[StoredEffect]:
        """Read effects of sessions and of a time, newest first, whatever their tool."""
        values: dict[str, Any] = {
            "app": searchable_name(which.app_name),
            "user": searchable_name(which.user_id),
            "id": searchable_name(which.session_id),
            "since": None if which.since is None else int(which.since * 1000),
        }
        values = {name: value for name, value in values.items() if value is not None}
        if after is not None:
            values |= after._asdict()
        found = [text for name, text in _CONDITIONS.items() if name in values]
        where = f"WHERE {' AND '.join(found)} " if found else ""
        sql = compile_statements({"read": f"{_ROWS} {where}{_NEWEST}"}, self._dialect)["read"]
        rows = await _fetch_rows(db, sql, {**values, "limit": limit})
        return [StoredEffect(*row) for row in rows]

    async def read_ledger(
        self, db: AsyncConnection, sid: int, number: int, limit: int
    ) -> list[StoredEffect]:
        """Read the next rows behind one, session by session, each in the order of its numbers."""
        values = {"sid": sid, "number": number, "limit": limit}
        return [StoredEffect(*row) for row in await _fetch_rows(db, self._sql["ledger"], values)]


async def _fetch_rows(
    db: AsyncConnection, statement: TextClause, values: Mapping[str, Any]
) -> list[Any]:
    """Read rows; bytes of a text that are no UTF-8 become surrogates, as of damaged rows.

    Only SQLite stores such bytes.
    """
    try:
        return await fetch_all(db, statement, values)
    except Exception as error:  # boundary: the driver's error, whichever driver it is
        if "decode to UTF-8" not in str(error):
            raise
    connection: Any = (await db.get_raw_connection()).driver_connection
    usual = connection.text_factory
    connection.text_factory = decode_text
    try:
        return await fetch_all(db, statement, values)
    finally:
        connection.text_factory = usual
