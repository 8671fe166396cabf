"""The event log: compact records of committed events, as the runtime reads them.

A stored event is one `EventRecord`; `Event` is its live view, built on demand. The log of
a session is shared by its store, by the `Session` handed to a run and by the projections of
`flows/llm_flows/history/projection.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from ... import types
from ..._log import get_logger
from ...errors import StoreError
from ...events.event import AgentPlace, Event, NodeInfo, place_in_tree
from ...events.event_actions import EventActions, EventCompaction
from .event_json import (
    COLUMNS,
    PLACE_KEY,
    drop_unknown_fields,
    read_agent_path,
    text_of,
    unreadable_error,
    unstorable_error,
)

# Kinds of records that the runtime looks for without building the Event.
COMPACTION = 1
REWIND = 2
AGENT_STATE = 4
END_OF_AGENT = 8
STATE_DELTA = 16
ARTIFACT_DELTA = 32
ERROR = 64
TASK_END = 128  # the response of finish_task, with the output of the task
TASK_ANSWER = 256  # that output as the answer to the call that delegated the task

FINISH_TASK = "finish_task"
"""Name of the tool with which an agent says that the task it was given is done."""

# Readers of JSON stop at 200 levels; what has fewer brackets cannot be that deep.
_SHALLOW = 190
_TEXT_CLASSES = (str, type(None))
_Fields = TypeVar("_Fields", bound=BaseModel)
_logger = get_logger(__name__)

# Shared, as every set that lives on costs each pass of the collector.
_NO_IDS: frozenset[str] = frozenset()


class EventRecord:
    """One committed event in compact form; immutable, but for fields that nothing can read.

    Attributes:
      id, invocation_id, author, branch, timestamp: as in the Event.
      data: the rest of the Event as JSON text, nulls left out.
      kinds: sum of the kind constants of this module.
      calls: (id, name) of each function call.
      responses: (id, name) of each function response.
      long_running: ids of calls of long-running tools.
      transfer_to_agent: target of a transfer.
      scope: isolation scope; None for the conversation itself.
      path: path of the node in a graph that it comes from; empty outside of graphs.
    """

    __slots__ = (
        "author",
        "branch",
        "calls",
        "data",
        "id",
        "invocation_id",
        "kinds",
        "long_running",
        "path",
        "responses",
        "scope",
        "timestamp",
        "transfer_to_agent",
    )

    def __init__(
        self,
        *,
        id: str,
        invocation_id: str,
        author: str,
        branch: str | None,
        timestamp: float,
        data: str,
    ) -> None:
        self.id = id
        self.invocation_id = invocation_id
        self.author = author
        self.branch = branch
        self.timestamp = timestamp
        self.data = data
        self.kinds = 0
        self.calls: tuple[tuple[str | None, str], ...] = ()
        self.responses: tuple[tuple[str | None, str], ...] = ()
        self.long_running: frozenset[str] = _NO_IDS
        self.transfer_to_agent: str | None = None
        self.scope: str | None = None
        self.path = ""

    def has_metadata(self, key: str) -> bool:
        """Return whether the event's custom metadata has a key; text elsewhere does not count."""
        if f'"{key}"' not in self.data:
            return False
        fields: dict[str, Any] = json.loads(self.data)
        return key in (fields.get("customMetadata") or {})

    @classmethod
    def of(cls, event: Event, *, fallback: Any = None) -> EventRecord:
        """Take a snapshot of `event`; later edits of it do not show.

        Args:
          event: the event to store.
          fallback: what to store in place of a value that JSON cannot carry; without it such a
            value raises.

        Raises:
          InputValidationError: the event holds something that JSON cannot carry.
        """
        actions = event.actions
        has_effects = not actions.is_empty()
        try:
            data = text_of(event, has_effects, fallback)
            # Each level takes two characters at least, and most events are short.
            if len(data) > 2 * _SHALLOW and data.count("[") + data.count("{") > _SHALLOW:
                from_json(data)  # fails where it is nested deeper than a reader goes
        except ValidationError as error:
            raise unreadable_error(event, "record", error) from error
        except ValueError as error:
            raise unstorable_error(event, error) from error
        event_class = type(event)
        record = (cls if event_class is Event else _SubclassRecord)(
            id=event.id,
            invocation_id=event.invocation_id,
            author=event.author,
            branch=event.branch,
            timestamp=event.timestamp,
            data=data,
        )
        if event_class is not Event:
            cast("_SubclassRecord", record).event_class = event_class
        record.scope = event.isolation_scope
        info, content, waiting = event.node_info, event.content, event.long_running_tool_ids
        if type(info) is not AgentPlace:
            record.path = info.path
        parts = content.parts if content is not None else None
        if parts:
            record._note_parts(event, parts)
        if waiting:
            record.long_running = frozenset(waiting)
        if has_effects:
            record.transfer_to_agent = actions.transfer_to_agent
            record.kinds = _flags_of(actions)
        if content is None and event.error_code:
            record.kinds |= ERROR
        if record.responses:
            record.kinds |= _task_kinds(record, event.output is not None, record.path)
        return record

    def _note_parts(self, event: Event, parts: Sequence[types.Part]) -> None:
        """Fill in calls and responses.

        What was assigned to a part was not validated: of the wrong type, it would be stored, and
        fail each later reading.

        Raises:
          InputValidationError: a text, name, id, or the arguments of a call are of another type.
        """
        for part in parts:
            call, response = part.function_call, part.function_response
            if call is not None:
                if _is_odd(call.id, call.name, call.args):
                    raise unreadable_error(event, "function call", call)
                self.calls += ((call.id, call.name or ""),)
            elif response is not None:
                if _is_odd(response.id, response.name, response.response):
                    raise unreadable_error(event, "function response", response)
                self.responses += ((response.id, response.name or ""),)
            elif part.text.__class__ not in _TEXT_CLASSES and not _is_text(part.text):
                raise unreadable_error(event, "text", part.text)

    @classmethod
    def from_columns(
        cls,
        *,
        id: str,
        invocation_id: str,
        author: str,
        branch: str | None,
        timestamp: float,
        data: str,
    ) -> EventRecord:
        """Build the record of an event that a store kept as columns and JSON text."""
        record = cls(
            id=id,
            invocation_id=invocation_id,
            author=sys.intern(author),  # authors are few, and a store reads a new text for each row
            branch=branch,
            timestamp=timestamp,
            data=data,
        )
        if "function" in data or '"actions"' in data or '"errorCode"' in data:
            record._read_marks()
        elif '"isolationScope"' in data or '"nodeInfo"' in data:
            record._read_marks()
        return record

    def _read_marks(self) -> None:
        """Fill in calls, responses and kinds from the JSON text."""
        fields: dict[str, Any] = json.loads(self.data)
        content: dict[str, Any] = fields.get("content") or {}
        parts: list[dict[str, dict[str, Any]]] = content.get("parts") or []
        for part in parts:
            if "functionCall" in part:
                call = part["functionCall"]
                self.calls += ((call.get("id"), sys.intern(call.get("name") or "")),)
            elif "functionResponse" in part:
                response = part["functionResponse"]
                self.responses += ((response.get("id"), sys.intern(response.get("name") or "")),)
        if fields.get("longRunningToolIds"):  # else the shared empty set: each other is 216 bytes
            self.long_running = frozenset(fields["longRunningToolIds"])
        self.scope = fields.get("isolationScope")
        if "actions" in fields:
            try:
                actions = EventActions.model_validate(fields["actions"])
            except ValidationError:
                self._drop_unknown_fields()
                actions = EventActions.model_validate(json.loads(self.data)["actions"])
            self.transfer_to_agent = actions.transfer_to_agent
            self.kinds = _flags_of(actions)
        if fields.get("errorCode") and "content" not in fields:
            self.kinds |= ERROR
        if PLACE_KEY not in fields:
            place: dict[str, str] = fields.get("nodeInfo") or {}
            self.path = place.get("path", "")
        if self.responses:
            self.kinds |= _task_kinds(self, "output" in fields, self.path)

    def read_as(self, kind: type[_Fields]) -> _Fields:
        """Read the text as a model that has some of an event's fields.

        Raises:
          StoreError: the stored text is not that of an event.
        """
        try:
            # Past `model_validate_json`, which adds a call for each event.
            return kind.__pydantic_validator__.validate_json(self.data)
        except ValueError:
            self._drop_unknown_fields()
            return kind.model_validate_json(self.data)

    def _drop_unknown_fields(self) -> None:
        """Drop the fields from the text that this version does not know.

        Raises:
          StoreError: the stored text is not that of an event.
        """
        try:
            self.data, dropped = drop_unknown_fields(self.data)
        except ValueError as error:
            raise StoreError(
                f"Event {self.id!r} is not stored as one ({error}); the session store is damaged: "
                "restore a backup."
            ) from error
        _logger.warning(
            "Event %r was stored with fields that this version does not know; they are ignored: "
            "%s. A subclass or a newer version wrote them.",
            self.id,
            ", ".join(dropped),
        )

    def event(self) -> Event:
        """Build the live view; a new object at each call.

        Raises:
          StoreError: the stored text is not that of an event.
        """
        event = self.read_as(Event)
        # Past pydantic, which takes longer to assign five fields than to read the text.
        vars(event).update(
            id=self.id,
            invocation_id=self.invocation_id,
            author=self.author,
            branch=self.branch,
            timestamp=self.timestamp,
        )
        event.__pydantic_fields_set__.update(COLUMNS)
        path = read_agent_path(self.data)
        if path:
            place_in_tree(event, path)
        return event

    def place(self) -> NodeInfo:
        """Return the place for another event of the run that this one comes from."""
        path = read_agent_path(self.data)
        return AgentPlace(path=path) if path else NodeInfo(path=self.path)


class _SubclassRecord(EventRecord):
    """The record of an event of a class derived from Event; read from a database it is an Event."""

    __slots__ = ("event_class",)
    event_class: type[Event]

    def event(self) -> Event:
        """Build the live view, of the event's class unless it refuses its own JSON text."""
        plain = super().event()
        try:
            event = self.event_class.model_validate_json(self.data)
        except ValueError:
            return plain
        for name in ("id", "invocation_id", "author", "branch", "timestamp", "node_info"):
            setattr(event, name, getattr(plain, name))
        return event


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_odd(id: object, name: object, value: object) -> bool:
    """Return whether the fields of a call or response have types that cannot be read again."""
    if id.__class__ is str and name.__class__ is str and value.__class__ is dict:
        return False
    return (
        (id is not None and not isinstance(id, str))
        or (name is not None and not isinstance(name, str))
        or (value is not None and not isinstance(value, dict))
    )


def _task_kinds(record: EventRecord, has_output: bool, path: str) -> int:
    if record.author == "user":
        return TASK_ANSWER if path else 0  # an answer of the user's own comes from no node
    if has_output and any(name == FINISH_TASK for _, name in record.responses):
        return TASK_END
    return 0


def _flags_of(actions: EventActions) -> int:
    return (
        (COMPACTION if actions.compaction else 0)
        | (REWIND if actions.rewind_before_invocation_id else 0)
        | (AGENT_STATE if actions.agent_state is not None else 0)
        | (END_OF_AGENT if actions.end_of_agent else 0)
        | (STATE_DELTA if actions.state_delta else 0)
        | (ARTIFACT_DELTA if actions.artifact_delta else 0)
    )


class EventLog:
    """The records of one session, oldest first, with the indexes a run needs.

    Attributes:
      records: the records; append through `append` only.
      offset: how many events of the session were not loaded; with the number of records it makes
        the number of the newest event.
      unanswered: records of calls without a response so far, by the id of the call.
      scopes: isolation scopes that have events, each named by the call that was delegated; with the
        record that ended its task, once there is one.
      tasks: tasks within graphs that are not done, by their scope: the first record of each.
      views: projections of this log; each owner stores one under its own key.
    """

    __slots__ = (
        "_called",
        "_first",
        "_has_rewinds",
        "_ids",
        "_with_long_running",
        "offset",
        "records",
        "scopes",
        "tasks",
        "unanswered",
        "views",
    )

    def __init__(self, records: Iterable[EventRecord] = (), *, offset: int = 0) -> None:
        self.records: list[EventRecord] = []
        self.offset = offset
        self.views: dict[Hashable, Any] = {}
        self._ids: set[str] = set()
        self._first: dict[str, int] = {}
        self._has_rewinds = False
        # An empty set for each session would be 200 B.
        self._called: set[str | None] | None = None
        self._with_long_running: set[str] | None = None
        self.unanswered: dict[str | None, EventRecord] = {}
        self.scopes: dict[str, EventRecord | None] = {}
        self.tasks: dict[str, EventRecord] = {}
        for record in records:
            self.append(record)

    def __len__(self) -> int:
        return len(self.records)

    def append(self, record: EventRecord) -> bool:
        """Add a record; return False, and do nothing, where one with its id is there already."""
        if record.id in self._ids:
            return False
        self._ids.add(record.id)
        if self.records and record.invocation_id == self.records[-1].invocation_id:
            record.invocation_id = self.records[-1].invocation_id  # one text for all its events
        self._first.setdefault(record.invocation_id, len(self.records))
        self.records.append(record)
        self._has_rewinds = self._has_rewinds or bool(record.kinds & REWIND)
        if record.long_running:
            self._with_long_running = self._with_long_running or set()
            self._with_long_running.add(record.invocation_id)
        if record.scope is not None:
            ended = record if record.kinds & TASK_END else self.scopes.get(record.scope)
            self.scopes[record.scope] = ended
            if record.path:
                self._note_task(record.scope, record)
        if record.calls:
            called = self._called = self._called or set()
            for call, _ in record.calls:
                self.unanswered[call] = record
                called.add(call)
        for call, _ in record.responses:
            self.unanswered.pop(call, None)
        if record.responses and not self.unanswered:
            self.unanswered.clear()  # gives its memory back
        return True

    def _note_task(self, scope: str, record: EventRecord) -> None:
        if is_task_of_graph(scope, record.path):
            if self.scopes[scope] is None:
                self.tasks.setdefault(scope, record)
            else:
                self.tasks.pop(scope, None)

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._ids

    def start_of(self, invocation_id: str) -> int | None:
        """Return the index of an invocation's first record, or None."""
        return self._first.get(invocation_id)

    def invocation(self, invocation_id: str, branch: str | None = None) -> Iterator[EventRecord]:
        """Yield the records of one invocation that no rewind hides, newest first.

        Args:
          invocation_id: the invocation.
          branch: where given, records of this branch only.
        """
        for index in self.indexes_of(invocation_id):
            if branch is None or self.records[index].branch == branch:
                yield self.records[index]

    def indexes_of(self, invocation_id: str, since: int = 0) -> Iterator[int]:
        """Yield the indexes of an invocation's records that no rewind hides, newest first.

        Args:
          invocation_id: the invocation.
          since: the first index that counts.
        """
        start = self._first.get(invocation_id)
        if start is None:
            return
        start = max(start, since)
        every = range(len(self.records) - 1, start - 1, -1)
        for index in visible_indexes(self, start) if self._has_rewinds else every:
            if self.records[index].invocation_id == invocation_id:
                yield index

    def take_call_ids(self, ids: Sequence[str | None]) -> set[str | None]:
        """Take ids for new calls, before their event is committed.

        Returns:
          The ids that earlier calls of this session have.
        """
        called = self._called = self._called or set()
        repeated = called.intersection(ids)
        called.update(ids)
        return repeated

    @property
    def has_long_running(self) -> bool:
        """Whether any record calls a long-running tool."""
        return self._with_long_running is not None

    def called_long_running(self, invocation_id: str) -> bool:
        """Return whether an invocation called long-running tools."""
        return invocation_id in (self._with_long_running or ())

    def is_over(self, call_id: str | None) -> bool:
        """Return whether a call was delegated and answered, in any invocation."""
        return call_id in self.scopes and call_id not in self.unanswered

    def find_call(self, call_id: str) -> EventRecord | None:
        """Return the newest record that holds the function call with this id."""
        for record in reversed(self.records):
            if record.calls and any(call == call_id for call, _ in record.calls):
                return record
        return None


def scope_of_node(outer: str, path: str) -> str:
    """Return the isolation scope of a task agent that is a node of a graph.

    Args:
      outer: the scope in which the graph runs; the invocation's id if it runs in no scope.
      path: where the node runs.
    """
    return f"{outer}:{path}"


def is_task_of_graph(scope: str, path: str) -> bool:
    """Return whether an event of a graph belongs to a task's agent."""
    return path.endswith("@" + scope) or scope.endswith(":" + path)


def visible_indexes(log: EventLog, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the indexes from `start` to before `end` that no rewind hides, newest first.

    A rewind hides everything from the invocation it names up to itself. The invocation was there
    when the rewind was stored: where it is not in the log, it was deleted since or not loaded, and
    the rewind hides all that comes before it.
    """
    index = (len(log.records) if end is None else end) - 1
    while index >= start:
        record = log.records[index]
        if record.kinds & REWIND:
            target = record.event().actions.rewind_before_invocation_id or ""
            first = log.start_of(target)
            index = -1 if first is None or first > index else first - 1
            continue
        yield index
        index -= 1


def newest_visible(log: EventLog, end: int | None = None) -> Iterator[EventRecord]:
    """Yield the records before index `end` that no rewind hides, newest first."""
    return (log.records[index] for index in visible_indexes(log, 0, end))


def visible_records(log: EventLog, start: int = 0) -> list[EventRecord]:
    """Return the records that no rewind hides, oldest first."""
    kept = [log.records[index] for index in visible_indexes(log, start)]
    kept.reverse()
    return kept


def in_force(found: Sequence[EventCompaction]) -> list[EventCompaction]:
    """Return the summaries that count, by their start; both their ends rise.

    A summary whose range lies within another's is superseded by it; of equal ranges the later
    counts.

    Args:
      found: the summaries in the order in which they were made.
    """
    # Widest first among equal starts; the later one first among equal ranges.
    order = sorted(reversed(found), key=lambda c: (c.start_timestamp, -c.end_timestamp))
    kept: list[EventCompaction] = []
    for one in order:
        if not kept or one.end_timestamp > kept[-1].end_timestamp:
            kept.append(one)
    return kept
