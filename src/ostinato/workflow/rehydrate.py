"""What the log says about the nodes of an invocation: which runs have finished, with which output,
and which wait for whom. Pure: events and journal marks in, `Past` out.

A run of a node is named by its path, such as `line@1/ask@2`. It has finished once an event of that
very path holds its output, or a mark says that it ended without one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from ..context.invocation import InvocationContext
from ..events.event import NODE_CALL, Event, NodeInfo
from ..events.pending import ENDED
from ..events.request_input import DECLINED, REQUEST_INPUT
from ..sessions.log.event_log import (
    TASK_END,
    EventLog,
    EventRecord,
    is_task_of_graph,
)
from ..sessions.log.resume import is_last_word
from ..sessions.log.word_readers import read_word_scopes
from ..tools.json_fit import parse_answer
from .node_errors import ToolInDoubtError, ToolUnreachableError
from .stored_output import PLACES, from_json

REQUEST_CREDENTIAL = "adk_request_credential"

TOOL_ASKS = "ostinato:tool_asks"
"""Key of the custom metadata of a question that the body of a node's tool asks. The value is True
for a confirmation, and `QUESTION` for a question that can be declined."""

QUESTION = "question"

CUT = "ostinato:cut"
"""Key of the custom metadata of an event: the call of a tool node that the end of a run cut."""

CREDENTIAL_ID = "wf_auth:"
"""What the id of a node's request for a credential begins with; its path follows."""


class Mark(NamedTuple):
    """A run that ended and left no output event.

    Attributes:
      path: the run.
      at: index of the first record after its end.
      route: the route it gave.
      output: its output, where another node's event holds it.
    """

    path: str
    at: int
    route: Any = None
    output: Any = None


class Request:
    """Something that a run asked for, which is answered by a function response.

    Attributes:
      call_id: id of the call that stands for it.
      path: the run that asked.
      own: whether the node itself asked a person; else a long-running tool of an agent waits.
      stays: whether it waits on when the node fails: an approval, a credential or a result for an
        agent's call.
      schema: JSON schema of the answer; None accepts any value.
      answered: whether the answer is there.
      answer: the answer.
      answered_at: index of the record that holds the answer; -1 without an answer.
      withdrawn: whether the run failed, so that no node waits for it any more.
      can_decline: whether a tool asks, and takes `DECLINED` for an answer.
      task: whether it is a task that an agent works on, where `answered` says that it is the
        agent's turn.
    """

    __slots__ = (
        "answer",
        "answered",
        "answered_at",
        "call_id",
        "can_decline",
        "own",
        "path",
        "schema",
        "stays",
        "task",
        "withdrawn",
    )

    def __init__(self, call_id: str, path: str, own: bool, schema: dict[str, Any] | None) -> None:
        self.call_id, self.path, self.own, self.schema = call_id, path, own, schema
        self.answered = self.withdrawn = self.task = self.can_decline = self.stays = False
        self.answer: Any = None
        self.answered_at = -1

    def parse_answer(self, response: dict[str, Any] | None) -> Any:
        """Return the answer in a function response.

        Raises:
          ValueError: it does not fit the schema.
        """
        if self.can_decline and response in (DECLINED, {"result": DECLINED}):
            return dict(DECLINED)
        return parse_answer(response, self.schema)


class PastRun:
    """What is known about one run.

    Attributes:
      records: indexes of its records and of those below it.
      finished: place of its end in the log, or None if it has not ended.
      output, route: what it gave.
      has_output: whether it gave an output.
      requests: what it and those below it asked for, by call id.
      said: whether its output is what an agent with a model said; where the app is resumable, an
        event that the agent has ended comes after it.
      closed: whether that event is there.
      errors: how often it raised since it last asked for something or began.
      unreached: how many of these say that its tool's server could not be reached.
      doubts: how often the end of a run cut its tool's call, or the tool was not run again because
        the outcome of its call is unknown.
    """

    __slots__ = (
        "closed",
        "doubts",
        "errors",
        "finished",
        "has_output",
        "output",
        "records",
        "requests",
        "route",
        "said",
        "unreached",
    )

    def __init__(self) -> None:
        self.records: list[int] = []
        self.finished: float | None = None
        self.output: Any = None
        self.has_output = self.said = self.closed = False
        self.route: Any = None
        self.requests: dict[str, Request] = {}
        self.errors = self.doubts = self.unreached = 0

    @property
    def waiting(self) -> set[str]:
        """Ids of the requests that are not answered."""
        return {r.call_id for r in self.requests.values() if not (r.answered or r.withdrawn)}

    @property
    def answers(self) -> dict[str, Any]:
        """Answers by call id."""
        return {r.call_id: r.answer for r in self.requests.values() if r.answered and not r.task}

    def note_calls(self, record: EventRecord) -> None:
        """Note that an agent which has spoken continues with calls, because a late result came."""
        if self.said and record.calls:
            self.finished, self.closed = None, False

    @property
    def has_new_answer(self) -> bool:
        """Whether an answer came after the last record."""
        return any(r.answered_at > self.records[-1] for r in self.requests.values())

    @property
    def has_turn(self) -> bool:
        """Whether an agent has an answer with which to continue its task."""
        return any(r.task and r.answered for r in self.requests.values())


class Past:
    """What the nodes of one invocation had done, as far as the log was read.

    Args:
      invocation_id: the invocation.

    Attributes:
      runs: what is known, by path.
      newest: greatest number among the run ids of each path without its run id.
      leg: index of the first record after the user's newest message.
    """

    __slots__ = ("_asked", "_invocation_id", "_read_to", "leg", "newest", "runs")

    def __init__(self, invocation_id: str) -> None:
        self.runs: dict[str, PastRun] = {}
        self.newest: dict[str, int] = {}
        self.leg = 0
        self._invocation_id = invocation_id
        self._read_to = 0
        self._asked: dict[str, Request] = {}

    def read_log(self, log: EventLog, marks: Iterable[Mark] = ()) -> None:
        """Read the records that came since it was read last, and the marks."""
        for index in reversed([*log.indexes_of(self._invocation_id, self._read_to)]):
            self._add_record(index, log.records[index])
        self._read_to = len(log.records)
        for mark in marks:
            self.add_mark(mark)

    def add_mark(self, mark: Mark) -> None:
        """Take a mark into account."""
        run = self._ensure_run(mark.path)
        if run.finished is None:
            run.finished, run.route = mark.at - 0.5, mark.route
            if mark.output is not None:
                run.output, run.has_output = mark.output, True

    def find_request(self, call_id: str) -> Request | None:
        """Return the newest request with an id, or None."""
        return self._asked.get(call_id)

    def _ensure_run(self, path: str) -> PastRun:
        return self.runs.setdefault(path, PastRun())

    def _add_record(self, index: int, record: EventRecord) -> None:
        path = record.path
        if not path:
            if record.author == "user":
                self.leg = index + 1
                self._take_message(index, record)
            return
        fields: dict[str, Any] = json.loads(record.data)
        info: dict[str, Any] = fields["nodeInfo"]
        run = self._ensure_run(path)
        above = [run, *(self._ensure_run(each) for each in _list_ancestors(path))]
        for each in above:
            each.records.append(index)
        for each in _list_ancestors(path):
            self._count_run(each)
        self._count_run(path)
        run.note_calls(record)
        if "output" in fields or info.get("messageAsOutput"):
            said = "output" not in fields or bool(record.kinds & TASK_END)
            self._take_output(index, run, fields, path, said)
        self._take_effects(run, fields.get("actions") or {})
        if fields.get("longRunningToolIds"):
            self._take_requests(fields, path, above)
        metadata: dict[str, Any] = fields.get("customMetadata") or {}
        _take_call(run, index, metadata)
        ended: list[str] = metadata.get(ENDED) or []
        for call_id in ended:
            if (request := self._asked.get(call_id)) is not None:
                request.withdrawn = True  # its tool did not begin, so no result comes
        if record.scope is not None and is_task_of_graph(record.scope, path):
            self._take_task(record, path, above)
        if fields.get("errorCode") and "content" not in fields:
            run.errors += 1
            run.unreached += fields["errorCode"] == ToolUnreachableError.__name__
            run.doubts += fields["errorCode"] == ToolInDoubtError.__name__
            for request in run.requests.values():
                request.withdrawn |= not (request.answered or request.task or request.stays)

    def _take_effects(self, run: PastRun, actions: dict[str, Any]) -> None:
        if "route" in actions:
            run.route = actions["route"]
        if run.said and actions.get("endOfAgent"):
            run.closed = True

    def _count_run(self, path: str) -> None:
        name, _, run_id = path.rpartition("@")
        if run_id.isdigit():
            self.newest[name] = max(self.newest.get(name, 0), int(run_id))

    def _take_output(
        self, index: int, run: PastRun, fields: dict[str, Any], path: str, said: bool
    ) -> None:
        value: Any = fields["output"] if "output" in fields else _join_texts(fields)
        metadata: dict[str, Any] = fields.get("customMetadata") or {}
        value = from_json(value, metadata.get(PLACES, ()))
        for each in fields["nodeInfo"].get("outputFor") or [path]:
            above = self._ensure_run(each)
            above.output, above.has_output = value, True
        run.finished, run.said = float(index), said

    def _take_requests(self, fields: dict[str, Any], path: str, above: list[PastRun]) -> None:
        long_running = set(fields["longRunningToolIds"])
        for part in _read_parts(fields):
            call: dict[str, Any] = part.get("functionCall") or {}
            call_id = call.get("id")
            if call_id not in long_running:
                continue
            args: dict[str, Any] = call.get("args") or {}
            asks = call.get("name") == REQUEST_INPUT and "interruptId" in args
            own = asks or call_id == CREDENTIAL_ID + path
            request = Request(
                cast(str, call_id), path, own, args.get("response_schema") if asks else None
            )
            metadata: dict[str, Any] = fields.get("customMetadata") or {}
            request.stays = not own and call.get("name") != REQUEST_INPUT
            request.can_decline = metadata.get(TOOL_ASKS) == QUESTION
            self._asked[request.call_id] = request
            for run in above:
                run.requests[request.call_id] = request
            above[0].errors = above[0].unreached = 0

    def _take_task(self, record: EventRecord, path: str, above: list[PastRun]) -> None:
        """Note whose turn it is in a task: the user's, where its agent has said something last."""
        scope = record.scope or ""
        request = self._asked.get(scope)
        if request is None:
            request = self._asked[scope] = Request(scope, path, False, None)
            request.task = True
        for run in above:
            run.requests[scope] = request
        request.answered = not is_last_word(record)

    def _take_message(self, index: int, record: EventRecord) -> None:
        """Take what the user said: answers, or words for a task."""
        for scope in read_word_scopes(record):
            if scope in self._asked:
                self._asked[scope].answered = True
        for response in record.event().get_function_responses() if record.responses else ():
            request = self._asked.get(response.id or "")
            if request is None or request.answered or request.withdrawn:
                continue
            try:
                request.answer = request.parse_answer(response.response)
            except ValueError:  # by another program, which did not look; it is asked for again
                continue
            request.answered, request.answered_at = True, index


def _take_call(run: PastRun, index: int, metadata: dict[str, Any]) -> None:
    """Note that a tool node has ended, even with None, or that its call was cut."""
    if NODE_CALL in metadata and run.finished is None:
        run.finished = float(index)
    run.doubts += CUT in metadata


def _list_ancestors(path: str) -> list[str]:
    found: list[str] = []
    while "/" in path:
        path = path.rpartition("/")[0]
        found.append(path)
    return found


def _read_parts(fields: dict[str, Any]) -> list[dict[str, Any]]:
    content: dict[str, Any] = fields.get("content") or {}
    return content.get("parts") or []


def _join_texts(fields: dict[str, Any]) -> str:
    return "".join(p["text"] for p in _read_parts(fields) if p.get("text") and not p.get("thought"))


def make_cut_events(ctx: InvocationContext) -> Sequence[Event]:
    """Return an event for each tool node whose call has begun and has no end in the log.

    A later run of the invocation reads there that the outcome of the call is unknown.

    Args:
      ctx: the run, which ends now.
    """
    state, prefix = ctx.run_state, f"{ctx.invocation_id}:"
    begun = {*state.started_call_ids, *state.doubtful_calls}
    if state.journal is not None:
        begun.update(state.journal.list_calls_in_doubt())
    paths = sorted(one.removeprefix(prefix) for one in begun if one.startswith(prefix))
    if not paths:
        return ()
    past = Past(ctx.invocation_id)
    past.read_log(ctx.log)  # without the journal's marks, which end with the run
    return [_make_event(ctx, path) for path in paths if not _has_ended(past, path)]


def _has_ended(past: Past, path: str) -> bool:
    """Return whether the log has the end of a run, or an open question of it."""
    run = past.runs.get(path)
    return run is not None and (run.finished is not None or bool(run.waiting))


def _make_event(ctx: InvocationContext, path: str) -> Event:
    above, _, name = path.rpartition("/")
    author = above.rpartition("/")[2] or name
    return Event(
        author=author.partition("@")[0],
        invocation_id=ctx.invocation_id,
        branch=ctx.branch,
        isolation_scope=ctx.isolation_scope,
        node_info=NodeInfo(path=path),
        custom_metadata={CUT: [f"{ctx.invocation_id}:{path}"]},
    )
