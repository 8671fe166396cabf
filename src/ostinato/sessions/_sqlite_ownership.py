"""The part of SqliteSessionService that is about owners: leases, inbox and journal of its sessions.

Statements are in `_sqlite_leases.py`; base class of `sqlite_session_service.py`.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import InputValidationError
from . import _sqlite_leases as leases
from ._durable_store import Fence, InboxMessage, JournalRow, Lease, Place, Renewal
from ._sqlite_worker import Worker
from .base_session_service import BaseSessionService

_A = TypeVar("_A")


class SqliteOwnership(BaseSessionService):
    """Leases, inbox and journal in a SQLite file; times are those of this machine's clock."""

    _reader: Worker
    _writer: Worker

    @property
    def shared(self) -> bool:
        """Whether others reach the sessions; see `DurableStore`."""
        return self._reader is not self._writer  # in memory there is one connection

    async def _read(self, work: Callable[[sqlite3.Connection], _A]) -> _A:
        return await _answer(self._reader.submit(work, _same))

    async def _write(self, work: Callable[[sqlite3.Connection], _A]) -> _A:
        return await _answer(self._writer.submit(work, _same, brief=True))

    async def journal(self, place: Place, invocation_id: str) -> list[JournalRow]:
        """Return the rows of an invocation; see `DurableStore`."""
        return await self._read(lambda db: leases.journal(db, place, invocation_id))

    async def lease(self, place: Place) -> Lease | None:
        """Return a session's lease; see `DurableStore`."""
        return await self._read(lambda db: leases.lease(db, place))

    async def renew(self, held: Sequence[tuple[Place, Fence]], seconds: float) -> Sequence[Renewal]:
        """Prolong leases; see `DurableStore`."""
        return await self._write(lambda db: leases.renew(db, held, seconds))

    async def release(
        self, place: Place, fence: Fence, *, keep_rows: bool = False, wait: bool = True
    ) -> None:
        """Give a lease back; see `DurableStore`."""
        if wait:
            await self._write(lambda db: leases.release(db, place, fence, keep_rows))
        else:
            self._writer.post(lambda db: leases.release(db, place, fence, keep_rows), brief=True)

    async def park(self, place: Place, fence: Fence, reason: str) -> None:
        """Give a lease back and mark its invocation as stuck; see `DurableStore`."""
        await self._write(lambda db: leases.park(db, place, fence, reason))

    async def hand_over(self, place: Place, fence: Fence) -> None:
        """End a lease whose invocation stays open; see `DurableStore`."""
        await self._write(lambda db: leases.hand_over(db, place, fence))

    async def request_cancel(self, place: Place, invocation_id: str | None = None) -> bool:
        """Ask the owner of a session to cancel its invocation; see `DurableStore`."""
        return await self._write(lambda db: leases.request_cancel(db, place, invocation_id))

    async def open_leases(
        self, app_name: str | None = None, *, stuck: bool = False, limit: int = 1000
    ) -> Sequence[Lease]:
        """Return leases with an open invocation, oldest first; see `DurableStore`."""
        return await self._read(lambda db: leases.open_leases(db, app_name, stuck, limit))

    async def put_message(self, place: Place, message: InboxMessage, seconds: float) -> None:
        """Store a message at the end of a session's inbox; see `DurableStore`."""
        await self._write(lambda db: leases.put_message(db, place, message, seconds))

    async def messages(self, place: Place) -> Sequence[InboxMessage]:
        """Return the messages that wait in a session; see `DurableStore`."""
        return await self._read(lambda db: leases.messages(db, place))

    async def take_messages(
        self, app_name: str, owner: str, process: str, seconds: float, limit: int
    ) -> Sequence[tuple[Place, str]]:
        """Take messages that nobody waits for; see `DurableStore`."""
        return await self._write(
            lambda db: leases.take_messages(db, app_name, owner, process, seconds, limit)
        )

    async def renew_messages(self, owner: str, seconds: float) -> None:
        """Prolong the time of an owner's messages; see `DurableStore`."""
        await self._write(lambda db: leases.renew_messages(db, owner, seconds))

    async def leave_message(self, place: Place, invocation_id: str, *, keep: bool) -> None:
        """Note that a message's caller is gone; see `DurableStore`."""
        await self._write(lambda db: leases.leave_message(db, place, invocation_id, keep))

    async def waiting_places(
        self, app_name: str | None = None, *, limit: int = 1000
    ) -> Sequence[Place]:
        """Return the sessions whose inbox holds messages; see `DurableStore`."""
        return await self._read(lambda db: leases.waiting_places(db, app_name, limit))


async def _answer(future: asyncio.Future[_A]) -> _A:
    try:
        return await future
    except UnicodeEncodeError as error:
        raise InputValidationError(
            f"A name, an id or a message is not valid Unicode text: {error}."
        ) from error


def _same(value: _A) -> _A:
    return value
