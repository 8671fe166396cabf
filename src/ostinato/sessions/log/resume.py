"""Resume points and open calls of an invocation, read from its log by pure functions.

The flow asks before each step of a resumable run, the runner asks when it resumes or seals one.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Literal, NamedTuple

from ...events.event import REJECTED, Event
from .checkpoints import Checkpoint
from .event_log import (
    AGENT_STATE,
    COMPACTION,
    END_OF_AGENT,
    ERROR,
    TASK_ANSWER,
    TASK_END,
    EventLog,
    EventRecord,
)

SEALED = "ostinato:sealed"
"""Key in the custom metadata of a response that stands for a call which never began."""

RERUN = "ostinato:rerun"
"""Key in the custom metadata of an event: ids of calls whose tools may have run before."""


class OpenCall(NamedTuple):
    """A function call without a response.

    Attributes:
      record: the event that holds the call.
      call_id: id of the call.
      name: name of the tool.
      long_running: whether its tool is long-running, so that the answer comes from outside.
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
            if call is not None and call not in answered and not log.is_over(call)
        )
    found.reverse()
    return found


def waits_for_answer(
    log: EventLog, invocation_id: str, branch: str | None = None, *, tasks: bool = True
) -> bool:
    """Return whether a long-running call of an invocation still waits for its answer from outside.

    What its tool gave at once is no answer; that it never began is one. Counts the branch and those
    below it. A task that was begun waits too, until it is finished; one of a graph, while it is the
    user's turn.

    Args:
      log: the session's records.
      invocation_id: the invocation.
      branch: the branch.
      tasks: whether tasks count; in apps that do not resume, another invocation continues them.
        Those of graphs count always.
    """
    if any(
        record.invocation_id == invocation_id
        and _on_branch(record.branch, branch, below=True)
        and _is_users_turn(log, scope)
        for scope, record in log.tasks.items()
    ):
        return True
    if (
        tasks
        and log.scopes
        and any(
            call in log.scopes
            and call not in log.tasks
            and record.invocation_id == invocation_id
            and _on_branch(record.branch, branch, below=True)
            for call, record in log.unanswered.items()
        )
    ):
        return True
    if not log.called_long_running(invocation_id):
        return False
    answered: set[str | None] = set()
    for record in log.invocation(invocation_id):
        if record.author == "user" or (record.responses and record.has_metadata(SEALED)):
            answered.update(call for call, _ in record.responses)
        if record.long_running - answered and _on_branch(record.branch, branch, below=True):
            return True
    return False


def _is_users_turn(log: EventLog, scope: str) -> bool:
    """Return whether the newest record of a task is its agent's final response."""
    newest = next((record for record in reversed(log.records) if record.scope == scope), None)
    return newest is not None and newest.author != "user" and is_last_word(newest)


def _on_branch(own: str | None, branch: str | None, below: bool) -> bool:
    if own == branch:
        return True
    return below and (branch is None or (own is not None and own.startswith(branch + ".")))


class ResumePoint(NamedTuple):
    """How far an agent had come in its present run.

    Attributes:
      kind: `ended`: it has said its last word; `transfer`: `record` hands over to another agent;
        `structured`: `record` holds the final output, which is yet to be said; `rejected`: `record`
        holds output that broke its schema, which the model is yet to be told; `code`: `record`
        holds code that is yet to be run; `calls`: `record` is its newest word, and calls are open;
        `model`: the model is next.
      to: index of the first record that is not this run's.
      record: see `kind`.
      closed: for `ended`: whether its end is on record as well, so that nothing is left to do.
    """

    kind: Literal["ended", "transfer", "structured", "rejected", "code", "calls", "model"]
    to: int
    record: EventRecord | None = None
    closed: bool = False


class Resume:
    """What an interrupted invocation had done, consumed as its agents are run again.

    The agents run again from the top. Each reads its earlier work here and resumes after it; once
    all records of a branch are consumed, its agents run as in a new invocation. So a resume point
    is used once.

    Args:
      log: the session's records when the invocation resumes.
      invocation_id: the invocation.
      start: index of the first record that counts; those before it belong to the agents that led to
        the resumed agent.
      checkpoints: the agents' checkpoints, oldest first.
      only: indexes of the records that count, beside the user's; None for all.
    """

    def __init__(
        self,
        log: EventLog,
        invocation_id: str,
        start: int = 0,
        checkpoints: Sequence[Checkpoint] = (),
        only: Container[int] | None = None,
    ) -> None:
        self._until = len(log.records)
        self._records: list[tuple[int, EventRecord]] = []
        self._answers: list[_Answer] = []
        self._leg = start
        for index in reversed([*log.indexes_of(invocation_id, start)]):
            record = log.records[index]
            if record.kinds & COMPACTION:
                continue
            if record.author == "user":
                ids = {call for call, _ in record.responses}
                self._answers.append(_Answer(index, ids, record.scope))
                if not record.kinds & TASK_ANSWER:
                    self._leg = index + 1
            elif only is None or index in only:
                self._records.append((index, record))
        self._ends = [mark for mark in checkpoints if mark.ended and mark.at > start]
        self._entries = {mark.agent: mark for mark in checkpoints}
        self._entered: set[str] = set()
        self._at: dict[str | None, int] = {}
        self._escalated: list[str | None] = []

    def look(self, agent: str, branch: str | None) -> ResumePoint:
        """Return the resume point of an LLM agent without consuming it."""
        ahead = _Run(self._answers)
        to = self._position_of(branch)
        for index, record in self._records:
            if index < to or record.branch != branch:
                continue
            if record.author != agent:
                if record.kinds & (ERROR | AGENT_STATE | END_OF_AGENT) or not ahead.begun:
                    continue
                return self._ended_point(agent, branch, to)  # another agent spoke after it
            if record.kinds & END_OF_AGENT:
                return ResumePoint("ended", index + 1, closed=True)
            to = index + 1
            kind = ahead.add(index, record)
            if kind == "ended":
                return self._ended_point(agent, branch, to)
            if kind == "transfer":
                return ResumePoint("transfer", to, record)
        kind, record = ahead.next_step()
        return ResumePoint(kind, to, record)

    def take(self, agent: str, branch: str | None) -> ResumePoint:
        """Consume and return the resume point of an LLM agent."""
        reached = self.look(agent, branch)
        self._move_to(branch, reached.to)
        return reached

    def is_newest(self, record: EventRecord | None) -> bool:
        """Return whether no answer follows a record: the run was interrupted there."""
        if record is None or any(a.ids & {c for c, _ in record.calls} for a in self._answers):
            return False
        return any(r is record for i, r in self._records if i >= self._leg)

    def has_begun(self, agent: str, branch: str | None) -> bool:
        """Return whether an agent started its current run after the user's last message."""
        position = self._position_of(branch)
        mark = self._entries.get(agent)
        if mark is not None and not mark.ended and mark.at >= position:
            return True
        first = max(position, self._leg)
        return any(
            index >= first and record.author == agent and record.branch == branch
            for index, record in self._records
        )

    def take_end(self, agent: str, branch: str | None) -> bool:
        """Return whether the log holds the end of an agent's current run, and consume that end."""
        position = self._position_of(branch)
        for mark in self._ends:
            if mark.agent == agent and mark.branch == branch and mark.at > position:
                self._move_to(branch, mark.at)
                return True
        return False

    def is_over(self, branch: str | None) -> bool:
        """Return whether all records of a branch are consumed: the next action is a new one."""
        position = self._position_of(branch)
        return all(i < position or r.branch != branch for i, r in self._records)

    def enter(self, agent: str, branch: str | None) -> None:
        """Note that an agent resumes from its checkpoint: everything before it is done."""
        mark = self._entries.pop(agent, None)
        if mark is not None:
            self._entered.add(agent)
            self._at[branch] = max(self._position_of(branch), mark.at)

    def leave(self, agent: str, branch: str | None) -> None:
        """Note that an agent which went on from its checkpoint starts with something new."""
        if agent in self._entered:
            self._at[branch] = self._until

    def take_escalation(self, branch: str | None) -> bool:
        """Return whether a consumed record on a branch or below it escalated, and consume that."""
        found = [b for b in self._escalated if _on_branch(b, branch, below=True)]
        self._escalated = [b for b in self._escalated if b not in found]
        return bool(found)

    def _position_of(self, branch: str | None) -> int:
        return max(
            (at for b, at in self._at.items() if _on_branch(branch, b, below=True)), default=0
        )

    def _ended_point(self, agent: str, branch: str | None, to: int) -> ResumePoint:
        """Return that an agent has ended; with its end where that is the next thing on record."""
        for index, record in self._records:
            if index < to or record.branch != branch or record.kinds & ERROR:
                continue
            if record.author == agent and record.kinds & END_OF_AGENT:
                return ResumePoint("ended", index + 1, closed=True)
            break
        noted = (m for m in self._ends if (m.agent, m.branch) == (agent, branch))
        return ResumePoint("ended", to, closed=any(mark.at >= to for mark in noted))

    def _move_to(self, branch: str | None, to: int) -> None:
        since = self._position_of(branch)
        self._at[branch] = max(since, to)
        for index, record in self._records:
            if since <= index < to and '"escalate"' in record.data:
                if _on_branch(record.branch, branch, below=True):
                    if record.event().actions.escalate:
                        self._escalated.append(record.branch)


def is_last_word(record: EventRecord) -> bool:
    """Return whether a record ends its agent's turn without ending its task."""
    return not record.kinds & TASK_END and _Run([]).ends_run(record)


class _Answer(NamedTuple):
    """What the user said, or what came of a task: where, which calls it answers, and its scope."""

    at: int
    ids: set[str | None]
    scope: str | None


class _Run:
    """Reads the records of one run of one agent, in order."""

    __slots__ = ("_answers", "_calls", "_last", "begun")

    def __init__(self, answers: list[_Answer]) -> None:
        self._answers = answers
        self._calls: set[str | None] = set()
        self._last: EventRecord | None = None
        self.begun = False

    def add(self, index: int, record: EventRecord) -> Literal["ended", "transfer"] | None:
        """Read the next record; return how the run ends with it, or None if it does not.

        The user's answer to one of its calls reopens a run that had ended, and so does whatever the
        user says to a task.
        """
        kind = self._classify(record)
        if kind == "ended" and not record.kinds & TASK_END:
            for answer in self._answers:
                said = record.scope is not None and answer.scope == record.scope
                if answer.at > index and (said or answer.ids & self._calls):
                    return None
        return kind

    def ends_run(self, record: EventRecord) -> bool:
        """Return whether a record ends a run, whatever follows."""
        return self._classify(record) == "ended"

    def _classify(self, record: EventRecord) -> Literal["ended", "transfer"] | None:
        self.begun = True
        if record.kinds & (ERROR | AGENT_STATE):
            return None
        if record.responses:
            self._last = record
            if record.transfer_to_agent:
                return "transfer"
            if record.kinds & TASK_END:
                return "ended"
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

    def next_step(
        self,
    ) -> tuple[Literal["structured", "rejected", "code", "calls", "model"], Any]:
        """Return the step that follows the last record."""
        last = self._last
        if last is None:
            return "model", None
        if last.calls:
            return "calls", last
        event = last.event()
        if last.responses and event.actions.set_model_response is not None:
            return "structured", last
        if event.custom_metadata and REJECTED in event.custom_metadata:
            said = event.content is not None and event.content.role == "model"
            return ("rejected", last) if said else ("model", last)
        return ("code", last) if _ends_in_code(event) else ("model", last)


def _ends_in_code(event: Event) -> bool:
    parts = event.content.parts if event.content is not None else None
    return bool(parts) and parts[-1].executable_code is not None
