"""The calls that wait for an answer in one session of InMemorySessionService."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import count

from ... import _clock
from ..log.call_requests import is_answered_in
from ..log.confirmation_answers import may_add_row, may_claim
from ..log.event_log import EventRecord
from ..store.durable_store import CallAnswer, CallChanges, CallRequest

_NUMBERS = count(1)


@dataclass(slots=True)
class StoredRequest:
    """A request and its answer.

    Attributes:
      number: position in the order in which requests were stored.
      request: the request.
      answered: when it was answered, in seconds since 1970; None while it is open.
      answer: the answer as JSON text.
      message_id: the message that brought it.
    """

    number: int
    request: CallRequest
    answered: float | None = None
    answer: str | None = None
    message_id: str | None = None


class MemoryRequests:
    """The requests of one session, by the id of the call."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[str, StoredRequest] = {}

    def apply_changes(self, changes: CallChanges) -> None:
        """Write what an append changes; `check_answers` has let its answers pass.

        No request is lost here: events are not deleted from memory.
        """
        for request in changes.asked:
            known = self._rows.get(request.call_id)
            if known is None or known.request.event_id != request.event_id:
                self._rows[request.call_id] = StoredRequest(next(_NUMBERS), request)
        self.claim_answers(changes.answers, None)
        for call_id in changes.withdrawn:
            self._rows.pop(call_id, None)
        for call_id in changes.reopened:
            if call_id in self._rows:
                self._reopen_request(self._rows[call_id])

    def check_answers(self, answers: Iterable[CallAnswer], revision: int | None) -> None:
        """Refuse answers to calls that are answered; see `claim_answers`."""
        for answer in answers:
            row = self._rows.get(answer.call_id)
            if row is None:
                may_add_row(answer, revision)
            else:
                may_claim(answer, row.answered, row.answer, row.message_id)

    def claim_answers(self, answers: Sequence[CallAnswer], revision: int | None) -> None:
        """Note answers at the calls that they answer, all or none.

        Args:
          revision: the session's before the answers; see `may_add_row`.

        Raises:
          CallAlreadyAnsweredError: another message has answered one of them.
          StaleSessionError: see `may_add_row`.
        """
        self.check_answers(answers, revision)
        for answer in answers:
            row = self._rows.get(answer.call_id)
            if row is None and answer.request is not None:
                row = StoredRequest(next(_NUMBERS), answer.request)
                self._rows[answer.call_id] = row
            if row is not None and row.answered is None:
                row.answered, row.answer = _clock.now(), answer.answer
                row.message_id = answer.message_id

    def release(self, message_id: str) -> None:
        """Open the calls again that a message had answered."""
        for row in self._rows.values():
            if row.message_id == message_id:
                self._reopen_request(row)

    def copy_for_fork(self, kept: Sequence[EventRecord], closed: Set[str | None]) -> MemoryRequests:
        """Return the requests of a fork that took over these events, without the closed ones."""
        by_id = {record.id: record for record in kept}
        twin = MemoryRequests()
        for call_id, row in self._rows.items():
            record = by_id.get(row.request.event_id)
            if record is None or call_id in closed:
                continue
            twin._rows[call_id] = made = StoredRequest(next(_NUMBERS), row.request)
            if is_answered_in(kept, record, call_id):
                made.answered, made.answer = row.answered, row.answer
                made.message_id = row.message_id
        return twin

    def open_rows(self) -> list[StoredRequest]:
        """Return the requests without an answer."""
        return [row for row in self._rows.values() if row.answered is None]

    def _reopen_request(self, row: StoredRequest) -> None:
        row.answered = row.answer = row.message_id = None
