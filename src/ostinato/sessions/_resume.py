"""What a log says about an invocation: which calls are open, and what a resume goes on with. Pure.

The flow asks before each step of a resumable run, the runner asks when it resumes or seals one.
"""

from __future__ import annotations

from dataclasses import dataclass

from .event_log import EventLog, EventRecord


@dataclass(frozen=True, slots=True)
class OpenCall:
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

    What its tool gave at once is no answer. Counts the branch and those below it.
    """
    answered: set[str | None] = set()
    for record in log.invocation(invocation_id):
        if record.author == "user":
            answered.update(call for call, _ in record.responses)
        if record.long_running - answered and _on_branch(record.branch, branch, below=True):
            return True
    return False


def _on_branch(own: str | None, branch: str | None, below: bool) -> bool:
    if own == branch:
        return True
    return below and (branch is None or (own is not None and own.startswith(branch + ".")))
