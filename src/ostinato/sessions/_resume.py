"""What a log says about an invocation: which calls are open, and what a resume goes on with. Pure.

The flow asks before each step of a resumable run, the runner asks when it resumes or seals one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from ..events.event import REJECTED, Event
from ._durable_store import JournalRow
from .event_log import AGENT_STATE, COMPACTION, END_OF_AGENT, ERROR, EventLog, EventRecord

SEALED = "ostinato:sealed"
"""Key in the custom metadata of a response that stands for a call which never began."""

RERUN = "ostinato:rerun"
"""Key in the custom metadata of an event: ids of calls whose tools may have run before."""

CHECKPOINT_PREFIX = "agent:"
"""Call id of a journal row that holds the checkpoint of the agent whose name follows."""


class OpenCall(NamedTuple):
    """A function call without a response.

    Attributes:
      record: the event that holds the call.
      call_id: id of the call.
      name: name of the tool.
      long_running: whether its tool is long-running, so that somebody outside answers it.
    """

    record: EventRecord
    call_id: str
    name: str
    long_running: bool


def open_calls(
    log: EventLog, invocation_id: str, branch: str | None = None, *, below: bool = False
) -> list[OpenCall]:
    """Return the calls of an invocation that have no response yet, oldest first.

    Args:
      log: the session's records.
      invocation_id: the invocation.
      branch: only calls made on this branch.
      below: calls of the branches below it too; with `branch` None, of all branches.
    """
    answered: set[str | None] = set()
    found: list[OpenCall] = []
    for record in log.invocation(invocation_id):
        answered.update(call for call, _ in record.responses)
        if not record.calls or not _on_branch(record.branch, branch, below):
            continue
        found.extend(
            OpenCall(record, call, name, call in record.long_running)
            for call, name in reversed(record.calls)
            if call is not None and call not in answered
        )
    found.reverse()
    return found


def waits_for_answer(log: EventLog, invocation_id: str, branch: str | None = None) -> bool:
    """Tell whether a long-running call of an invocation still waits for its answer from outside.

    What its tool gave at once is no answer; that it never began is one. Counts the branch and those
    below it.
    """
    if invocation_id not in log.with_long_running:
        return False
    answered: set[str | None] = set()
    for record in log.invocation(invocation_id):
        if record.author == "user" or (record.responses and f'"{SEALED}"' in record.data):
            answered.update(call for call, _ in record.responses)
        if record.long_running - answered and _on_branch(record.branch, branch, below=True):
            return True
    return False


def _on_branch(own: str | None, branch: str | None, below: bool) -> bool:
    if own == branch:
        return True
    return below and (branch is None or (own is not None and own.startswith(branch + ".")))


class Checkpoint(NamedTuple):
    """What an agent had noted about itself when a run was interrupted.

    Attributes:
      agent: name of the agent.
      branch: the branch it ran on.
      at: index of the first record that came after it.
      state: the checkpoint; None where the agent ended or began anew.
      ended: whether the agent had ended.
    """

    agent: str
    branch: str | None
    at: int
    state: dict[str, Any] | None
    ended: bool


def recorded_checkpoints(log: EventLog, invocation_id: str) -> list[Checkpoint]:
    """Return the checkpoints that an invocation's events hold, oldest first."""
    found: list[Checkpoint] = []
    for index in range(log.start_of(invocation_id) or 0, len(log.records)):
        record = log.records[index]
        if record.invocation_id != invocation_id:
            continue
        if record.kinds & END_OF_AGENT:
            found.append(Checkpoint(record.author, record.branch, index + 1, None, True))
        elif record.kinds & AGENT_STATE:
            state = record.event().actions.agent_state or {}
            found.append(Checkpoint(record.author, record.branch, index + 1, state, False))
    return found


def checkpoint_text(
    branch: str | None, after: str | None, state: dict[str, Any] | None, ended: bool, number: int
) -> str:
    """Return a checkpoint as the JSON of a journal row.

    Args:
      branch: the branch the agent runs on.
      after: id of the newest record then.
      state, ended: as in `Checkpoint`.
      number: place among the checkpoints of the invocation.
    """
    fields = {"branch": branch, "after": after, "state": state, "ended": ended, "number": number}
    return json.dumps(fields, separators=(",", ":"))


def journalled_checkpoints(log: EventLog, rows: Iterable[JournalRow]) -> list[Checkpoint]:
    """Return the checkpoints that rows of a journal hold, oldest first."""
    found = sorted(_checkpoint_rows(rows), key=lambda item: item[1]["number"])
    return [
        Checkpoint(
            agent,
            fields["branch"],
            _index_after(log, fields["after"]),
            fields["state"],
            fields["ended"],
        )
        for agent, fields in found
    ]


def newest_checkpoint(rows: Iterable[JournalRow]) -> int:
    """Return the number of the newest checkpoint in rows of a journal; 0 where there is none."""
    return max((fields["number"] for _, fields in _checkpoint_rows(rows)), default=0)


def _checkpoint_rows(rows: Iterable[JournalRow]) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in rows:
        if row.status == "state" and row.result is not None:
            if row.call_id.startswith(CHECKPOINT_PREFIX):
                yield row.tool, json.loads(row.result)


def _index_after(log: EventLog, record_id: str | None) -> int:
    for index in range(len(log.records) - 1, -1, -1):
        if log.records[index].id == record_id:
            return index + 1
    return 0


class Reached(NamedTuple):
    """How far an agent had come in its present run.

    Attributes:
      kind: `ended`: it has said its last word; `transfer`: `record` hands over to another agent;
        `structured`: `record` holds the final output, which is yet to be said; `code`: `record`
        holds code that is yet to be run; `calls`: `record` is its newest word, and calls are open;
        `model`: the model is next.
      to: index of the first record that is not this run's.
      record: see `kind`.
      closed: for `ended`: whether its end is on record as well, so that nothing is left to do.
    """

    kind: Literal["ended", "transfer", "structured", "code", "calls", "model"]
    to: int
    record: EventRecord | None = None
    closed: bool = False


class Resume:
    """What an interrupted invocation had done, consumed as its agents are run again.

    The agents are run from the top. Each takes from here what it had done already and goes on from
    there; once all records of a branch are taken, agents on it run as if nothing had happened. So
    the point where the run broke off is used once.

    Args:
      log: the session's records, as they are when the invocation goes on.
      invocation_id: the invocation.
      start: index of the first record that counts; those before it belong to the agents that led to
        the agent which goes on.
      checkpoints: what agents had noted, oldest first.
    """

    def __init__(
        self,
        log: EventLog,
        invocation_id: str,
        start: int = 0,
        checkpoints: Sequence[Checkpoint] = (),
    ) -> None:
        self._until = len(log.records)
        self._records: list[tuple[int, EventRecord]] = []
        self._answers: list[tuple[int, set[str | None]]] = []
        self._leg = start
        for index in range(max(start, log.start_of(invocation_id) or 0), self._until):
            record = log.records[index]
            if record.invocation_id != invocation_id or record.kinds & COMPACTION:
                continue
            if record.author == "user":
                self._answers.append((index, {call for call, _ in record.responses}))
                self._leg = index + 1
            else:
                self._records.append((index, record))
        self._ends = [mark for mark in checkpoints if mark.ended and mark.at > start]
        self._entries = {mark.agent: mark for mark in checkpoints}
        self._entered: set[str] = set()
        self._at: dict[str | None, int] = {}
        self._escalated: list[str | None] = []

    def look(self, agent: str, branch: str | None) -> Reached:
        """Tell how far an agent with a model had come, without taking it."""
        ahead = _Run(self._answers)
        to = self._position(branch)
        for index, record in self._records:
            if index < to or record.branch != branch:
                continue
            if record.author != agent:
                if record.kinds & (ERROR | AGENT_STATE | END_OF_AGENT) or not ahead.begun:
                    continue
                return self._ended(agent, branch, to)  # somebody else spoke after it
            if record.kinds & END_OF_AGENT:
                return Reached("ended", index + 1, closed=True)
            to = index + 1
            kind = ahead.add(index, record)
            if kind == "ended":
                return self._ended(agent, branch, to)
            if kind == "transfer":
                return Reached("transfer", to, record)
        kind, record = ahead.broken_off()
        return Reached(kind, to, record)

    def take(self, agent: str, branch: str | None) -> Reached:
        """Tell how far an agent with a model had come; it goes on from there."""
        reached = self.look(agent, branch)
        self._move(branch, reached.to)
        return reached

    def is_newest(self, record: EventRecord | None) -> bool:
        """Tell whether nobody answered since a record was made: the run broke off there."""
        return record is not None and any(r is record for i, r in self._records if i >= self._leg)

    def has_begun(self, agent: str, branch: str | None) -> bool:
        """Tell whether an agent had begun its present run since the user's last message."""
        position = self._position(branch)
        mark = self._entries.get(agent)
        if mark is not None and not mark.ended and mark.at >= position:
            return True
        first = max(position, self._leg)
        return any(
            index >= first and record.author == agent and record.branch == branch
            for index, record in self._records
        )

    def take_end(self, agent: str, branch: str | None) -> bool:
        """Tell whether the end of an agent's present run is on record; it is passed over then."""
        position = self._position(branch)
        for mark in self._ends:
            if mark.agent == agent and mark.branch == branch and mark.at > position:
                self._move(branch, mark.at)
                return True
        return False

    def is_over(self, branch: str | None) -> bool:
        """Tell whether everything on a branch was taken: what is done now was never done."""
        position = self._position(branch)
        return all(i < position or r.branch != branch for i, r in self._records)

    def enter(self, agent: str, branch: str | None) -> None:
        """Note that an agent goes on from its checkpoint: what came before that is done."""
        mark = self._entries.pop(agent, None)
        if mark is not None:
            self._entered.add(agent)
            self._at[branch] = max(self._position(branch), mark.at)

    def leave(self, agent: str, branch: str | None) -> None:
        """Note that an agent which went on from its checkpoint starts with something new."""
        if agent in self._entered:
            self._at[branch] = self._until

    def take_escalation(self, branch: str | None) -> bool:
        """Tell whether what was taken on a branch or below it asked to leave the loop."""
        found = [b for b in self._escalated if _on_branch(b, branch, below=True)]
        self._escalated = [b for b in self._escalated if b not in found]
        return bool(found)

    def _position(self, branch: str | None) -> int:
        return max(
            (at for b, at in self._at.items() if _on_branch(branch, b, below=True)), default=0
        )

    def _ended(self, agent: str, branch: str | None, to: int) -> Reached:
        """Return that an agent has ended; with its end where that is the next thing on record."""
        for index, record in self._records:
            if index < to or record.branch != branch or record.kinds & ERROR:
                continue
            if record.author == agent and record.kinds & END_OF_AGENT:
                return Reached("ended", index + 1, closed=True)
            break
        noted = (m for m in self._ends if (m.agent, m.branch) == (agent, branch))
        return Reached("ended", to, closed=any(mark.at >= to for mark in noted))

    def _move(self, branch: str | None, to: int) -> None:
        since = self._position(branch)
        self._at[branch] = max(since, to)
        for index, record in self._records:
            if since <= index < to and '"escalate"' in record.data:
                if _on_branch(record.branch, branch, below=True):
                    if record.event().actions.escalate:
                        self._escalated.append(record.branch)


class _Run:
    """Reads the records of one run of one agent, in order."""

    __slots__ = ("_answers", "_calls", "_last", "begun")

    def __init__(self, answers: list[tuple[int, set[str | None]]]) -> None:
        self._answers = answers
        self._calls: set[str | None] = set()
        self._last: EventRecord | None = None
        self.begun = False

    def add(self, index: int, record: EventRecord) -> Literal["ended", "transfer"] | None:
        """Read the next record; tell whether the run ends with it.

        The user's answer to one of its calls reopens a run that had ended.
        """
        kind = self._kind(record)
        if kind == "ended" and any(i > index and ids & self._calls for i, ids in self._answers):
            return None
        return kind

    def _kind(self, record: EventRecord) -> Literal["ended", "transfer"] | None:
        self.begun = True
        if record.kinds & (ERROR | AGENT_STATE):
            return None
        if record.responses:
            self._last = record
            if record.transfer_to_agent:
                return "transfer"
            actions = record.event().actions
            return "ended" if actions.skip_summarization or actions.requested_auth_configs else None
        if record.calls:
            self._calls.update(call for call, _ in record.calls)
            self._last = record
            return None
        event = record.event()
        if event.content is None or not event.content.parts:
            return None  # state alone: by a planner, or by a hook
        self._last = record
        if event.custom_metadata and REJECTED in event.custom_metadata:
            return None
        last = event.content.parts[-1]
        if last.code_execution_result is not None or last.executable_code is not None:
            return None
        return "ended"

    def broken_off(self) -> tuple[Literal["structured", "code", "calls", "model"], Any]:
        """Tell what comes after the last record."""
        last = self._last
        if last is None:
            return "model", None
        if last.calls:
            return "calls", last
        event = last.event()
        if last.responses and event.actions.set_model_response is not None:
            return "structured", last
        return ("code", last) if _ends_in_code(event) else ("model", last)


def _ends_in_code(event: Event) -> bool:
    parts = event.content.parts if event.content is not None else None
    return bool(parts) and parts[-1].executable_code is not None
