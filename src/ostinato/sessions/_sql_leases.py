"""Leases, inbox and journal of sessions in a SQL database: every statement about them, and the
part of DatabaseSessionService that speaks of them. Times are those of the database's clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _clock
from .._optional import need
from ._durable_store import Fence, InboxMessage, JournalRow, Lease, Place, Renewal
from ._sql_appends import SqlAppends
from ._sql_dialects import Dialect
from ._sql_rows import parameters

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_GIVEN_BACK = "owner = '', cancelled = 0, expires = 0"


class SqlLeases:
    """Statements about leases, inbox and journal in the words of one database.

    Args:
      dialect: the database.
      appends: what locks a session's row.
    """

    def __init__(self, dialect: Dialect, appends: SqlAppends) -> None:
        text = need("sqlalchemy", extra="sql").text
        self._appends = appends
        same, now = dialect.same, dialect.now
        place = " AND ".join(
            (same("app_name", "app"), same("user_id", "user"), same("session_id", "id"))
        )
        of_place = f"sid = (SELECT sid FROM ostinato_sessions WHERE {place})"
        names = "app_name, user_id, session_id"
        lease = (
            f"SELECT {names}, owner, process, token, expires - {now}, invocation_id, digest, "
            "attempts, stuck FROM ostinato_sessions"
        )
        self._lease = text(f"{lease} WHERE {place} AND token > 0")
        of_app = f"AND {same('app_name', 'app')}"
        self._open = {
            (stuck, app): text(
                f"{lease} WHERE begun IS NOT NULL AND stuck {'<>' if stuck else '='} '' "
                f"{of_app if app else ''} ORDER BY begun, sid LIMIT :limit"
            )
            for stuck in (False, True)
            for app in (False, True)
        }
        self._journal = text(
            "SELECT call_id, status, tool, result FROM ostinato_journal "
            f"WHERE {of_place} AND invocation_id = :invocation"
        )
        self._held = text(
            f"SELECT {names}, token, sid, cancelled FROM ostinato_sessions "
            f"WHERE begun IS NOT NULL AND owner = :owner"
        )
        self._renew = text(
            f"UPDATE ostinato_sessions SET expires = {now} + :seconds "
            "WHERE sid = :sid AND token = :token AND owner = :owner"
        )
        lock = "FOR UPDATE" if dialect.lock else ""
        self._mine = text(
            f"SELECT sid, invocation_id FROM ostinato_sessions WHERE {place} "
            f"AND token = :token AND owner = :owner {lock}"
        )
        self._clear = text(
            "DELETE FROM ostinato_journal WHERE sid = :sid AND invocation_id = :invocation"
        )
        self._release = text(
            f"UPDATE ostinato_sessions SET {_GIVEN_BACK}, invocation_id = '', begun = NULL "
            "WHERE sid = :sid"
        )
        self._park = text(
            f"UPDATE ostinato_sessions SET {_GIVEN_BACK}, stuck = :reason WHERE sid = :sid"
        )
        cancel = (
            "UPDATE ostinato_sessions SET cancelled = cancelled + 1 "
            f"WHERE {place} AND begun IS NOT NULL AND owner <> ''"
        )
        self._cancel_any = text(cancel)
        self._cancel = text(f"{cancel} AND invocation_id = :invocation")
        self._put = text(
            "INSERT INTO ostinato_inbox (sid, invocation_id, owner, process, payload, expires) "
            f"VALUES (:sid, :invocation, :owner, :process, :payload, {now} + :seconds) "
            + dialect.upsert("sid, invocation_id")
        )
        self._messages = text(
            f"SELECT invocation_id, owner, process, payload, expires - {now} FROM ostinato_inbox "
            f"WHERE {of_place} ORDER BY pos"
        )
        self._renew_messages = text(
            f"UPDATE ostinato_inbox SET expires = {now} + :seconds WHERE owner = :owner"
        )
        waits = f"WHERE {of_place} AND invocation_id = :invocation"
        self._keep = text(f"UPDATE ostinato_inbox SET owner = '', expires = 0 {waits}")
        self._drop = text(f"DELETE FROM ostinato_inbox {waits}")
        self._waiting = {
            app: text(
                f"SELECT {names} FROM ostinato_sessions JOIN "
                "(SELECT sid, min(pos) AS since FROM ostinato_inbox GROUP BY sid) waits "
                f"ON waits.sid = ostinato_sessions.sid WHERE 1 = 1 {of_app if app else ''} "
                "ORDER BY since LIMIT :limit"
            )
            for app in (False, True)
        }

    async def journal(
        self, db: AsyncConnection, place: Place, invocation_id: str
    ) -> list[JournalRow]:
        """Read the rows of an invocation."""
        values = {**parameters(place), "invocation": invocation_id}
        return [JournalRow(invocation_id, *row) for row in await db.execute(self._journal, values)]

    async def lease(self, db: AsyncConnection, place: Place) -> Lease | None:
        """Read a session's lease."""
        row = (await db.execute(self._lease, _now(parameters(place)))).one_or_none()
        return None if row is None else Lease(Place(*row[:3]), *row[3:])

    async def open_leases(
        self, db: AsyncConnection, app_name: str | None, stuck: bool, limit: int
    ) -> list[Lease]:
        """Read leases with an invocation that is open, oldest first."""
        rows = await db.execute(
            self._open[stuck, app_name is not None], _now({"app": app_name, "limit": limit})
        )
        return [Lease(Place(*row[:3]), *row[3:]) for row in rows]

    async def renew(
        self, db: AsyncConnection, held: Sequence[tuple[Place, Fence]], seconds: float
    ) -> list[Renewal]:
        """Prolong leases."""
        found: dict[tuple[Place, Fence], tuple[int, bool]] = {}
        for owner in sorted({fence.owner for _, fence in held}):
            for row in await db.execute(self._held, {"owner": owner}):
                found[Place(*row[:3]), Fence(owner, row[3])] = (row[4], bool(row[5]))
        values = [
            {"sid": found[each][0], "token": each[1].token, "owner": each[1].owner}
            for each in held
            if each in found
        ]
        if values:
            values.sort(key=lambda one: one["sid"])  # locks rows in one order everywhere
            await db.execute(self._renew, [_now({**one, "seconds": seconds}) for one in values])
        return [
            Renewal(
                place,
                fence.token,
                lost=(place, fence) not in found,
                cancelled=found.get((place, fence), (0, False))[1],
            )
            for place, fence in held
        ]

    async def release(
        self, db: AsyncConnection, place: Place, fence: Fence, keep_rows: bool
    ) -> None:
        """Give a lease back, and delete its invocation's rows."""
        row = await self._own(db, place, fence)
        if row is None:
            return
        values = {"sid": row[0], "invocation": row[1]}
        await db.execute(self._release, values)
        if not keep_rows:
            await db.execute(self._clear, values)

    async def park(self, db: AsyncConnection, place: Place, fence: Fence, reason: str) -> None:
        """Give a lease back and mark its invocation as stuck."""
        row = await self._own(db, place, fence)
        if row is not None:
            await db.execute(self._park, {"sid": row[0], "reason": reason})

    async def _own(self, db: AsyncConnection, place: Place, fence: Fence) -> Any:
        values = {**parameters(place), "token": fence.token, "owner": fence.owner}
        return (await db.execute(self._mine, values)).one_or_none()

    async def request_cancel(
        self, db: AsyncConnection, place: Place, invocation_id: str | None
    ) -> bool:
        """Note that an invocation is to be cancelled; return whether somebody holds it."""
        statement = self._cancel_any if invocation_id is None else self._cancel
        values = {**parameters(place), "invocation": invocation_id}
        return (await db.execute(statement, values)).rowcount > 0

    async def put_message(
        self, db: AsyncConnection, place: Place, message: InboxMessage, seconds: float
    ) -> None:
        """Store a message at the end of a session's inbox.

        Raises:
          SessionNotFoundError: no such session.
        """
        values = {
            "sid": await self._appends.lock(db, place),
            "invocation": message.invocation_id,
            "owner": message.owner,
            "process": message.process,
            "payload": message.payload,
            "seconds": seconds,
        }
        await db.execute(self._put, _now(values))

    async def messages(self, db: AsyncConnection, place: Place) -> list[InboxMessage]:
        """Read a session's inbox, first come first."""
        rows = await db.execute(self._messages, _now(parameters(place)))
        return [InboxMessage(*row) for row in rows]

    async def renew_messages(self, db: AsyncConnection, owner: str, seconds: float) -> None:
        """Prolong the time of an owner's messages."""
        await db.execute(self._renew_messages, _now({"owner": owner, "seconds": seconds}))

    async def leave_message(
        self, db: AsyncConnection, place: Place, invocation_id: str, keep: bool
    ) -> None:
        """Note that a message's caller is gone, or take the message out."""
        values = {**parameters(place), "invocation": invocation_id}
        await db.execute(self._keep if keep else self._drop, values)

    async def waiting_places(
        self, db: AsyncConnection, app_name: str | None, limit: int
    ) -> list[Place]:
        """Read which sessions have messages, longest waiting first."""
        values = {"app": app_name, "limit": limit}
        rows = await db.execute(self._waiting[app_name is not None], values)
        return [Place(*row) for row in rows]


def _now(values: dict[str, Any]) -> dict[str, Any]:
    """Add the machine's time, for databases that go by it."""
    return {**values, "now": _clock.now()}
