"""Resume points and open calls of an invocation, read from its log by pure functions.

The flow asks before each step of a resumable run, the runner asks when it resumes or seals one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
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
    visible_indexes,
)
from .late_results import read_late_results
from .word_readers import read_word_readers, read_word_scopes

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
    """Return the calls of an invocation that have no response yet in any, oldest first.

    Args:
      log: the session's records.
      invocation_id: the invocation.
      branch: only calls made on this branch.
      below: calls of the branches below it too; with `branch` None, of all branches.
    """
    answered: set[str | None] = set()
    found: list[OpenCall] = []
    for record in _since_start(log, invocation_id):
        answered.update(call for call, _ in record.responses)
        if record.invocation_id != invocation_id or not record.calls:
            continue
        if not _on_branch(record.branch, branch, below):
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
    for record in _since_start(log, invocation_id):
        if record.author == "user" or (record.responses and record.has_metadata(SEALED)):
            answered.update(call for call, _ in record.responses)
        if record.invocation_id == invocation_id and record.long_running - answered:
            if _on_branch(record.branch, branch, below=True):
                return True
    return False


def callers_of(log: EventLog, call_id: str) -> Iterator[tuple[EventRecord, str]]:
    """Yield the record and id of a call, then those of the calls of the agents around it."""
    record = log.find_call(call_id)
    while record is not None:
        yield record, call_id
        call_id = record.scope or ""
        record = log.find_call(call_id) if call_id else None


def agent_waits_for_answer(
    log: EventLog, invocation_id: str, branch: str | None, scope: str | None
) -> bool:
    """Return whether a run of an agent waits for an answer. A called agent waits for its earlier
    calls, too, in a run that a message with an idempotency key resumes.

    Args:
      log: the session's records.
      invocation_id: the invocation of the run.
      branch: the agent's branch.
      scope: its isolation scope.
    """
    called = None if scope is None else log.find_call(scope)
    begun = invocation_id if called is None else called.invocation_id
    return any(waits_for_answer(log, one, branch) for one in {invocation_id, begun})


def _since_start(log: EventLog, invocation_id: str) -> Iterator[EventRecord]:
    """Yield the visible records since an invocation began, newest first: those of others, too,
    because a message with an idempotency key answers its calls in an invocation of its own."""
    start = log.start_of(invocation_id)
    if start is not None:
        yield from (log.records[index] for index in visible_indexes(log, start))


def _is_users_turn(log: EventLog, scope: str) -> bool:
    """Return whether the newest record of a task is its agent's final response."""
    newest = _find_newest(log, scope)
    return newest is not None and newest.author != "user" and is_last_word(newest)


def waits_for_words(log: EventLog, scope: str) -> bool:
    """Return whether the newest record of a task is what its agent said to the user."""
    newest = _find_newest(log, scope)
    return newest is not None and not newest.responses and _is_users_turn(log, scope)


def _find_newest(log: EventLog, scope: str) -> EventRecord | None:
    """Return the newest record of a scope, or message for it."""
    for record in reversed(log.records):
        if record.scope == scope or any(one.scope == scope for one in read_word_readers(record)):
            return record
    return None


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
                calls = ids | _calls_around(log, index)
                self._answers.append(_Answer(index, ids, calls, read_word_scopes(record)))
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
                if record.responses:
                    continue  # late results of an agent that had handed over to this one
                if ahead.find_answer(index) is not None:
                    continue  # said before the user answered a call of this agent
                if ahead.runs_tools():
                    continue  # said by a node that a tool of this agent has run
                return self._ended_point(agent, branch, to)  # another agent spoke after it
            to = index + 1
            if record.kinds & END_OF_AGENT:
                if not ahead.is_reopened(index, record.scope):
                    return ResumePoint("ended", to, closed=True)
                continue
            kind = ahead.add(index, record)
            if kind == "ended":
                return self._ended_point(agent, branch, to)
            if kind == "transfer" and not self._is_answered_after(ahead, index, record):
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

    def _is_answered_after(self, run: _Run, index: int, transfer: EventRecord) -> bool:
        """Return whether the user answers a call of a run that has handed over once the agent that
        took over has ended, so that the run's own agent has to act on the answer.

        Args:
          run: the run, as read so far.
          index: index of the record with the transfer.
          transfer: that record.
        """
        at = run.find_answer(index)
        if at is None:
            return False
        ended: dict[tuple[str | None, str | None], bool] = {}  # by branch and scope
        made, done = set[str | None](), set[str | None]()
        for position, record in self._records:
            if not index < position < at or record.kinds & (ERROR | AGENT_STATE | END_OF_AGENT):
                continue
            if _on_branch(record.branch, transfer.branch, below=True):
                made.update(call for call, _ in record.calls)
                done.update(call for call, _ in record.responses)
                if record.calls or record.responses or _Run([]).ends_run(record):
                    ended[record.branch, record.scope] = _Run([]).ends_run(record)
        for answer in self._answers:
            if answer.at >= at and answer.calls & made:
                return False  # the agent that took over acts on it
            done |= answer.ids
        return bool(ended) and all(
            is_over if scope == transfer.scope else scope in done
            for (_, scope), is_over in ended.items()
        )

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
    """What the user said, or what came of a task.

    Attributes:
      at: index of its record.
      ids: the calls that it answers.
      calls: these, and the calls of the agents that made them.
      scopes: the isolation scopes that it is for.
    """

    at: int
    ids: set[str | None]
    calls: set[str | None]
    scopes: set[str | None]


def _calls_around(log: EventLog, index: int) -> set[str]:
    """Return the calls, open at a user's answer, of the agents that made the answered calls.

    An agent that had ended by then is not resumed; its caller reads the answer if it is a late
    result, and has nothing new to act on otherwise.

    Args:
      log: the session's records.
      index: index of the answer.
    """
    found: set[str] = set()
    answer = log.records[index]
    if answer.kinds & TASK_ANSWER:
        return found
    late = read_late_results(answer)
    for call_id, _ in answer.responses:
        asked = log.find_call(call_id or "")
        while asked is not None and asked.scope is not None and asked.scope not in found:
            if call_id not in late and not _is_open_at(log, asked.scope, index):
                break
            found.add(asked.scope)
            asked = log.find_call(asked.scope)
    return found


def _is_open_at(log: EventLog, call_id: str, index: int) -> bool:
    """Return whether a call of an agent had no response before a record."""
    for record in reversed(log.records[:index]):
        if any(call == call_id for call, _ in record.responses):
            return False
        if any(call == call_id for call, _ in record.calls):
            return True
    return False


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

        The user's answer to one of its calls, or to a call of an agent that it called, reopens a
        run that had ended, and so does whatever the user says to a task.
        """
        kind = self._classify(record)
        if kind == "ended" and not record.kinds & TASK_END:
            if self.is_reopened(index, record.scope):
                return None
        return kind

    def is_reopened(self, index: int, scope: str | None) -> bool:
        """Return whether the user answers a call of the run, or says something to its task, after
        the record with an index: a further update of a long-running call, for instance."""
        if scope is not None and any(a.at > index and scope in a.scopes for a in self._answers):
            return True
        return self.find_answer(index) is not None

    def find_answer(self, index: int) -> int | None:
        """Return the index of the newest answer to a call of the run that follows the record with
        an index, or None."""
        for answer in reversed(self._answers):
            if answer.at > index and answer.calls & self._calls:
                return answer.at
        return None

    def runs_tools(self) -> bool:
        """Return whether the tools of the newest record have not responded."""
        last = self._last
        return last is not None and any(call not in last.long_running for call, _ in last.calls)

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
