"""Approval: a person's answer to a policy's question, bound to the arguments that the rules judged.

A callback before the tool may change the arguments, and a default factory may give another value at
each reading. So the person is shown what would run, and the approval holds for nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from ... import types
from ...auth.tool_confirmation import ToolConfirmation
from ...sessions.log.call_requests import REQUEST_CONFIRMATION, AnswerAbout, answers_about, call_of
from ...sessions.log.confirmation_answers import read_confirmation
from ...sessions.log.event_log import EventLog
from .conditions import select_values, split_pointer
from .notes import JUDGED, read_question_note
from .tool_request import ToolRequest

_MOST_APPROVALS = 5  # for one call, if each finds other arguments
_MOST_SHOWN = 4_000  # characters


class _Decision(NamedTuple):
    """A person's decision on a call.

    Attributes:
      confirmation: approval or rejection.
      edited: the edited arguments; None without an edit.
      judged: the digest of the arguments that a policy asked about; None if the tool itself asked.
      asked: the arguments of the call that was asked about.
    """

    confirmation: ToolConfirmation
    edited: dict[str, Any] | None
    judged: str | None
    asked: Mapping[str, Any]


class Approval:
    """Looks for the answer to a call with the arguments that are about to run.

    Args:
      log: the session's records.
      call: the call, as the model made it or a person edited it.
      request: the call with the arguments that are about to run.
      pointers: the arguments on which rules decide.

    Attributes:
      call: the call.
    """

    def __init__(
        self,
        log: EventLog,
        call: types.FunctionCall,
        request: ToolRequest,
        pointers: Collection[str],
    ) -> None:
        self._log = log
        self.call = call
        self._request = request
        self._paths = [split_pointer(one) for one in sorted(pointers)]

    @cached_property
    def digest(self) -> str:
        """A hash of the arguments: as given, and where rules look as the tool reads them.

        What no rule looks at is left out of the reading: a tool may make up an id each time.
        """
        values = [
            [path, select_values(self._read, path)] for path in self._paths if path[0] in self._read
        ]
        text = write_json([self._request.args, values])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @cached_property
    def _read(self) -> Mapping[str, Any]:
        names = {path[0] for path in self._paths}
        read = self._request.read
        return {} if read is None or not names else read(names)

    @cached_property
    def answer(self) -> ToolConfirmation | None:
        """The person's newest answer to the call with these arguments; None without one.

        An approval of another question, such as whether to run a call in doubt again, leaves the
        one before it in force.
        """
        for number, decision in enumerate(self._decisions()):
            if not decision.confirmation.confirmed:
                return decision.confirmation if number == 0 else None
            if self._fits(decision):
                return decision.confirmation
            if decision.edited is not None or decision.judged is not None:
                return None
        return None

    @property
    def is_exhausted(self) -> bool:
        """Whether the call changed after so many approvals that no person is asked again."""
        approved = [one for one in self._decisions() if one.confirmation.confirmed]
        return len(approved) >= _MOST_APPROVALS

    def describe_changes(self) -> str:
        """Return the arguments that would run and are not those of the call; empty without any."""
        given, shown = self.call.args or {}, self._request.args
        changed = {
            name: value
            for name, value in shown.items()
            if name not in given or write_json(value) != write_json(given[name])
        }
        for path in self._paths:
            before, values = select_values(shown, path), select_values(self._read, path)
            if path[0] in self._read and [*map(str, before)] != [*map(str, values)]:
                changed["/" + "/".join(map(str, path))] = values[0] if len(values) == 1 else values
        missing = [name for name in given if name not in shown]
        if not changed and not missing:
            return ""
        parts = [write_json(changed)] if changed else []
        parts += [f"without {', '.join(missing)}"] if missing else []
        text = ", ".join(parts)
        if len(text) > _MOST_SHOWN:
            text = f"{text[:_MOST_SHOWN]}... ({len(text):,} characters)"
        return f"It runs with other arguments than the model gave: {text}"

    def _fits(self, decision: _Decision) -> bool:
        """Return whether a decision is about the arguments that are about to run."""
        if decision.edited is not None:
            return write_json(decision.edited) == write_json(self._request.args)
        if decision.judged is not None:
            return decision.judged == self.digest
        return write_json(decision.asked) == write_json(self._request.args)

    def _decisions(self) -> Iterator[_Decision]:
        """Yield the person's decisions on the call, newest first; none after an unreadable one."""
        call_id = self.call.id or ""
        edits: list[dict[str, Any] | None] = []
        read: list[tuple[ToolConfirmation, dict[str, Any] | None, AnswerAbout]] = []
        for one in answers_about(self._log, call_id):
            if one.name != REQUEST_CONFIRMATION:
                continue
            try:
                confirmation, edited = read_confirmation(one.response)
            except ValueError:  # another program stored it
                break
            read.append((confirmation, edited, one))
            edits.append(edited)
        for at, (confirmation, edited, one) in enumerate(read):
            note = read_question_note(one.request, call_id) or {}
            source = None if one.source is None else call_of(one.source, call_id)
            before = next((edit for edit in edits[at:] if edit is not None), None)
            asked = before if before is not None else (source and source.args) or {}
            yield _Decision(confirmation, edited, note.get(JUDGED), asked)


def write_json(value: Any) -> str:
    """Return any arguments as one text; equal ones have equal texts."""
    try:
        return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # a callback put something else there
        return repr(value)
