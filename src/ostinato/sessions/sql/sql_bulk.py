"""Statements of the SQL store about many sessions: listing, deleting, copying.

Called inside transactions of `sql_engines.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ... import _clock
from ...errors import AlreadyExistsError
from ..base_session_service import ListSessionsResponse, Session
from ..log.call_requests import open_requests_in
from ..log.event_log import EventRecord
from ..log.fork import answer_open_calls, closed_calls, fold_state, kept_records
from ..store.durable_store import CallChanges, Place
from ..store.listing_page import Page, token_of
from ..store.session_cache import Scope
from ..store.stored_rows import Changes, Key, StateRow, session_not_found
from ..store.stored_views import listed_view, scope_of
from .sql_appends import Batch, SqlAppends
from .sql_dialects import Dialect, micros, micros_of
from .sql_rows import SqlRows, changed_state, parameters, searchable_name, state_rows
from .sql_statements import MANY, compile_statements, fetch_all, fetch_one

if TYPE_CHECKING:
    from sqlalchemy import TextClause
    from sqlalchemy.ext.asyncio import AsyncConnection

_CHUNK = 100  # sessions deleted in one go, so that appends get their turn
_ALL = 2**31 - 1
_LATEST = 253_402_300_799_000_000  # the end of the year 9999, microseconds since 1970


class SqlBulk:
    """Statements about many sessions in the SQL of one database.

    Args:
      dialect: the database.
      rows: the statements about one session.
      appends: what appends to one.
    """

    def __init__(self, dialect: Dialect, rows: SqlRows, appends: SqlAppends) -> None:
        self._dialect = dialect
        self._rows = rows
        self._appends = appends
        self._sql = compile_statements(MANY, dialect)

    async def read_page(
        self, db: AsyncConnection, app: str | None, user: str | None, page: Page
    ) -> ListSessionsResponse:
        """Read a page of the sessions of an app and a user, of all for None; no hidden ones."""
        apps = [app] if app is not None else await self.read_apps(db)
        limit = _ALL if page.size is None else page.size + 1  # one more tells of a next page
        rows: list[Any] = []
        for each in apps:
            values = {**self.page_parameters(each, user, page), "limit": limit}
            rows += await fetch_all(db, self._sql["list" if user is None else "list user"], values)
        if app is None:
            # Within an app and a time the database's order holds, whatever its collation.
            rows.sort(key=lambda row: (micros(row[3]), row[0]), reverse=True)
        shown = _Shown()
        found = ListSessionsResponse(
            sessions=[shown.build_session(row) for row in rows[: page.size]]
        )
        if page.size is not None and len(rows) > page.size:
            last = rows[page.size - 1]
            found.next_page_token = token_of(float(micros(last[3])), last[:3])
        return found

    async def apps_with_state(self, db: AsyncConnection) -> list[str]:
        """Read the names of the apps that have sessions or shared state."""
        rows = await fetch_all(db, self._sql["apps with state"], {})
        return sorted({*await self.read_apps(db), *(row[0] for row in rows)})

    async def read_apps(self, db: AsyncConnection) -> list[str]:
        """Read the names of the apps that have sessions."""
        return [row[0] for row in await fetch_all(db, self._sql["apps"], {})]

    def page_parameters(self, app: str, user: str | None, page: Page) -> dict[str, Any]:
        """Return the parameters of a statement that reads sessions from a place in a listing on.

        Sessions of the same time come by app, the last in the alphabet first, then in the
        database's order of user and id.
        """
        micros_before = _LATEST if page.updated is None else round(page.updated)
        last_user = last_id = ""
        if page.names is not None and page.names[0] == app:
            _, last_user, last_id = page.names
        elif page.names is not None and page.names[0] > app:
            micros_before += 1  # those of the same time are still to come
        return {
            "app": searchable_name(app),
            "user": searchable_name(user),
            "time": self._dialect.stamp(micros_before),
            "last_user": searchable_name(last_user),
            "last_id": searchable_name(last_id),
        }

    async def read_sessions(
        self, db: AsyncConnection, statement: TextClause, sids: Sequence[int]
    ) -> ListSessionsResponse:
        """Read the sessions with these numbers, in this order.

        Args:
          statement: the one that reads rows as `listing` does.
        """
        rows = await fetch_all(db, statement, {"ids": sids}) if sids else []
        by_number = {row[7]: row for row in rows}
        shown = _Shown()
        return ListSessionsResponse(
            sessions=[shown.build_session(by_number[sid]) for sid in sids if sid in by_number]
        )

    async def delete_of_user(
        self, db: AsyncConnection, app: str, user: str
    ) -> tuple[list[Key], bool]:
        """Delete some sessions of a user, and with the last of them the state that they shared.

        Returns:
          Their names, and whether more may be left.
        """
        if self._dialect.name == "sqlite":  # their place in the file is overwritten
            await db.exec_driver_sql("PRAGMA secure_delete=ON")
        values = {"app": searchable_name(app), "user": searchable_name(user), "limit": _CHUNK}
        gone: list[Key] = [tuple(row) for row in await fetch_all(db, self._sql["of user"], values)]
        for key in gone:
            await self._rows.delete_session(db, key)
        if len(gone) == _CHUNK:
            return gone, True
        await db.execute(self._sql["delete user state"], values)
        return gone, False

    async def delete_before(self, db: AsyncConnection, app: str, timestamp: float) -> list[Key]:
        """Delete some sessions that were last changed before a time; return what they were.

        Those with a lease that lasts stay.
        """
        values = {
            "app": app,
            "time": self._dialect.stamp(micros_of(min(timestamp, _LATEST / 1e6))),
            "now": _clock.now(),
            "limit": _CHUNK,
        }
        gone: list[Key] = [tuple(row) for row in await fetch_all(db, self._sql["old"], values)]
        for key in gone:
            await self._rows.delete_session(db, key)
        return gone

    async def fork_session(
        self,
        db: AsyncConnection,
        key: Key,
        at_event: str | None,
        new: Key,
        close_requests: bool,
    ) -> None:
        """Copy a session with its events up to one; events and shared state are not touched.

        Args:
          close_requests: close requests that wait, but for questions.

        Raises:
          SessionNotFoundError, NotFoundError: no such session, or event.
          AlreadyExistsError: there is a session under the new key.
        """
        names = parameters(key)
        row = await fetch_one(db, self._sql["state"], names)
        if row is None:
            raise session_not_found(key)
        if await fetch_one(db, self._sql["state"], parameters(new)) is not None:
            raise AlreadyExistsError(f"Session with id {new[2]} already exists.")
        records = await self._rows.read_all(db, key)
        kept = kept_records(records, at_event, key[2])
        initial = await self._rows.read_initial_state(db, key)
        state = row[0] if at_event is None else json.dumps(fold_state(initial, kept))
        last = 0
        if kept:
            found = await fetch_one(db, self._sql["time"], {**names, "event": kept[-1].id})
            last = micros(found[0])
        await self._rows.insert_session(
            db, new, state, json.dumps(initial), _clock.now(), revision=len(kept), last=last
        )
        if kept:
            copied = {**names, "new": new[2], "last": self._dialect.stamp(last)}
            await db.execute(self._sql["copy"], copied)
        closing = answer_open_calls(kept, close_requests=close_requests)
        sealing = [(EventRecord.of(event), None) for event in closing]
        if sealing:
            await self._appends.append_batch(
                db, Batch(new, sealing), lambda _: None, lambda: (0, set()), repeated=False
            )
        await self._appends.requests.copy_requests(
            db, Place(*key), Place(*new), kept, closed_calls(closing)
        )

    async def read_keys(self, db: AsyncConnection) -> list[Key]:
        """Return the keys of all sessions, hidden ones too."""
        return [tuple(row) for row in await fetch_all(db, self._sql["keys"], {})]

    async def add_requests(self, db: AsyncConnection) -> None:
        """Store rows of the open requests of all sessions, for a database that had no such rows."""
        for row in await fetch_all(db, self._sql["with long-running calls"], {}):
            place = Place(*row)
            asked = open_requests_in(await self._rows.read_all(db, place))
            if asked:
                sid, _ = await self._appends.lock_session(db, place)
                changes = CallChanges(asked=asked)
                await self._appends.requests.apply_changes(db, sid, place, changes)

    async def take_over(
        self,
        db: AsyncConnection,
        key: Key,
        changes: Changes,
        initial: Changes,
        records: Sequence[EventRecord],
        updated: float,
    ) -> None:
        """Store a session of another database with its events and its state, unchanged.

        Raises:
          AlreadyExistsError: there is a session under this key.
        """
        state = changed_state(None, changes.own)
        await self._rows.insert_session(db, key, state, changed_state(None, initial.own), updated)
        requests = open_requests_in(records)
        batch = Batch(
            key,
            [(record, None) for record in records],
            changes=CallChanges(asked=requests) if requests else None,
        )
        await self._appends.append_batch(
            db, batch, lambda _: None, lambda: (0, set()), repeated=False
        )
        await self._rows.write_shared(db, key, changes, micros_of(updated))
        await self._rows.complete_shared(db, key, micros_of(updated))


@dataclass(slots=True)
class _Shown:
    """Sessions of a page; state that several share is read once."""

    scopes: dict[tuple[str, str], Scope] = field(default_factory=dict[tuple[str, str], Scope])

    def build_session(self, row: Any) -> Session:
        """Return the session of a row, without its events."""
        app, user, name, time, own, noted, updated, _, revision, of_user, of_app = row
        changed = micros(time) != noted  # by google-adk
        return listed_view(
            (app, user, name),
            revision,
            micros(time) / 1e6 if changed else updated,
            scope_of(state_rows(own)),
            self._shared_scope((app, user), of_user),
            self._shared_scope((app, ""), of_app),
        )

    def _shared_scope(self, place: tuple[str, str], text: str | None) -> Scope:
        scope = self.scopes.get(place)
        if scope is None:
            rows: list[StateRow] = state_rows(text)
            self.scopes[place] = scope = scope_of(rows)
        return scope
