"""The rows of calls that wait for an answer, in a SQL database: every statement about them.

Called inside transactions that hold the lock of the session's row where they write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any

from ... import _clock
from ..log.call_requests import is_answered_in
from ..log.confirmation_answers import may_add_row, may_claim
from ..log.event_log import EventRecord
from ..store.durable_store import (
    CallAnswer,
    CallChanges,
    CallRequest,
    OpenRequest,
    OpenRequests,
    Place,
)
from .sql_dialects import Dialect
from .sql_rows import parameters
from .sql_statements import REQUESTS, compile_statements, fetch_all, fetch_one

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_OPEN = {"answered": None, "answer": None, "message": None}
_LAST = 2**62


class SqlRequests:
    """Statements about calls that wait, in the SQL of one database.

    Args:
      dialect: the database.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._sql = compile_statements(REQUESTS, dialect)

    async def apply_changes(
        self,
        db: AsyncConnection,
        sid: int,
        place: Place,
        changes: CallChanges,
        revision: int | None = None,
    ) -> None:
        """Write what an append changes; see `claim_answers`."""
        await self.claim_answers(db, sid, place, changes.answers, revision)
        for request in changes.asked:
            await self._store_request(db, sid, place, request, _OPEN)
        for call_id in changes.withdrawn:
            await db.execute(self._sql["delete"], {"sid": sid, "call": call_id})
        for call_id in changes.reopened:
            await db.execute(self._sql["answer"], {"sid": sid, "call": call_id, **_OPEN})
        for call_id in changes.lost:
            await self._delete_lost(db, {"sid": sid, "call": call_id}, place)

    async def _delete_lost(self, db: AsyncConnection, which: dict[str, Any], place: Place) -> None:
        """Delete the row of a call if its event is not stored."""
        row = await fetch_one(db, self._sql["find"], which)
        if row is not None:
            names = {**parameters(place), "event": row[0]}
            if await fetch_one(db, self._sql["event"], names) is None:
                await db.execute(self._sql["delete"], which)

    async def claim_answers(
        self,
        db: AsyncConnection,
        sid: int,
        place: Place,
        answers: Iterable[CallAnswer],
        revision: int | None,
    ) -> None:
        """Note answers at the calls that they answer.

        Args:
          revision: the session's before the answers; see `may_add_row`.

        Raises:
          CallAlreadyAnsweredError: another message has answered one of them.
          StaleSessionError: see `may_add_row`.
        """
        for answer in answers:
            which = {"sid": sid, "call": answer.call_id}
            row = await fetch_one(db, self._sql["find"], which)
            given = {
                "answered": _clock.now(),
                "answer": answer.answer,
                "message": answer.message_id,
            }
            if row is None:
                if answer.request is not None and may_add_row(answer, revision):
                    await self._store_request(db, sid, place, answer.request, given)
            elif may_claim(answer, *row[1:]):
                await db.execute(self._sql["answer"], {**which, **given})

    async def release_answers(self, db: AsyncConnection, place: Place, message_id: str) -> None:
        """Open the calls again that a message had answered."""
        values = {**parameters(place), "message": message_id}
        await db.execute(self._sql["release"], values)

    async def copy_requests(
        self,
        db: AsyncConnection,
        place: Place,
        twin: Place,
        kept: Sequence[EventRecord],
        closed: Set[str | None],
    ) -> None:
        """Give a fork the requests of the events that it took over, without the closed ones."""
        rows = await fetch_all(db, self._sql["of session"], parameters(place))
        by_id = {record.id: record for record in kept}
        for row in rows:
            request = CallRequest(*row[:8])
            record = by_id.get(request.event_id)
            if record is None or request.call_id in closed:
                continue
            given = _OPEN
            if is_answered_in(kept, record, request.call_id):
                given = {"answered": row[8], "answer": row[9], "message": row[10]}
            sid = await fetch_one(db, self._sql["number"], parameters(twin))
            await self._store_request(db, sid[0], twin, request, given)

    async def open_requests(
        self,
        db: AsyncConnection,
        app_name: str,
        user_id: str | None,
        limit: int,
        after: int | None,
    ) -> OpenRequests:
        """Read a page of the requests without an answer, newest first."""
        values = {
            "app": app_name,
            "user": user_id,
            "after": _LAST if after is None else after,
            "limit": limit + 1,
        }
        rows = await fetch_all(db, self._sql["open" if user_id is None else "open of user"], values)
        found = [OpenRequest(Place(*row[1:4]), CallRequest(*row[4:])) for row in rows[:limit]]
        return OpenRequests(found, rows[limit - 1][0] if len(rows) > limit else None)

    async def _store_request(
        self,
        db: AsyncConnection,
        sid: int,
        place: Place,
        request: CallRequest,
        given: dict[str, Any],
    ) -> None:
        """Store a request, unless it has a row of the same event."""
        row = await fetch_one(db, self._sql["find"], {"sid": sid, "call": request.call_id})
        if row is not None and row[0] == request.event_id:
            return
        values = {
            "sid": sid,
            "app": place.app_name,
            "user": place.user_id,
            "call": request.call_id,
            "kind": request.kind,
            "name": request.name,
            "invocation": request.invocation_id,
            "event": request.event_id,
            "author": request.author,
            "asked": request.asked,
            "question": request.question,
            **given,
        }
        await db.execute(self._sql["insert" if row is None else "replace"], values)
