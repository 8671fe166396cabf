"""The start of each session's tail in a SQL database: what a run of a compacted session loads.

`tail.py` decides; here is what it reads and what is kept of its answer, in the transaction of
the append that brings a compaction, a rewind or a user's answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..log.event_log import COMPACTION, REWIND, EventRecord
from ..log.tail import answers_left_out_call, find_tail, has_user_answer
from ..store.stored_rows import Appended
from .sql_dialects import Dialect
from .sql_rows import SqlRows
from .sql_statements import TAILS, compile_statements, fetch_one

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


class SqlTails:
    """Statements about tails in the SQL of one database.

    Args:
      dialect: the database.
      rows: the statements about sessions.
    """

    def __init__(self, dialect: Dialect, rows: SqlRows) -> None:
        self._rows = rows
        self._sql = compile_statements(TAILS, dialect)

    async def move_tail(
        self, db: AsyncConnection, sid: int, done: Appended, last: int, names: Mapping[str, Any]
    ) -> None:
        """Move the start of a session's tail after compactions, rewinds or answers were appended.

        Args:
          last: time of the newest row, microseconds since 1970.
        """
        kinds = 0
        for record in done.records:
            kinds |= record.kinds
        answers = has_user_answer(done.records)
        if not kinds & (COMPACTION | REWIND) and not answers:
            return
        row = await fetch_one(db, self._sql["tail"], {"sid": sid})
        tail: int = row[0]
        summaries: list[str] = json.loads(row[1])
        for record in done.records if tail > 1 else ():
            if await self._reaches_back(db, done, record, tail, last, names):
                tail, summaries = 1, []
                await self._store_tail(db, sid, 1, [])
                break
        if answers and tail > 1:
            behind = await self._rows.read_newest(db, names, last, done.revision - tail + 1)
            if answers_left_out_call(done.records, behind):
                tail, summaries = 1, []
                await self._store_tail(db, sid, 1, [])
        if kinds & COMPACTION:
            await self._advance_tail(db, sid, done, tail, summaries, last, names)

    async def _reaches_back(
        self,
        db: AsyncConnection,
        done: Appended,
        record: EventRecord,
        tail: int,
        last: int,
        names: Mapping[str, Any],
    ) -> bool:
        """Return whether a rewind hides what the tail left out, or a summary that stands for it."""
        if not record.kinds & REWIND:
            return False
        target = record.event().actions.rewind_before_invocation_id
        values = {**names, "invocation": target}
        start: int = (await fetch_one(db, self._sql["older than"], values))[0] + 1
        if start > done.revision:
            return False
        if start < tail:
            return True
        hidden = await self._rows.read_newest(db, names, last, done.revision - start + 1)
        return any(one.kinds & COMPACTION for one in hidden)

    async def _advance_tail(
        self,
        db: AsyncConnection,
        sid: int,
        done: Appended,
        tail: int,
        summaries: Sequence[str],
        last: int,
        names: Mapping[str, Any],
    ) -> None:
        before = float("-inf")
        count = done.revision - max(tail - 1, 1) + 1
        behind = await self._rows.read_newest(db, names, last, count)
        if len(behind) < count:  # events were deleted from outside, so numbers do not tell
            await self._store_tail(db, sid, 1, [])
            return
        if tail > 1:
            before = behind.pop(0).timestamp
        first = len(summaries)
        records = [*await self._rows.read_some(db, names, summaries), *behind]
        found = find_tail(records, first, len(records) - len(done.records), before)
        if found is None:
            await self._store_tail(db, sid, 1, [])
        elif found.start > first:
            needed = [records[index].id for index in found.summaries]
            await self._store_tail(db, sid, tail + found.start - first, needed)

    async def _store_tail(
        self, db: AsyncConnection, sid: int, tail: int, summaries: Sequence[str]
    ) -> None:
        values = {"sid": sid, "tail": tail, "summaries": json.dumps(summaries)}
        await db.execute(self._sql["move"], values)
