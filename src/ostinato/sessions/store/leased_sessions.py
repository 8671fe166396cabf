"""LeasedSessionService: the base of session services that keep leases in rows of a database."""

from __future__ import annotations

import abc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ..session import GetSessionConfig
from .appending_sessions import AppendingSessionService
from .durable_store import (
    CallAnswer,
    Fence,
    InboxMessage,
    JournalRow,
    Lease,
    OpenRequests,
    Place,
    Renewal,
)
from .effect_ledger import (
    Effect,
    EffectCursor,
    EffectFilter,
    EffectMark,
    EffectPage,
    EffectReport,
    EffectWriter,
    OrphanedRows,
    StoredEffect,
    decode_effect,
    read_session_name,
)
from .effect_verifier import EffectVerifier

_A = TypeVar("_A")
_EFFECTS_AT_ONCE = 20_000
_BEFORE_ALL = -(2**63)  # below the number of every session
Result = _A | Awaitable[_A]
Work = Callable[[Any], Result[_A]]
"""What runs in a transaction: a function of the connection, or one that returns an awaitable."""


class LeaseRows(Protocol):
    """The statements of one database about leases, inbox and journal; see `DurableStore`."""

    def read_journal(
        self, db: Any, place: Place, invocation_id: str, /
    ) -> Result[list[JournalRow]]: ...
    def read_lease(self, db: Any, place: Place, /) -> Result[Lease | None]: ...
    def open_leases(
        self, db: Any, app_name: str | None, stuck: bool, limit: int, /
    ) -> Result[list[Lease]]: ...
    def renew_leases(
        self, db: Any, held: Sequence[tuple[Place, Fence]], seconds: float, /
    ) -> Result[list[Renewal]]: ...
    def release_lease(
        self, db: Any, place: Place, fence: Fence, keep_rows: bool, /
    ) -> Result[None]: ...
    def park_lease(self, db: Any, place: Place, fence: Fence, reason: str, /) -> Result[None]: ...
    def hand_over(self, db: Any, place: Place, fence: Fence, failed: bool, /) -> Result[None]: ...
    def request_cancel(
        self, db: Any, place: Place, invocation_id: str | None, /
    ) -> Result[bool]: ...
    def put_message(
        self,
        db: Any,
        place: Place,
        message: InboxMessage,
        seconds: float,
        answers: Sequence[CallAnswer],
        /,
    ) -> Result[bool]: ...
    def read_messages(self, db: Any, place: Place, /) -> Result[list[InboxMessage]]: ...
    def take_messages(
        self, db: Any, app_name: str, owner: str, process: str, seconds: float, limit: int, /
    ) -> Result[list[tuple[Place, str]]]: ...
    def renew_messages(self, db: Any, owner: str, seconds: float, /) -> Result[None]: ...
    def leave_message(
        self, db: Any, place: Place, invocation_id: str, keep: bool, owner: str | None, /
    ) -> Result[None]: ...
    def waiting_places(
        self, db: Any, app_name: str | None, limit: int, /
    ) -> Result[list[Place]]: ...
    def claim_calls(
        self, db: Any, place: Place, answers: Sequence[CallAnswer], /
    ) -> Result[int]: ...


class RequestRows(Protocol):
    """The statements of one database about calls that wait for an answer."""

    def release_answers(self, db: Any, place: Place, message_id: str, /) -> Result[None]: ...
    def open_requests(
        self, db: Any, app_name: str, user_id: str | None, limit: int, after: int | None, /
    ) -> Result[OpenRequests]: ...


class EffectRows(Protocol):
    """The statements of one database about the effects ledger."""

    def read_effects(
        self, db: Any, which: EffectFilter, limit: int, after: EffectCursor | None, /
    ) -> Result[list[StoredEffect]]: ...
    def read_ledger(
        self, db: Any, sid: int, number: int, limit: int, /
    ) -> Result[list[StoredEffect]]: ...
    def read_marks(self, db: Any, /) -> Result[list[EffectMark]]: ...
    def read_orphans(self, db: Any, /) -> Result[list[OrphanedRows]]: ...
    def trim_effects(self, db: Any, before: int, limit: int, /) -> Result[int]: ...


class LeasedSessionService(AppendingSessionService):
    """Session service with leases, inbox and journal in rows; a subclass runs the transactions."""

    _leases: LeaseRows
    _requests: RequestRows
    _effect_rows: EffectRows
    _effect_writer: EffectWriter | None = None

    @abc.abstractmethod
    async def _read_rows(self, work: Work[_A]) -> _A:
        """Run `work` in a transaction that writes nothing."""

    @abc.abstractmethod
    async def _write_rows(
        self, work: Work[_A], place: Place | None = None, *, repeatable: bool = False
    ) -> _A:
        """Run `work` in a transaction.

        Args:
          work: the statements.
          place: run after the earlier writes of this process to that session.
          repeatable: whether `work` may run again after a commit whose outcome is unknown.
        """

    @property
    def keeps_effects(self) -> bool:
        """Whether the runs of this service write an effects ledger."""
        return self._effect_writer is not None

    async def effects(
        self,
        which: EffectFilter = EffectFilter(),  # noqa: B008 - immutable
        *,
        limit: int = 100,
        after: EffectCursor | None = None,
    ) -> EffectPage:
        """Return a page of the effects ledger, newest first.

        Args:
          which: which effects.
          limit: the longest page.
          after: where the page begins, the `next` of the page before; None for the newest.
        """
        found: list[Effect] = []
        wanted, size = max(limit, 1), 0
        while True:
            size = min(max(wanted, size * 2), _EFFECTS_AT_ONCE)
            rows = await self._read_effects(which, size, after)
            for at, row in enumerate(rows):
                after = EffectCursor(row.finished, row.sid, row.number)
                effect = decode_effect(row)
                if which.accepts(effect):
                    found.append(effect)
                if len(found) == wanted:
                    is_last = at + 1 == len(rows) < size
                    return EffectPage(found, None if is_last else after)
            if len(rows) < size:
                return EffectPage(found)

    async def _read_effects(
        self, which: EffectFilter, limit: int, after: EffectCursor | None
    ) -> list[StoredEffect]:
        return await self._read_rows(
            lambda db: self._effect_rows.read_effects(db, which, limit, after)
        )

    async def verify_effects(
        self,
        earlier: Mapping[str, str] | None = None,
        spans: Mapping[str, Sequence[int]] | None = None,
        *,
        erased_ok: bool = False,
    ) -> EffectReport:
        """Read the whole effects ledger, and check its rows, numbers and hashes.

        If this service keeps a chain, a session without hashes is a problem, unless the earlier
        report has it without one.

        Args:
          earlier: the `heads` of an earlier report. A removal of the newest rows of a session is
            only noticed in comparison with them.
          spans: the `spans` of that report; the new one then names what was pruned since.
          erased_ok: accept that sessions of that report were deleted since, with their rows. A
            session that is there and lacks rows is a problem anyway.
        """
        must_chain = self._effect_writer is not None and self._effect_writer.chained
        verifier, sid, number = EffectVerifier(earlier, spans, must_chain), _BEFORE_ALL, 0
        while True:
            rows = await self._read_ledger(sid, number)
            verifier.check(rows)
            if len(rows) < _EFFECTS_AT_ONCE:
                break
            sid, number = rows[-1].sid, rows[-1].number
        verifier.check_orphans(await self._read_rows(self._effect_rows.read_orphans))
        marks = await self._read_rows(self._effect_rows.read_marks)
        missing = verifier.find_missing(marks)
        erased = [name for name in missing if not await self._holds_session(name)]
        if erased_ok:
            verifier.accept_erased(erased)
        report = verifier.finish(marks)
        report.erased = erased
        return report

    async def _holds_session(self, name: str) -> bool:
        """Return whether a session that the ledger named is in the store."""
        place, config = read_session_name(name), GetSessionConfig(num_recent_events=0)
        if place is None:
            return False
        return await self.get_session(**place._asdict(), config=config) is not None

    async def _read_ledger(self, sid: int, number: int) -> list[StoredEffect]:
        return await self._read_rows(
            lambda db: self._effect_rows.read_ledger(db, sid, number, _EFFECTS_AT_ONCE)
        )

    async def prune_effects(self, *, before: float, limit: int = 10_000) -> int:
        """Delete effects from the ledger; call it again until it returns 0.

        Args:
          before: those that finished before this time, seconds since 1970.
          limit: at most so many at once.
        """
        milliseconds = int(before * 1000)
        return await self._write_rows(
            lambda db: self._effect_rows.trim_effects(db, milliseconds, limit), repeatable=True
        )

    async def journal(self, place: Place, invocation_id: str) -> list[JournalRow]:
        """Return the rows of an invocation; see `DurableStore`."""
        return await self._read_rows(lambda db: self._leases.read_journal(db, place, invocation_id))

    async def lease(self, place: Place) -> Lease | None:
        """Return a session's lease; see `DurableStore`."""
        return await self._read_rows(lambda db: self._leases.read_lease(db, place))

    async def renew(self, held: Sequence[tuple[Place, Fence]], seconds: float) -> Sequence[Renewal]:
        """Renew leases; see `DurableStore`."""
        return await self._write_rows(
            lambda db: self._leases.renew_leases(db, held, seconds), repeatable=True
        )

    async def park(self, place: Place, fence: Fence, reason: str) -> None:
        """Release a lease and mark its invocation as stuck; see `DurableStore`."""
        await self._write_rows(
            lambda db: self._leases.park_lease(db, place, fence, reason), repeatable=True
        )

    async def hand_over(self, place: Place, fence: Fence, *, failed: bool = False) -> None:
        """End a lease whose invocation stays open; see `DurableStore`."""
        await self._write_rows(
            lambda db: self._leases.hand_over(db, place, fence, failed), repeatable=True
        )

    async def request_cancel(self, place: Place, invocation_id: str | None = None) -> bool:
        """Ask the owner of a session to cancel its invocation; see `DurableStore`."""
        return await self._write_rows(
            lambda db: self._leases.request_cancel(db, place, invocation_id), repeatable=True
        )

    async def open_leases(
        self, app_name: str | None = None, *, stuck: bool = False, limit: int = 1000
    ) -> Sequence[Lease]:
        """Return leases with an open invocation, oldest first; see `DurableStore`."""
        return await self._read_rows(
            lambda db: self._leases.open_leases(db, app_name, stuck, limit)
        )

    async def put_message(
        self,
        place: Place,
        message: InboxMessage,
        seconds: float,
        answers: Sequence[CallAnswer] = (),
    ) -> bool:
        """Enqueue a message in a session's inbox; see `DurableStore`."""
        return await self._write_rows(
            lambda db: self._leases.put_message(db, place, message, seconds, answers),
            place,
            repeatable=True,
        )

    async def claim_answers(self, place: Place, answers: Sequence[CallAnswer]) -> None:
        """Claim calls for a message that waits in this process; see `DurableStore`."""
        await self._write_rows(lambda db: self._leases.claim_calls(db, place, answers), place)

    async def release_answers(self, place: Place, message_id: str) -> None:
        """Reopen the calls that a message had answered; see `DurableStore`."""
        await self._write_rows(
            lambda db: self._requests.release_answers(db, place, message_id), place
        )

    async def open_requests(
        self,
        app_name: str,
        user_id: str | None = None,
        *,
        limit: int = 100,
        after: int | None = None,
    ) -> OpenRequests:
        """Return a page of the requests that have no answer; see `DurableStore`."""
        return await self._read_rows(
            lambda db: self._requests.open_requests(db, app_name, user_id, limit, after)
        )

    async def messages(self, place: Place) -> Sequence[InboxMessage]:
        """Return the messages of a session's inbox; see `DurableStore`."""
        return await self._read_rows(lambda db: self._leases.read_messages(db, place))

    async def take_messages(
        self, app_name: str, owner: str, process: str, seconds: float, limit: int
    ) -> Sequence[tuple[Place, str]]:
        """Claim messages that no caller waits for; see `DurableStore`."""
        return await self._write_rows(
            lambda db: self._leases.take_messages(db, app_name, owner, process, seconds, limit)
        )

    async def renew_messages(self, owner: str, seconds: float) -> None:
        """Renew the ownership of an owner's messages; see `DurableStore`."""
        await self._write_rows(
            lambda db: self._leases.renew_messages(db, owner, seconds), repeatable=True
        )

    async def leave_message(
        self, place: Place, invocation_id: str, *, keep: bool, owner: str | None = None
    ) -> None:
        """Note that a message's caller is gone; see `DurableStore`."""
        await self._write_rows(
            lambda db: self._leases.leave_message(db, place, invocation_id, keep, owner),
            place,  # after the message, which may still be in the queue of writes
            repeatable=True,
        )

    async def waiting_places(
        self, app_name: str | None = None, *, limit: int = 1000
    ) -> Sequence[Place]:
        """Return the sessions whose inbox holds messages; see `DurableStore`."""
        return await self._read_rows(lambda db: self._leases.waiting_places(db, app_name, limit))
