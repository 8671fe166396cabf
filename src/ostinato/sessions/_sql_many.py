"""Statements of the SQL store about many sessions: listing, deleting, copying.

Called inside transactions of `_sql_engines.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _clock
from ..errors import AlreadyExistsError
from ._fork import answers, folded, kept_records
from ._page import Page, token_of
from ._session_cache import Scope
from ._sql_appends import Batch, SqlAppends
from ._sql_dialects import Dialect, micros, micros_of
from ._sql_rows import SqlRows, changed_state, parameters, state_rows
from ._sql_statements import MANY, compiled, fetch, fetch_one
from ._stored_rows import Changes, Key, StateRow, session_not_found
from ._stored_views import listed_view, scope_of
from .base_session_service import ListSessionsResponse, Session
from .event_log import EventRecord

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_CHUNK = 100  # sessions deleted in one go, so that appends get their turn
_ALL = 2**31 - 1
_LATEST = 253_402_300_799_000_000  # the end of the year 9999, microseconds since 1970


class SqlMany:
    """Statements about many sessions in the words of one database.

    Args:
      dialect: the database.
      rows: the statements about one session.
      appends: what appends to one.
    """

    def __init__(self, dialect: Dialect, rows: SqlRows, appends: SqlAppends) -> None:
        self._dialect = dialect
        self._rows = rows
        self._appends = appends
        self._sql = compiled(MANY, dialect)

    async def listing(
        self, db: AsyncConnection, app: str | None, user: str | None, page: Page
    ) -> ListSessionsResponse:
        """Read a page of the sessions of an app and a user, of all for None; no hidden ones."""
        before = _LATEST if page.updated is None else round(page.updated)
        values = {
            "app": app,
            "user": user,
            "time": self._dialect.stamp(before),
            "number": page.number,
            "limit": _ALL if page.size is None else page.size + 1,  # one more tells of a next page
        }
        which = "".join(("list", "" if app is None else " app", "" if user is None else " user"))
        rows = await fetch(db, self._sql[which], values)
        shown = _Shown()
        found = ListSessionsResponse(sessions=[shown.view(row) for row in rows[: page.size]])
        if page.size is not None and len(rows) > page.size:
            last = rows[page.size - 1]
            found.next_page_token = token_of(float(micros(last[3])), last[7])
        return found

    async def delete_user(self, db: AsyncConnection, app: str, user: str) -> list[Key]:
        """Delete a user's sessions and shared state; return what the sessions were."""
        values = {"app": app, "user": user}
        gone = [tuple(row) for row in await fetch(db, self._sql["of user"], values)]
        await db.execute(self._sql["delete of user"], values)
        await db.execute(self._sql["delete user state"], values)
        return gone

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
        gone: list[Key] = [tuple(row) for row in await fetch(db, self._sql["old"], values)]
        for key in gone:
            await self._rows.delete(db, key)
        return gone

    async def fork(self, db: AsyncConnection, key: Key, at_event: str | None, new: Key) -> None:
        """Copy a session with its events up to one; events and shared state are not touched.

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
        records = await self._rows.everything(db, key)
        kept = kept_records(records, at_event, key[2])
        initial = await self._rows.initial(db, key)
        state = row[0] if at_event is None else json.dumps(folded(initial, kept))
        last = 0
        if kept:
            found = await fetch_one(db, self._sql["time"], {**names, "event": kept[-1].id})
            last = micros(found[0])
        await self._rows.insert(
            db, new, state, json.dumps(initial), _clock.now(), revision=len(kept), last=last
        )
        if kept:
            copied = {**names, "new": new[2], "last": self._dialect.stamp(last)}
            await db.execute(self._sql["copy"], copied)
        sealing = [(EventRecord.of(event), None) for event in answers(kept)]
        if sealing:
            await self._appends.append(
                db, Batch(new, sealing), lambda _: None, lambda: (0, set()), repeated=False
            )

    async def keys(self, db: AsyncConnection) -> list[Key]:
        """Return the keys of all sessions, hidden ones too."""
        return [tuple(row) for row in await fetch(db, self._sql["keys"], {})]

    async def take_over(
        self,
        db: AsyncConnection,
        key: Key,
        changes: Changes,
        initial: Changes,
        records: Sequence[EventRecord],
        updated: float,
    ) -> None:
        """Store a session of another database with its events and its state as they are.

        Raises:
          AlreadyExistsError: there is a session under this key.
        """
        state = changed_state(None, changes.own)
        await self._rows.insert(db, key, state, changed_state(None, initial.own), updated)
        batch = Batch(key, [(record, None) for record in records])
        await self._appends.append(db, batch, lambda _: None, lambda: (0, set()), repeated=False)
        await self._rows.write_shared(db, key, changes, micros_of(updated))
        await self._rows.complete_shared(db, key, micros_of(updated))


@dataclass(slots=True)
class _Shown:
    """Sessions of a page; state that several share is read once."""

    scopes: dict[tuple[str, str], Scope] = field(default_factory=dict[tuple[str, str], Scope])

    def view(self, row: Any) -> Session:
        """Return the session of a row, without its events."""
        app, user, name, time, own, noted, updated, _, revision, of_user, of_app = row
        changed = micros(time) != noted  # by google-adk
        return listed_view(
            (app, user, name),
            revision,
            micros(time) / 1e6 if changed else updated,
            scope_of(state_rows(own)),
            self._scope((app, user), of_user),
            self._scope((app, ""), of_app),
        )

    def _scope(self, place: tuple[str, str], text: str | None) -> Scope:
        scope = self.scopes.get(place)
        if scope is None:
            rows: list[StateRow] = state_rows(text)
            self.scopes[place] = scope = scope_of(rows)
        return scope
