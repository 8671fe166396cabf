"""Leases, inbox and journal of sessions in a SQL database: every statement about them, and the
part of DatabaseSessionService that speaks of them. Times are those of the database's clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _clock
from ._durable_store import Fence, InboxMessage, JournalRow, Lease, Place, Renewal
from ._sql_appends import SqlAppends
from ._sql_dialects import Dialect
from ._sql_rows import parameters, sought
from ._sql_statements import LEASES, compiled, fetch, fetch_one

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


class SqlLeases:
    """Statements about leases, inbox and journal in the words of one database.

    Args:
      dialect: the database.
      appends: what locks a session's row.
    """

    def __init__(self, dialect: Dialect, appends: SqlAppends) -> None:
        self._appends = appends
        self._sql = compiled(LEASES, dialect)

    async def journal(
        self, db: AsyncConnection, place: Place, invocation_id: str
    ) -> list[JournalRow]:
        """Read the rows of an invocation."""
        values = {**parameters(place), "invocation": invocation_id}
        return [
            JournalRow(invocation_id, *row) for row in await fetch(db, self._sql["journal"], values)
        ]

    async def lease(self, db: AsyncConnection, place: Place) -> Lease | None:
        """Read a session's lease."""
        row = await fetch_one(db, self._sql["lease"], _now(parameters(place)))
        return None if row is None else Lease(Place(*row[:3]), *row[3:])

    async def open_leases(
        self, db: AsyncConnection, app_name: str | None, stuck: bool, limit: int
    ) -> list[Lease]:
        """Read leases with an invocation that is open, oldest first."""
        which = f"{'stuck' if stuck else 'open'}{'' if app_name is None else ' of app'}"
        rows = await fetch(db, self._sql[which], _now({"app": sought(app_name), "limit": limit}))
        return [Lease(Place(*row[:3]), *row[3:]) for row in rows]

    async def renew(
        self, db: AsyncConnection, held: Sequence[tuple[Place, Fence]], seconds: float
    ) -> list[Renewal]:
        """Prolong leases."""
        found: dict[tuple[Place, Fence], tuple[int, bool]] = {}
        for owner in sorted({fence.owner for _, fence in held}):
            for row in await fetch(db, self._sql["held"], {"owner": owner}):
                found[Place(*row[:3]), Fence(owner, row[3])] = (row[4], bool(row[5]))
        values = [
            {"sid": found[each][0], "token": each[1].token, "owner": each[1].owner}
            for each in held
            if each in found
        ]
        if values:
            values.sort(key=lambda one: one["sid"])  # locks rows in one order everywhere
            await db.execute(
                self._sql["renew"], [_now({**one, "seconds": seconds}) for one in values]
            )
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
        await db.execute(self._sql["release"], values)
        if not keep_rows:
            await db.execute(self._sql["clear"], values)

    async def park(self, db: AsyncConnection, place: Place, fence: Fence, reason: str) -> None:
        """Give a lease back and mark its invocation as stuck."""
        row = await self._own(db, place, fence)
        if row is not None:
            await db.execute(self._sql["park"], {"sid": row[0], "reason": reason})

    async def hand_over(self, db: AsyncConnection, place: Place, fence: Fence) -> None:
        """End a lease whose invocation stays open."""
        row = await self._own(db, place, fence)
        if row is not None:
            await db.execute(self._sql["hand over"], {"sid": row[0]})

    async def _own(self, db: AsyncConnection, place: Place, fence: Fence) -> Any:
        values = {**parameters(place), "token": fence.token, "owner": fence.owner}
        return await fetch_one(db, self._sql["mine"], values)

    async def request_cancel(
        self, db: AsyncConnection, place: Place, invocation_id: str | None
    ) -> bool:
        """Note that an invocation is to be cancelled; return whether somebody holds it."""
        statement = self._sql["cancel any" if invocation_id is None else "cancel"]
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
        await db.execute(self._sql["put"], _now(values))

    async def messages(self, db: AsyncConnection, place: Place) -> list[InboxMessage]:
        """Read a session's inbox, first come first."""
        rows = await fetch(db, self._sql["messages"], _now(parameters(place)))
        return [InboxMessage(*row) for row in rows]

    async def take_messages(
        self,
        db: AsyncConnection,
        app_name: str,
        owner: str,
        process: str,
        seconds: float,
        limit: int,
    ) -> list[tuple[Place, str]]:
        """Give an owner the first messages of free sessions that nobody waits for."""
        rows = await fetch(db, self._sql["free"], _now({"app": app_name, "limit": limit}))
        values = {"owner": owner, "process": process, "seconds": seconds}
        if rows:
            await db.execute(self._sql["take"], [_now({**values, "pos": row[0]}) for row in rows])
        return [(Place(*row[2:]), row[1]) for row in rows]

    async def renew_messages(self, db: AsyncConnection, owner: str, seconds: float) -> None:
        """Prolong the time of an owner's messages."""
        await db.execute(self._sql["renew messages"], _now({"owner": owner, "seconds": seconds}))

    async def leave_message(
        self, db: AsyncConnection, place: Place, invocation_id: str, keep: bool
    ) -> None:
        """Note that a message's caller is gone, or take the message out."""
        values = {**parameters(place), "invocation": invocation_id}
        await db.execute(self._sql["keep" if keep else "drop"], values)

    async def waiting_places(
        self, db: AsyncConnection, app_name: str | None, limit: int
    ) -> list[Place]:
        """Read which sessions have messages, longest waiting first."""
        values = {"app": sought(app_name), "limit": limit}
        rows = await fetch(
            db, self._sql["waiting" if app_name is None else "waiting of app"], values
        )
        return [Place(*row) for row in rows]


def _now(values: dict[str, Any]) -> dict[str, Any]:
    """Add the machine's time, for databases that go by it."""
    return {**values, "now": _clock.now()}
