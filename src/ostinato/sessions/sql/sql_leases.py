"""The rows of leases, inbox and journal in a SQL database; times are of the database's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _clock
from ..store.durable_store import CallAnswer, Fence, InboxMessage, JournalRow, Lease, Place, Renewal
from ..store.keyed_requests import check_repeated, digests_of_payload, is_keyed
from .sql_appends import SqlAppends
from .sql_dialects import Dialect
from .sql_rows import parameters, searchable_name
from .sql_statements import LEASES, compile_statements, fetch_all, fetch_one

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


class SqlLeases:
    """Statements about leases, inbox and journal in the SQL of one database.

    Args:
      dialect: the database.
      appends: what locks a session's row.
    """

    def __init__(self, dialect: Dialect, appends: SqlAppends) -> None:
        self._appends = appends
        self._sql = compile_statements(LEASES, dialect)

    async def read_journal(
        self, db: AsyncConnection, place: Place, invocation_id: str
    ) -> list[JournalRow]:
        """Read the rows of an invocation."""
        values = {**parameters(place), "invocation": invocation_id}
        return [
            JournalRow(invocation_id, *row)
            for row in await fetch_all(db, self._sql["journal"], values)
        ]

    async def read_lease(self, db: AsyncConnection, place: Place) -> Lease | None:
        """Read a session's lease."""
        row = await fetch_one(db, self._sql["lease"], _with_time(parameters(place)))
        return None if row is None else Lease(Place(*row[:3]), *row[3:])

    async def open_leases(
        self, db: AsyncConnection, app_name: str | None, stuck: bool, limit: int
    ) -> list[Lease]:
        """Read leases with an invocation that is open, oldest first."""
        which = f"{'stuck' if stuck else 'open'}{'' if app_name is None else ' of app'}"
        rows = await fetch_all(
            db, self._sql[which], _with_time({"app": searchable_name(app_name), "limit": limit})
        )
        return [Lease(Place(*row[:3]), *row[3:]) for row in rows]

    async def renew_leases(
        self, db: AsyncConnection, held: Sequence[tuple[Place, Fence]], seconds: float
    ) -> list[Renewal]:
        """Prolong leases."""
        found: dict[tuple[Place, Fence], tuple[int, bool]] = {}
        for owner in sorted({fence.owner for _, fence in held}):
            for row in await fetch_all(db, self._sql["held"], {"owner": owner}):
                found[Place(*row[:3]), Fence(owner, row[3])] = (row[4], bool(row[5]))
        values = [
            {"sid": found[each][0], "token": each[1].token, "owner": each[1].owner}
            for each in held
            if each in found
        ]
        if values:
            values.sort(key=lambda one: one["sid"])  # locks rows in one order everywhere
            await db.execute(
                self._sql["renew"], [_with_time({**one, "seconds": seconds}) for one in values]
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

    async def release_lease(
        self, db: AsyncConnection, place: Place, fence: Fence, keep_rows: bool
    ) -> None:
        """Release a lease, and delete its invocation's rows."""
        row = await self._find_held(db, place, fence)
        if row is None:
            return
        values = {"sid": row[0], "invocation": row[1]}
        await db.execute(self._sql["release"], values)
        if not keep_rows:
            await db.execute(self._sql["clear"], values)

    async def park_lease(
        self, db: AsyncConnection, place: Place, fence: Fence, reason: str
    ) -> None:
        """Release a lease and mark its invocation as stuck."""
        row = await self._find_held(db, place, fence)
        if row is not None:
            await db.execute(self._sql["park"], {"sid": row[0], "reason": reason})

    async def hand_over(
        self, db: AsyncConnection, place: Place, fence: Fence, failed: bool
    ) -> None:
        """End a lease whose invocation stays open."""
        row = await self._find_held(db, place, fence)
        if row is not None:
            values = {"sid": row[0], "back": 0 if failed else 1}
            await db.execute(self._sql["hand over"], values)

    async def _find_held(self, db: AsyncConnection, place: Place, fence: Fence) -> Any:
        values = {**parameters(place), "token": fence.token, "owner": fence.owner}
        return await fetch_one(db, self._sql["mine"], values)

    async def request_cancel(
        self, db: AsyncConnection, place: Place, invocation_id: str | None
    ) -> bool:
        """Request that an invocation be cancelled; return whether an owner holds it."""
        statement = self._sql["cancel any" if invocation_id is None else "cancel"]
        values = {**parameters(place), "invocation": invocation_id}
        return (await db.execute(statement, values)).rowcount > 0

    async def put_message(
        self,
        db: AsyncConnection,
        place: Place,
        message: InboxMessage,
        seconds: float,
        answers: Sequence[CallAnswer] = (),
    ) -> bool:
        """Store a message at the end of a session's inbox, and claim the calls that it answers.

        Returns:
          Whether it was stored; False if it waits, or the invocation of its key has begun.

        Raises:
          SessionNotFoundError: no such session.
          IdempotencyKeyReusedError: its key was used for another request.
          CallAlreadyAnsweredError: another message has answered one of the calls.
        """
        sid, revision = await self._appends.lock_session(db, place)
        if is_keyed(message.invocation_id):
            stored = await self._appends.find_digests(db, sid, place, message.invocation_id)
            if stored is not None:
                given = digests_of_payload(message.invocation_id, message.payload)
                check_repeated(stored, given)
                return False
        await self._appends.requests.claim_answers(db, sid, place, answers, revision)
        values = {
            "sid": sid,
            "invocation": message.invocation_id,
            "owner": message.owner,
            "process": message.process,
            "payload": message.payload,
            "seconds": seconds,
        }
        return (await db.execute(self._sql["put"], _with_time(values))).rowcount > 0

    async def claim_calls(
        self, db: AsyncConnection, place: Place, answers: Sequence[CallAnswer]
    ) -> int:
        """Lock a session's row and claim calls; return the number of the session.

        Raises:
          SessionNotFoundError: no such session.
          CallAlreadyAnsweredError: another message has answered one of the calls.
        """
        sid, revision = await self._appends.lock_session(db, place)
        await self._appends.requests.claim_answers(db, sid, place, answers, revision)
        return sid

    async def read_messages(self, db: AsyncConnection, place: Place) -> list[InboxMessage]:
        """Read a session's inbox, first come first."""
        rows = await fetch_all(db, self._sql["messages"], _with_time(parameters(place)))
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
        """Claim for an owner the first messages of free sessions that no caller waits for."""
        values = _with_time({"app": searchable_name(app_name), "limit": limit})
        rows = await fetch_all(db, self._sql["free"], values)
        taken = {"owner": owner, "process": process, "seconds": seconds}
        if rows:
            await db.execute(
                self._sql["take"], [_with_time({**taken, "pos": row[0]}) for row in rows]
            )
        return [(Place(*row[2:]), row[1]) for row in rows]

    async def renew_messages(self, db: AsyncConnection, owner: str, seconds: float) -> None:
        """Prolong the time of an owner's messages."""
        await db.execute(
            self._sql["renew messages"], _with_time({"owner": owner, "seconds": seconds})
        )

    async def leave_message(
        self,
        db: AsyncConnection,
        place: Place,
        invocation_id: str,
        keep: bool,
        owner: str | None = None,
    ) -> None:
        """Note that a message's caller is gone, or take the message out."""
        values = {**parameters(place), "invocation": invocation_id}
        statement = "keep" if keep else "drop"
        if owner is not None:
            statement, values = f"{statement} own", {**values, "owner": owner}
        done = await db.execute(self._sql[statement], values)
        if not keep and done.rowcount > 0:
            await self._appends.requests.release_answers(db, place, invocation_id)

    async def waiting_places(
        self, db: AsyncConnection, app_name: str | None, limit: int
    ) -> list[Place]:
        """Read which sessions have messages, longest waiting first."""
        values = {"app": searchable_name(app_name), "limit": limit}
        rows = await fetch_all(
            db, self._sql["waiting" if app_name is None else "waiting of app"], values
        )
        return [Place(*row) for row in rows]


def _with_time(values: dict[str, Any]) -> dict[str, Any]:
    """Add the machine's time, for databases that go by it."""
    return {**values, "now": _clock.now()}
