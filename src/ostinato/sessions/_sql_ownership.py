"""The part of DatabaseSessionService that is about owners: leases, inbox and journal.

Statements are in `_sql_leases.py`; base class of `database_session_service.py`.
"""

from __future__ import annotations

import abc
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ._durable_store import Fence, InboxMessage, JournalRow, Lease, Place, Renewal
from ._sql_engines import Single, Turns, Work
from ._sql_leases import SqlLeases
from ._sql_postgres import PostgresAppends
from ._stored_rows import Key
from .base_session_service import BaseSessionService

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_A = TypeVar("_A")


class SqlOwnership(BaseSessionService):
    """Leases, inbox and journal in a SQL database; times are those of its clock."""

    _leases: SqlLeases
    _postgres: PostgresAppends

    @abc.abstractmethod
    async def _read(self, work: Work[_A]) -> _A: ...

    @abc.abstractmethod
    async def _write(
        self,
        work: Work[_A],
        show: Callable[[_A], None] | None = None,
        turns: Turns | None = None,
        single: Callable[[], Single[_A] | None] | None = None,
    ) -> _A: ...

    @abc.abstractmethod
    def _turns_of(self, key: Key) -> Turns: ...

    @abc.abstractmethod
    def _post(
        self, work: Work[None], turns: Turns, single: Callable[[], Single[None] | None]
    ) -> None: ...

    async def journal(self, place: Place, invocation_id: str) -> list[JournalRow]:
        """Return the rows of an invocation; see `DurableStore`."""
        return await self._read(lambda db: self._leases.journal(db, place, invocation_id))

    async def lease(self, place: Place) -> Lease | None:
        """Return a session's lease; see `DurableStore`."""
        return await self._read(lambda db: self._leases.lease(db, place))

    async def renew(self, held: Sequence[tuple[Place, Fence]], seconds: float) -> Sequence[Renewal]:
        """Prolong leases; see `DurableStore`."""
        return await self._write(lambda db: self._leases.renew(db, held, seconds))

    async def release(
        self, place: Place, fence: Fence, *, keep_rows: bool = False, wait: bool = True
    ) -> None:
        """Give a lease back; see `DurableStore`."""

        def work(db: AsyncConnection) -> Awaitable[None]:
            return self._leases.release(db, place, fence, keep_rows)

        def single() -> Single[None]:
            return self._postgres.release(place, fence, keep_rows)

        if wait:
            await self._write(work, single=single)
        else:
            turns = self._turns_of(place)  # before the next claim, or its rows would stay
            self._post(work, turns, single)

    async def park(self, place: Place, fence: Fence, reason: str) -> None:
        """Give a lease back and mark its invocation as stuck; see `DurableStore`."""
        await self._write(lambda db: self._leases.park(db, place, fence, reason))

    async def hand_over(self, place: Place, fence: Fence) -> None:
        """End a lease whose invocation stays open; see `DurableStore`."""
        await self._write(lambda db: self._leases.hand_over(db, place, fence))

    async def request_cancel(self, place: Place, invocation_id: str | None = None) -> bool:
        """Ask the owner of a session to cancel its invocation; see `DurableStore`."""
        return await self._write(lambda db: self._leases.request_cancel(db, place, invocation_id))

    async def open_leases(
        self, app_name: str | None = None, *, stuck: bool = False, limit: int = 1000
    ) -> Sequence[Lease]:
        """Return leases with an open invocation, oldest first; see `DurableStore`."""
        return await self._read(lambda db: self._leases.open_leases(db, app_name, stuck, limit))

    async def put_message(self, place: Place, message: InboxMessage, seconds: float) -> None:
        """Store a message at the end of a session's inbox; see `DurableStore`."""
        await self._write(
            lambda db: self._leases.put_message(db, place, message, seconds),
            turns=self._turns_of(place),
        )

    async def messages(self, place: Place) -> Sequence[InboxMessage]:
        """Return the messages that wait in a session; see `DurableStore`."""
        return await self._read(lambda db: self._leases.messages(db, place))

    async def take_messages(
        self, app_name: str, owner: str, process: str, seconds: float, limit: int
    ) -> Sequence[tuple[Place, str]]:
        """Take messages that nobody waits for; see `DurableStore`."""
        return await self._write(
            lambda db: self._leases.take_messages(db, app_name, owner, process, seconds, limit)
        )

    async def renew_messages(self, owner: str, seconds: float) -> None:
        """Prolong the time of an owner's messages; see `DurableStore`."""
        await self._write(lambda db: self._leases.renew_messages(db, owner, seconds))

    async def leave_message(self, place: Place, invocation_id: str, *, keep: bool) -> None:
        """Note that a message's caller is gone; see `DurableStore`."""
        await self._write(
            lambda db: self._leases.leave_message(db, place, invocation_id, keep),
            turns=self._turns_of(place),  # after the message, whose caller may not have waited
        )

    async def waiting_places(
        self, app_name: str | None = None, *, limit: int = 1000
    ) -> Sequence[Place]:
        """Return the sessions whose inbox holds messages; see `DurableStore`."""
        return await self._read(lambda db: self._leases.waiting_places(db, app_name, limit))
