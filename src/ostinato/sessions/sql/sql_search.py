"""The full-text index of the SQL store: a table of Ostinato with the database's own index.

Appends only mark a session; searches and `index_sessions` index marked ones, some at a time.
Called inside transactions of `sql_engines.py`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import _clock
from ...errors import SessionNotFoundError
from ..base_session_service import HIDDEN_PREFIX, ListSessionsResponse
from ..store.durable_store import Place
from ..store.listing_page import Page, token_of
from ..store.search_words import (
    COUNTED,
    PART,
    STEP_EVENTS,
    STEP_SESSIONS,
    boolean_query,
    document_text,
    fts5_query,
    postgres_query,
    query_tokens,
    stretch_of,
)
from ..store.session_search import TITLE_KEY, Unindexed, title_of
from ..store.stored_rows import Key
from .sql_appends import SqlAppends
from .sql_bulk import SqlBulk
from .sql_dialects import Dialect, micros, micros_of
from .sql_rows import parameters
from .sql_statements import SEARCH, compile_statements, fetch_all, fetch_one

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_WALK = 100  # sessions in which words are looked for one by one before the index is asked
_LONG_WALK = 1000  # and after it, until a page is full, where it holds too many
_MOST = 2000  # documents of the index that are sorted for one page; one takes about 4
_MERGED_PAGES = 200  # of SQLite's index, in one transaction
_LOOKED_THROUGH = 500  # sessions of an app, by one step of indexing
_SEEN_AGAIN = 50  # of them may be looked through at each search, which spares it a write
_ADOPTED = 50  # sessions that google-adk changed, by one step
_LATE_SECONDS = 60.0  # how much later than its time a change may be committed
_QUERIES = {"sqlite": fts5_query, "postgresql": postgres_query, "mysql": boolean_query}


class Foreign(NamedTuple):
    """Sessions that google-adk may have changed since this store looked last.

    Attributes:
      keys: those that it has changed.
      seen: up to which time each app was looked through, by the name under which that is noted.
      more: whether there may be others.
    """

    keys: list[Key]
    seen: dict[str, int]
    more: bool


class Pending(NamedTuple):
    """What is to be indexed next."""

    foreign: Foreign
    unindexed: list[Unindexed]

    @property
    def has_work(self) -> bool:
        """Whether there is something to write."""
        return bool(self.foreign.keys or self.foreign.seen or self.unindexed)


class _Walked(NamedTuple):
    """What a walk through the newest sessions met.

    Attributes:
      rows: the sessions that hold the words.
      last: the last one looked into.
      ended: whether it was the last of all.
    """

    rows: list[Any]
    last: Any
    ended: bool


class SqlSearch:
    """Statements of the search in the SQL of one database.

    Args:
      dialect: the database.
      many: the statements about many sessions.
      appends: what numbers events of google-adk.
    """

    def __init__(self, dialect: Dialect, many: SqlBulk, appends: SqlAppends) -> None:
        self._dialect = dialect
        self._many = many
        self._appends = appends
        self._sql = compile_statements(SEARCH, dialect)
        self._query = _QUERIES[dialect.name]

    async def read_pending(self, db: AsyncConnection) -> Pending:
        """Read what is to be indexed next."""
        return Pending(await self._read_foreign(db), await self._read_unindexed(db))

    async def write_pending(self, db: AsyncConnection, pending: Pending) -> int:
        """Index what was read; return how many sessions remain, counted up to a bound."""
        await self._adopt_changed(db, pending.foreign)
        await self._write_documents(db, pending.unindexed)
        (left,) = await fetch_one(db, self._sql["count unindexed"], {"limit": COUNTED})
        return max(left, int(pending.foreign.more))

    async def _read_foreign(self, db: AsyncConnection) -> Foreign:
        """Look through the sessions that were changed lately for those that google-adk changed.

        Its appends mark nothing, but leave another time than the one that was noted.
        """
        noted: dict[str, str] = {
            row[0]: row[1] for row in await fetch_all(db, self._sql["seen"], {})
        }
        found = Foreign([], {}, False)
        for app in await self._many.read_apps(db):
            name = f"search_seen:{hashlib.blake2b(app.encode(), digest_size=16).hexdigest()}"
            since = int(noted.get(name, 0))
            values = {"app": app, "time": self._dialect.stamp(since), "limit": _LOOKED_THROUGH}
            rows = await fetch_all(db, self._sql["changed"], values)
            more, last = len(rows) == _LOOKED_THROUGH, since
            for user, session, time, sid, update in rows:
                last = micros(time)
                if sid is None or last != update:
                    found.keys.append((app, user, session))
                if len(found.keys) >= _ADOPTED:
                    more = True
                    break
            if more:  # others may have the same time
                last -= 1
            until = min(last, micros_of(_clock.now() - _LATE_SECONDS))
            if until > since and (more or len(rows) > _SEEN_AGAIN):
                found.seen[name] = until
            found = found._replace(more=found.more or (more and until > since))
        return found

    async def _adopt_changed(self, db: AsyncConnection, found: Foreign) -> None:
        """Number the events of sessions that google-adk changed, and mark them to be indexed."""
        for key in found.keys:
            try:
                sid, _ = await self._appends.lock_session(db, Place(*key))
            except SessionNotFoundError:
                continue
            await db.execute(self._sql["forget"], {"sid": sid})
        for name, until in found.seen.items():
            await db.execute(self._sql["note seen"], {"name": name, "value": str(until)})

    async def _read_unindexed(self, db: AsyncConnection) -> list[Unindexed]:
        """Read some sessions that are to be indexed, the newest first."""
        found: list[Unindexed] = []
        count = 0
        rows = await fetch_all(db, self._sql["unindexed"], {"limit": STEP_SESSIONS})
        for sid, app, user, name, revision, last, newest_part, *_, state in rows:
            if count >= STEP_EVENTS:
                break
            key = (app, user, name)
            parts, ends = stretch_of(revision, newest_part)
            if name.startswith(HIDDEN_PREFIX):
                parts, ends = [], True
            documents: list[tuple[int, str]] = []
            for part in parts:
                events = await self._read_events(db, key, part, revision, last)
                count += len(events)
                titles = _session_titles(name, state) if part == 0 else []
                documents.append((part, document_text(app, user, titles, events)))
            found.append(Unindexed(sid, revision, documents, ends))
        return found

    async def _read_events(
        self, db: AsyncConnection, key: Key, part: int, revision: int, last: int
    ) -> list[str]:
        """Read the events of a stretch, from the end of the log that is nearer."""
        before, behind = part * PART, revision - part * PART
        values: dict[str, Any] = {**parameters(key), "count": min(PART, behind)}
        if before and behind <= 2 * PART:
            values |= {"last": self._dialect.stamp(last), "count": behind}
            rows = await fetch_all(db, self._sql["latest"], values)
            rows = rows[::-1][:PART]
        else:
            rows = await fetch_all(db, self._sql["oldest"], {**values, "before": before})
        return [row[0] for row in rows]

    async def _write_documents(self, db: AsyncConnection, found: list[Unindexed]) -> None:
        """Index sessions that have not changed since they were read."""
        for one in found:
            values = {"sid": one.sid, "revision": one.revision}
            if await fetch_one(db, self._sql["same"], values) is None:
                continue
            written = [{"sid": one.sid, "part": n, "words": text} for n, text in one.documents]
            if written:
                await db.execute(self._sql["write"], written)
            if one.ends:
                await db.execute(self._sql["indexed"], values)

    async def merge_words(self, db: AsyncConnection) -> bool:
        """Drop some of the words of deleted documents from SQLite's index, which only marks them.

        Returns:
          Whether more may be left.
        """
        if self._dialect.name != "sqlite":
            return False
        before: int = (await fetch_one(db, self._sql["changes"], {}))[0]
        await db.execute(self._sql["merge"], {"pages": -_MERGED_PAGES})
        return (await fetch_one(db, self._sql["changes"], {}))[0] - before > 1

    async def search_sessions(
        self, db: AsyncConnection, app: str, user: str | None, text: str, page: Page
    ) -> ListSessionsResponse:
        """Read a page of sessions that hold the words of a text.

        Words that many sessions hold are found by looking into the newest sessions, others by the
        index, so that neither reads more than a bounded number of rows.
        """
        tokens = query_tokens(app, user, text)
        if not tokens:
            return ListSessionsResponse()
        assert page.size is not None
        query = self._query(tokens)
        walked = await self._walk_sessions(db, app, user, page, query, _WALK)
        if not walked.ended and len(walked.rows) <= page.size:
            if self._dialect.name == "postgresql":
                # It takes a scan for cheap, as it does not count what reading the words costs.
                await db.exec_driver_sql("SET LOCAL enable_seqscan = off")
            asked = {"query": query, "limit": _MOST + 1}
            if (await fetch_one(db, self._sql["count"], asked))[0] <= _MOST:
                asked = (
                    self._many.page_parameters(app, user, page) | asked | {"limit": page.size + 1}
                )
                rows = await fetch_all(db, self._sql["found"], asked)
                walked = _Walked(rows, None, True)
            else:
                walked = await self._walk_on(db, app, user, page, query, walked)
        shown = walked.rows[: page.size]
        found = await self._many.read_sessions(db, self._sql["listed"], [row[4] for row in shown])
        if len(walked.rows) > page.size:
            found.next_page_token = _page_token(shown[-1])
        elif not walked.ended:
            found.next_page_token = _page_token(walked.last)
        return found

    async def _walk_on(
        self,
        db: AsyncConnection,
        app: str,
        user: str | None,
        page: Page,
        query: str,
        walked: _Walked,
    ) -> _Walked:
        """Look into further sessions, in steps that grow, until a page is full."""
        left, most = _LONG_WALK, _WALK
        while left > 0 and not walked.ended and len(walked.rows) <= (page.size or 0):
            most = min(2 * most, left)
            left -= most
            behind = Page(page.size, *_place_of(walked.last))
            more = await self._walk_sessions(db, app, user, behind, query, most)
            # After an empty step, `last` is None: then it has ended.
            walked = more._replace(rows=[*walked.rows, *more.rows])
        return walked

    async def _walk_sessions(
        self, db: AsyncConnection, app: str, user: str | None, page: Page, query: str, most: int
    ) -> _Walked:
        """Look into sessions one by one, newest first."""
        which = "walk" if user is None else "walk user"
        values = {**self._many.page_parameters(app, user, page), "query": query, "limit": most}
        rows = await fetch_all(db, self._sql[which], values)
        hits = [row for row in rows if row[5]]
        return _Walked(hits, rows[-1] if rows else None, len(rows) < most)


def _session_titles(name: str, state: str | None) -> list[str]:
    try:
        fields: Any = json.loads(state or "{}")
        title = title_of(fields.get(TITLE_KEY))
    except (ValueError, AttributeError):  # loading the session raises the error
        title = None
    return [name] if title is None else [name, title]


def _place_of(row: Any) -> tuple[float, int, tuple[str, str, str]]:
    return float(micros(row[3])), 0, (row[0], row[1], row[2])


def _page_token(row: Any) -> str:
    updated, _, names = _place_of(row)
    return token_of(updated, names)
