"""Journal of one invocation: its tool calls and checkpoints, stored with its events.

The rows and the events share a transaction, so a run survives a crash at any instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from ..events.event import Event
from ..sessions.log.checkpoints import (
    CHECKPOINT_PREFIX,
    Checkpoint,
    checkpoint_text,
    journalled_checkpoints,
    newest_checkpoint,
)
from ..sessions.log.event_log import EventLog
from ..sessions.store.durable_store import JournalRow
from .effect_notes import EffectCaller, EffectNote


class Journal:
    """Rows of one invocation: the stored ones, and those for the next commit.

    The journal stores nothing itself: the caller commits the rows that its methods return.

    A call may be answered more than once: its tool may ask for a credential or a confirmation and
    run again. Each run has a row of its own: the call's id, from the second run on with `#` and the
    number of earlier answers.

    Args:
      invocation_id: the invocation.
      rows: its stored rows, if it is resumed.
      log: the session's records, if it is resumed.
      keeps_effects: whether rows of the effects ledger go with the journal's.
      caller: who called the run's agent as a tool, or None.
      session_id: the session of the run.

    Attributes:
      keeps_effects, caller: as given.
    """

    def __init__(
        self,
        invocation_id: str,
        rows: Iterable[JournalRow] = (),
        log: EventLog | None = None,
        *,
        keeps_effects: bool = False,
        caller: EffectCaller | None = None,
        session_id: str = "",
    ) -> None:
        self.keeps_effects = keeps_effects
        self.caller = caller
        self._session_id = session_id
        self._effects: dict[str | None, EffectNote] = {}
        self._invocation_id = invocation_id
        self._stored = {row.call_id: row for row in rows}
        self._answers: dict[str | None, int] = {}
        self._begun: dict[str, int] = {}
        self._expected: dict[str, list[JournalRow]] = {}
        self._pending: dict[tuple[str, bool], JournalRow] = {}
        self._noted: dict[str, Callable[[], str]] = {}
        self._checkpoints = newest_checkpoint(self._stored.values())
        for record in log.invocation(invocation_id) if log is not None else ():
            if record.author != "user":
                for call_id, _ in record.responses:
                    self._answers[call_id] = self._answers.get(call_id, 0) + 1

    def rows_with(self, event: Event) -> Sequence[JournalRow]:
        """Return the rows to commit with an event."""
        expected = self._expected.pop(event.id, None)
        if expected is not None:
            for row in expected:
                if row.status == "started":
                    self._begun[row.call_id] = 1
        effects: list[JournalRow] = []
        for response in event.get_function_responses():
            if self._effects:
                effects += self.take_effect(response.id, response.response)
            self._answers[response.id] = self._answers.get(response.id, 0) + 1
        return [*self._take_pending(), *(expected or ()), *effects]

    def earlier_row(self, call_id: str | None) -> JournalRow | None:
        """Return the row that an earlier process stored for a call.

        None once the call has started or finished in this process.
        """
        return self._stored.get(self._row_key(call_id))

    def list_calls_in_doubt(self) -> list[str]:
        """Return the calls that began in an earlier process or attempt and have no end there."""
        return [row.call_id for row in self._stored.values() if row.status == "started"]

    def finished_rows(self) -> Sequence[tuple[JournalRow, bool]]:
        """Return the rows of the calls that finished in earlier processes, each with whether the
        log has its response.
        """
        found: list[tuple[JournalRow, bool]] = []
        for row in self._stored.values():
            if row.status == "finished" and row.result is not None:
                call_id, _, number = row.call_id.partition("#")
                found.append((row, self._answers.get(call_id, 0) > int(number or 0)))
        return found

    def expect(
        self, event_id: str, call_id: str, tool: str, status: Literal["started", "state"]
    ) -> None:
        """Add a row for a call that an event requests; it is stored with the event.

        Args:
          event_id: the event.
          call_id: the call.
          tool: name of its tool.
          status: `started` if the tool runs at once, else `state`.
        """
        row = JournalRow(self._invocation_id, self._row_key(call_id), status, tool)
        self._expected.setdefault(event_id, []).append(row)

    def begin(self, call_id: str | None, tool: str) -> Sequence[JournalRow]:
        """Return the rows to commit before a tool runs; empty if they are stored."""
        key = self._row_key(call_id)
        effect = self._effects.get(call_id) if self._effects else None
        if effect is not None:
            effect.begin()
        if key in self._begun:
            return ()
        past = self._stored.pop(key, None)
        attempts = self._begun[key] = _count_begins(past) + 1
        result = None if attempts == 1 else str(attempts)
        return [
            *self._take_pending(),
            JournalRow(self._invocation_id, key, "started", tool, result),
        ]

    def finish(
        self,
        call_id: str | None,
        tool: str,
        result: str,
        response: dict[str, Any] | None = None,
    ) -> Sequence[JournalRow]:
        """Return the rows to commit when a call has finished.

        Args:
          call_id: the call.
          tool: name of its tool.
          result: response and effects as JSON text.
          response: the response alone, for the effects ledger.
        """
        row = JournalRow(self._invocation_id, self._row_key(call_id), "finished", tool, result)
        effects = self.take_effect(call_id, response) if self._effects else ()
        self._stored.pop(row.call_id, None)
        return [*self._take_pending(), row, *effects]

    def end_attempt(self, call_id: str | None, tool: str) -> Sequence[JournalRow]:
        """Return the rows to commit when a tool's body ended and the call stays open.

        The tool raised and may run again, or it asks a person. The call is not in doubt then, and
        the next `begin` counts on.

        Args:
          call_id: the call.
          tool: name of its tool.
        """
        key = self._row_key(call_id)
        attempts = self._begun.pop(key, None)
        if attempts is None:
            return ()
        row = JournalRow(self._invocation_id, key, "state", tool, str(attempts))
        self._stored[key] = row
        return (row,)

    def leave_in_doubt(self, call_id: str | None, tool: str) -> None:
        """Note that this process gave up a call whose outcome is unknown, and may make it again.

        The stored row says so already; now `row` returns it, and the next `begin` counts on.

        Args:
          call_id: the call.
          tool: name of its tool.
        """
        key = self._row_key(call_id)
        attempts = self._begun.pop(key, None)
        if attempts is not None:
            result = None if attempts == 1 else str(attempts)
            self._stored[key] = JournalRow(self._invocation_id, key, "started", tool, result)

    def take_effect(
        self, call_id: str | None, response: dict[str, Any] | None
    ) -> Sequence[JournalRow]:
        """Return the row of the effects ledger for a call that no response event answers.

        Args:
          call_id: the call.
          response: its response; None if it has none.
        """
        note = self._effects.pop(call_id, None)
        if note is None or not note.is_effect:
            return ()
        caller, ids = self.caller, (call_id or "", self._invocation_id)
        text = note.to_text(*ids, response, caller, self._session_id)
        home = "" if caller is None else caller.session_id
        return [JournalRow(ids[1], str(call_id), "effect", note.tool, text, home)]

    def take_effects(
        self, responses: Mapping[str | None, dict[str, Any] | None]
    ) -> Sequence[JournalRow]:
        """Return the ledger's rows that are not stored, of calls that began; the run ends.

        Args:
          responses: the responses of the calls that have one.
        """
        left = [key for key, row in self._pending.items() if row.status == "effect"]
        rows = [self._pending.pop(key) for key in left]
        for call_id in [*self._effects]:
            rows += self.take_effect(call_id, responses.get(call_id))
        return rows

    def note_effect(self, call_id: str | None, note: EffectNote) -> None:
        """Describe a call for the effects ledger; its row goes with its response.

        Args:
          call_id: the call.
          note: the description; it leaves no row unless the call begins or is in doubt.
        """
        if self._stored:
            note.attempts = count_attempts(self.earlier_row(call_id))
        self._effects[call_id] = note

    def effect(self, call_id: str | None) -> EffectNote | None:
        """Return the description of a running call, or None."""
        return self._effects.get(call_id)

    def add(self, rows: Iterable[JournalRow]) -> None:
        """Add rows to the next commit."""
        self._pending.update({(row.call_id, row.status == "effect"): row for row in rows})

    def attach(self, event_id: str, rows: Iterable[JournalRow]) -> None:
        """Add rows to the commit of an event.

        Args:
          event_id: the event.
          rows: the rows.
        """
        self._expected.setdefault(event_id, []).extend(rows)

    def checkpoint(
        self,
        agent: str,
        branch: str | None,
        after: str | None,
        state: dict[str, Any] | None,
        ended: bool,
    ) -> None:
        """Add an agent's checkpoint to the next commit.

        Args:
          agent: name of the agent.
          branch: the branch it runs on.
          after: id of the newest record.
          state: the checkpoint, or None if the agent ended or restarts.
          ended: whether it ended.
        """
        self._checkpoints += 1
        # Serialized only when stored: the last one of a run never is.
        self._noted[agent] = partial(
            checkpoint_text, branch, after, state, ended, self._checkpoints
        )

    def take_pending(self) -> Sequence[JournalRow]:
        """Return the rows of the next commit, to commit them now."""
        return list(self._take_pending())

    def checkpoints(self, log: EventLog) -> Sequence[Checkpoint]:
        """Return the stored checkpoints, oldest first."""
        return journalled_checkpoints(log, self._stored.values())

    def _row_key(self, call_id: str | None) -> str:
        answers = self._answers.get(call_id, 0)
        return f"{call_id}#{answers}" if answers else str(call_id)

    def _take_pending(self) -> Iterable[JournalRow]:
        noted, self._noted = self._noted, {}
        pending, self._pending = self._pending, {}
        rows = [
            JournalRow(self._invocation_id, CHECKPOINT_PREFIX + agent, "state", agent, text())
            for agent, text in noted.items()
        ]
        return [*rows, *pending.values()] if rows else pending.values()


def count_attempts(row: JournalRow | None) -> int:
    """Return how many times a call was begun, by the row that an earlier process stored."""
    if row is None or row.status != "started":
        return 0
    return int(row.result) if row.result else 1


def _count_begins(row: JournalRow | None) -> int:
    """Return how many times a call was begun, also if its last run ended and left it open."""
    is_open = row is not None and row.status == "state" and row.result
    return int(row.result or 0) if row is not None and is_open else count_attempts(row)
