"""What concurrent clients did to their sessions: operations with their times, effects, final logs.

Clients append lines to files, which outlive a process that is killed. Times are those of the
system's monotonic clock, which all processes of a machine share; only writes of state have times
of the wall clock, by which their order counts.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.world import Record

FOREVER = math.inf


@dataclass
class Operation:
    """One call of the public API.

    Attributes:
      name: unlike that of any other operation.
      client: the task that called; it does one thing at a time.
      session: the session's id.
      kind: `read`, `tail`, `append`, `message`, `submit`, `answer` or `cancel`.
      invoked, returned: when; `returned` is infinite if it never did.
      outcome: `ok`; `fail` (nothing was stored, by the promise of the API); `info` (unknown).
      data: what was asked for.
      result: what came back.
      error: the class of the error, and its text.
      accepted: when the message was known to be stored.
      seen: events that were handed on, with the times.
    """

    name: str
    client: str
    session: str
    kind: str
    invoked: float
    returned: float = FOREVER
    outcome: str = "info"
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""
    accepted: float = FOREVER
    seen: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    @property
    def tag(self) -> str:
        """The mark of what it writes; the same for each try of one request."""
        return str(self.data.get("tag", ""))


@dataclass
class Logged:
    """An event of a final log.

    Attributes:
      id, author, invocation: as in the event.
      time: when it was made, by the wall clock.
      tag: its text, or the mark of an answer.
      delta: the state that it writes.
      calls: id and name of each function call.
      responses: id, name and content of each function response.
    """

    id: str
    author: str = "root"
    invocation: str = ""
    time: float = 0.0
    tag: str = ""
    delta: dict[str, Any] = field(default_factory=dict[str, Any])
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    responses: list[tuple[str, str, dict[str, Any]]] = field(
        default_factory=list[tuple[str, str, dict[str, Any]]]
    )


@dataclass
class Final:
    """A session after everything has settled, as a new process reads it.

    Attributes:
      events: its log.
      state: its state.
      left: what is left of leases and of the inbox, and what else did not settle.
    """

    events: list[Logged] = field(default_factory=list[Logged])
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    left: list[str] = field(default_factory=list[str])


@dataclass
class Effect:
    """What a tool did outside of the session.

    Attributes:
      tool: the tool.
      what: the message that it was done for.
      session: where.
      call: the id of the call.
      key: its idempotency key; empty if the tool uses none.
      value: what it wrote into the state after that.
      time: when, by the monotonic clock.
      written: when it wrote the state, by the wall clock: not before, and not after.
    """

    tool: str
    what: str
    session: str
    call: str
    key: str = ""
    value: str = ""
    time: float = 0.0
    written: tuple[float, float] = (0.0, FOREVER)


@dataclass
class History:
    """What happened, and what is left.

    Attributes:
      clocks_agree: whether all clients had the same time, by which writes of state are ordered.
    """

    operations: list[Operation] = field(default_factory=list[Operation])
    effects: list[Effect] = field(default_factory=list[Effect])
    finals: dict[str, Final] = field(default_factory=dict[str, Final])
    clocks_agree: bool = True


class Recorder:
    """Notes the operations of one client in a file.

    Args:
      path: the file.
      client: the client's name.
    """

    def __init__(self, path: Path, client: str) -> None:
        self._file = Record(path)
        self._client = client
        self._count = 0
        self._read: dict[str, list[str]] = {}

    def begin(self, kind: str, session: str, **data: Any) -> str:
        """Note that an operation is about to be called; return its name."""
        self._count += 1
        name = f"{self._client}-{self._count}"
        self._note(name, "invoke", client=self._client, kind=kind, session=session, data=data)
        return name

    def accept(self, name: str) -> None:
        """Note that the message of an operation is stored."""
        self._note(name, "accepted")

    def see(self, name: str, event_id: str) -> None:
        """Note an event that an operation has handed on."""
        self._note(name, "event", id=event_id)

    def end(self, name: str, outcome: str, error: str = "", **result: Any) -> None:
        """Note how an operation ended."""
        self._note(name, outcome, error=error, result=result)

    def end_read(self, name: str, session: str, ids: Sequence[str], **result: Any) -> None:
        """Note what a read has returned, as the difference from the one before."""
        before = self._read.get(session, [])
        kept = 0
        while kept < min(len(before), len(ids)) and before[kept] == ids[kept]:
            kept += 1
        self._read[session] = list(ids)
        self._note(name, "ok", error="", result={**result, "kept": kept, "ids": list(ids[kept:])})

    def _note(self, name: str, step: str, **values: Any) -> None:
        self._file.add({"op": name, "step": step, "time": time.monotonic(), **values})


def read_operations(paths: Iterable[Path]) -> list[Operation]:
    """Read the files of recorders; an operation whose end is missing stays unknown."""
    found: dict[str, Operation] = {}
    for path in paths:
        reads: dict[tuple[str, str], list[str]] = {}
        for line in Record(path).items():
            _apply_line(found, reads, line)
    return sorted(found.values(), key=lambda each: each.invoked)


def _apply_line(
    found: dict[str, Operation], reads: dict[tuple[str, str], list[str]], line: dict[str, Any]
) -> None:
    name, step, when = line["op"], line["step"], line["time"]
    if step == "invoke":
        found[name] = Operation(
            name, line["client"], line["session"], line["kind"], when, data=line["data"]
        )
    elif step == "accepted":
        found[name].accepted = when
    elif step == "event":
        found[name].seen.append((line["id"], when))
    else:
        done = found[name]
        done.returned, done.outcome = when, step
        done.error, done.result = line["error"], line["result"]
        if "kept" in done.result:
            place = (done.client, done.session)
            ids = reads.get(place, [])[: done.result.pop("kept")] + done.result["ids"]
            done.result["ids"] = reads[place] = ids


def read_history(folder: Path) -> History:
    """Read what a round has left in its folder."""
    lines = Record(folder / "effects").items()
    until = {line["value"]: line["until"] for line in lines if "until" in line}
    effects = [
        Effect(**{**line, "written": (line["written"][0], until.get(line["value"], FOREVER))})
        for line in lines
        if "until" not in line
    ]
    told = json.loads((folder / "final.json").read_text())
    finals = {
        session: Final([Logged(**each) for each in one["events"]], one["state"], one["left"])
        for session, one in told.items()
    }
    return History(read_operations(sorted(folder.glob("*.jsonl"))), effects, finals)
