"""Session: one conversation, as callers and agents see it."""

import copy
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.alias_generators import to_camel

from ..events.event import Event
from ..types.deferred_signature import DeferredSignature
from ..types.record_template import RecordTemplate
from .log.event_log import EventLog, EventRecord
from .log.ordered_delta import OrderedDelta
from .state import KeyMarks, write_key


class _Backing(KeyMarks):
    """What a session keeps beside its fields.

    Attributes:
      log: records behind the events; None for a session that was built by hand.
      seen: how many records of the log the session shows.
      mirror: the events that were handed out, as they were then; None before that.
      mirrored: the record of each; None before that.
      revision: number of the newest event up to which the store's session is known here in full.
      newest: number of the event that came through this object last, or was loaded last.
      own: ids of events that came through this object and are newer than `revision`, or will be;
        None before the first.
      snapshot_token: what of the store it was built from without a query; the claim of the first
        append checks it. None if the store was queried.
      number: tells the stored session from a later one that has its id; 0 if the store does not.
    """

    __slots__ = (
        "log",
        "mirror",
        "mirrored",
        "newest",
        "number",
        "own",
        "revision",
        "seen",
        "snapshot_token",
    )

    def __init__(self) -> None:
        super().__init__()
        self.log: EventLog | None = None
        self.seen = 0
        self.mirror: list[Event] | None = None
        self.mirrored: list[EventRecord] | None = None
        self.revision = 0
        self.newest = 0
        self.own: set[str] | None = None  # an empty set is 216 bytes, and most need none
        self.snapshot_token: Any = None
        self.number = 0


class Session(BaseModel):
    """A conversation between a user and an app (Spec 1 §3).

    A session that a run or a store hands out builds `events` from its log when they are first
    touched. From then on the list is the caller's: what is assigned, inserted or removed shows in
    the next model request, never in the store.

    Attributes:
      id: unique within app and user.
      app_name: the app.
      user_id: the user.
      state: merged state; keys `app:` and `user:` are shared beyond this session.
      events: the events, oldest first.
      last_update_time: seconds since 1970 of the last change.
    """

    model_config = ConfigDict(
        extra="forbid",
        arbitrary_types_allowed=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
    )

    __signature__: ClassVar[Any] = DeferredSignature()

    id: str
    app_name: str
    user_id: str
    state: dict[str, Any] = Field(default_factory=dict)
    events: list[Event] = Field(default_factory=list[Event])
    last_update_time: float = 0.0

    # One object, because each look at a private attribute costs a handful of calls.
    _backing: _Backing = PrivateAttr(default_factory=_Backing)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "events":
                return self._build_events()
            return super().__getattr__(name)

    def _build_events(self) -> list[Event]:
        backing = _backing_of(self)
        records = [] if backing.log is None else backing.log.records[: backing.seen]
        events = [r.event() for r in records]
        vars(self)["events"] = events
        backing.mirror, backing.mirrored = list(events), records
        return events

    @property
    def session_id(self) -> str:
        """The id, under the name that other interfaces use."""
        return self.id

    @model_serializer(mode="wrap")
    def _with_events(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        _ = self.events  # builds them, so that the handler finds them
        return handler(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Session):
            return NotImplemented
        return self.model_dump() == other.model_dump()

    def __copy__(self) -> "Session":
        return self._copy_detached(self.state, self.events)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> "Session":
        return self._copy_detached(copy_state(self.state), copy.deepcopy(self.events, memo))

    def _copy_detached(self, state: dict[str, Any], events: list[Event]) -> "Session":
        """Build a session of its own, without the log that this one shares with its store."""
        twin = Session(
            id=self.id,
            app_name=self.app_name,
            user_id=self.user_id,
            state=state,
            last_update_time=self.last_update_time,
        )
        twin.events = events
        backing, mine = _backing_of(twin), _backing_of(self)
        backing.tombstones = set(mine.tombstones)
        backing.revision, backing.own = mine.revision, set(mine.own or ())
        backing.number = mine.number
        return twin


class GetSessionConfig(BaseModel):
    """Which events to load (Spec 4 §4).

    Attributes:
      num_recent_events: only so many, the newest; 0 loads none.
      after_timestamp: only events at or after this time, seconds since 1970.
    """

    model_config = ConfigDict(defer_build=True)

    num_recent_events: int | None = Field(default=None, ge=0)
    after_timestamp: float | None = None


def _backing_of(session: Session) -> _Backing:
    private = session.__pydantic_private__
    assert private is not None
    return private["_backing"]


_SESSION_TEMPLATE = RecordTemplate(lambda: Session(id="", app_name="", user_id=""))


# `log_of` and `apply_event` are called several times a step; each call less is one per step less.


def session_on(
    log: EventLog,
    *,
    id: str,
    app_name: str,
    user_id: str,
    state: dict[str, Any],
    tombstones: set[str],
    last_update_time: float,
    number: int = 0,
) -> "Session":
    """Build a session whose events come from `log` in its present state, on first access.

    Args:
      log: records, shared with the store.
      state: merged state; the session's own from now on.
      tombstones: removed keys of that state.
      number: what tells the stored session from a later one with its id; 0 for nothing.
    """
    session = _SESSION_TEMPLATE.create(
        id=id, app_name=app_name, user_id=user_id, state=state, last_update_time=last_update_time
    )
    del vars(session)["events"]
    backing = _backing_of(session)
    backing.log = log
    backing.seen = seen = len(log.records)
    backing.tombstones = tombstones
    backing.revision = backing.newest = log.offset + seen
    backing.number = number
    return session


def log_of(session: Session) -> EventLog:
    """Return the records behind `session.events`, brought up to date where the list was edited.

    Of a test's stand-in for a session they are made of its events.
    """
    private: Any = None
    try:
        private = session.__pydantic_private__
    except AttributeError:  # a MagicMock has none
        pass
    if private.__class__ is not dict:
        return EventLog([EventRecord.of(event, fallback=repr) for event in session.events])
    backing: _Backing = private["_backing"]
    fields = session.__dict__
    events: list[Event] | None = fields["events"] if "events" in fields else None
    if backing.log is not None and (events is None or events == backing.mirror):
        return backing.log
    events = events or []
    known = {id(e): r for e, r in zip(backing.mirror or (), backing.mirrored or (), strict=False)}
    records = [known.get(id(e)) or EventRecord.of(e, fallback=repr) for e in events]
    backing.log = log = EventLog(records)
    backing.mirror, backing.mirrored, backing.seen = list(events), records, len(log)
    return log


def revision_of(session: Session) -> int:
    """Return the number of the newest event up to which `session` stands for what is stored.

    It rises with the session's own appends while no other writer's lie between them, and then
    stays until the session is loaded again. 0 for a session that no store built.
    """
    return _backing_of(session).revision


def stored_number(session: Session) -> int:
    """Return what tells the stored session from a later one with its id; 0 if nothing does."""
    private: dict[str, Any] | None = getattr(session, "__pydantic_private__", None)
    return _backing_of(session).number if type(private) is dict else 0


def snapshot_token(session: Session) -> Any:
    """Return what a store noted of a session that it made without looking into its database."""
    return _backing_of(session).snapshot_token


def set_snapshot_token(session: Session, token: Any) -> None:
    """Note the cached store state that `session` was built from and that is still unverified."""
    _backing_of(session).snapshot_token = token


def newest_of(session: Session) -> int:
    """Return the number, within its session, of the event that was stored through `session` last.

    0 for a session of a store that does not number events.
    """
    return _backing_of(session).newest


def unacknowledged_ids(session: Session) -> set[str]:
    """Return the ids of events that came through `session` and are beyond its revision."""
    return _backing_of(session).own or set()


def begin_append(session: Session, ids: Iterable[str]) -> tuple[int, set[str]]:
    """Note that events of `session` are about to be stored; their outcome goes to `note_append`.

    Args:
      ids: ids of the events.

    Returns:
      Its revision, and the ids of all events that came through `session` and are beyond that; to be
      looked at only.
    """
    backing = _backing_of(session)
    own = backing.own = set[str]() if backing.own is None else backing.own
    own.update(ids)
    return backing.revision, own


def note_append(session: Session, first: int, last: int, ids: Iterable[str]) -> None:
    """Note that events of `session` were stored.

    Args:
      first: number that the first of them got, or would have got.
      last: number of the last of them; `first - 1` where all were stored before.
      ids: ids of the events that were handed in.
    """
    backing = _backing_of(session)
    backing.snapshot_token = None
    backing.newest = last
    if first == backing.revision + 1:
        backing.revision = last
        if backing.own:  # appends that were begun before rely on the set they were given
            backing.own = backing.own.difference(ids) or None


def tombstones_of(session: Session) -> set[str]:
    """Return the session's removed state keys; `State` changes them in place."""
    return marks_of(session).tombstones


def marks_of(session: Session) -> KeyMarks:
    """Return the marks of the session's state keys; those of a test's stand-in are empty."""
    private: dict[str, Any] | None = getattr(session, "__pydantic_private__", None)
    return _backing_of(session) if type(private) is dict else KeyMarks()


def write_time(session: Session, event: Event, key: str) -> float:
    """Return when an uncommitted event of a run wrote a state key, in seconds since 1970."""
    delta = event.actions.state_delta
    if isinstance(delta, OrderedDelta):
        return delta.times.get(key, 0.0)
    return (_backing_of(session).written or {}).get(key, event.timestamp)


def drop_overwritten(session: Session, event: Event, theirs: Mapping[str, Any]) -> None:
    """Take keys out of an event that others have written since; the session shows their values.

    Args:
      theirs: the values of others, by key.
    """
    delta = event.actions.state_delta
    for key, value in theirs.items():
        delta.pop(key, None)
        write_key(session.state, tombstones_of(session), key, value)


def apply_event(session: Session, event: Event, record: EventRecord) -> None:
    """Show a committed event in a session object: its state delta, the event itself, the time."""
    private = session.__pydantic_private__
    assert private is not None
    backing: _Backing = private["_backing"]
    delta = event.actions.state_delta
    for key, value in delta.items():
        if not (isinstance(delta, OrderedDelta) and delta.is_superseded(key)):
            write_key(session.state, backing.tombstones, key, value)
        if backing.written is not None:
            backing.written.pop(key, None)
    fields = vars(session)
    if "events" in fields:
        events: list[Event] = fields["events"]
        events.append(event)
        if backing.mirror is not None and backing.mirrored is not None:
            backing.mirror.append(event)
            backing.mirrored.append(record)
    if backing.log is not None:
        backing.log.append(record)
        backing.seen = len(backing.log.records)
    fields["last_update_time"] = event.timestamp  # not by attribute: it is a field known to be set


_SCALARS = frozenset((str, int, float, bool, type(None)))


def copy_state(state: dict[str, Any]) -> dict[str, Any]:
    """Copy a state dict so that neither side sees the other's edits."""
    return {k: v if type(v) in _SCALARS else copy.deepcopy(v) for k, v in state.items()}
