"""BaseSessionService: the port of session storage, which stores subclass and the runner calls."""

import abc
import hashlib
import re
from operator import attrgetter
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from .. import _clock
from ..errors import InputValidationError
from ..events.event import Event
from ..events.event_actions import EventActions
from .log.event_log import EventRecord
from .log.fork import answer_open_calls, fold_state, kept_records
from .log.ordered_delta import OrderedDelta
from .session import GetSessionConfig, Session, apply_event, log_of
from .state import SCOPED_PREFIXES, State
from .store.stored_rows import session_not_found

HIDDEN_PREFIX = "_child:"
"""Sessions whose id starts so are not listed: runs that belong to another session live in them."""

_MARKS = f"{HIDDEN_PREFIX}policy:session:"

PORT_METHODS = ("append_event", "get_session")
"""Methods that the runner bypasses in Ostinato's stores, unless they are overridden or patched."""

read_port = attrgetter(*PORT_METHODS)

_MAX_ID = 256
# Control characters, surrogates, line and paragraph separators, slashes.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029/\\\\]")


def narrow_config(config: GetSessionConfig | None) -> GetSessionConfig | None:
    """Return `config`, or None if it asks for all events."""
    if config is None or (config.num_recent_events is None and config.after_timestamp is None):
        return None
    return config


def mark_id(session_id: str) -> str:
    """Return the id of the hidden session that ends with a session: it says which one it is.

    A session with the id of a deleted one has another, or none, so that what a person granted for
    the deleted one does not hold for it.
    """
    return _MARKS + hashlib.sha256(session_id.encode(errors="replace")).hexdigest()[:24]


def deleted_ids(session_id: str) -> tuple[str, ...]:
    """Return the ids of the sessions that are deleted with a session, its own first."""
    is_hidden = session_id.startswith(HIDDEN_PREFIX)
    return (session_id,) if is_hidden else (session_id, mark_id(session_id))


class ListSessionsResponse(BaseModel):
    """Sessions without their events.

    Attributes:
      sessions: the sessions.
      next_page_token: start of the next page, or None if this is the last one.
    """

    model_config = ConfigDict(defer_build=True)

    sessions: list[Session] = Field(default_factory=list[Session])
    next_page_token: str | None = None


def check_name(kind: str, value: Any) -> str:
    """Return `value` if it may serve as an app name, user id or session id.

    The same rule holds in every store: 1 to 256 printable characters, no blank at either end, no
    slash or backslash, not `.` or `..`.

    Raises:
      InputValidationError: it may not; the message names the kind and what is wrong.
    """
    if not isinstance(value, str):
        raise InputValidationError(f"The {kind} must be a str, not {type(value).__name__}.")
    if not 0 < len(value) <= _MAX_ID:
        raise InputValidationError(
            f"The {kind} must have 1 to {_MAX_ID} characters; this one has {len(value)}."
        )
    if value != value.strip():
        raise InputValidationError(f"The {kind} {value!r} may not start or end with a blank.")
    if value in (".", ".."):
        raise InputValidationError(f"The {kind} {value!r} would be a folder; use another.")
    found = _FORBIDDEN.search(value)
    if found is not None:
        raise InputValidationError(
            f"The {kind} {value[:40]!r} may not contain the character {found.group()!r}."
        )
    return value


def new_key(app_name: Any, user_id: Any, session_id: Any) -> tuple[str, str, str]:
    """Return the names under which a new session is kept; a missing or blank id is made up.

    Raises:
      InputValidationError: a name breaks its rule, see `check_name`.
    """
    check_name("app name", app_name)
    check_name("user id", user_id)
    wanted = session_id.strip() if isinstance(session_id, str) else session_id
    if wanted is None or wanted == "":
        return (app_name, user_id, _clock.new_id())
    return (app_name, user_id, check_name("session id", wanted))


def drop_temp_delta(event: Event) -> dict[str, Any]:
    """Take the `temp:` keys out of an event's state delta and return them."""
    delta = event.actions.state_delta
    temp = {k: v for k, v in delta.items() if k.startswith(State.TEMP_PREFIX)} if delta else {}
    if temp:
        if isinstance(delta, OrderedDelta):
            event.actions.state_delta = delta.without(temp)
            return {k: v for k, v in temp.items() if not delta.is_superseded(k)}
        event.actions.state_delta = {k: v for k, v in delta.items() if k not in temp}
    return temp


class BaseSessionService(abc.ABC):
    """Port of session storage (Spec 3 "Session", FEATURES rows 190 and 191)."""

    _defined_port: ClassVar[tuple[Any, ...]]  # the methods as the class was written, unpatched

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._defined_port = read_port(cls)

    @abc.abstractmethod
    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session.

        Args:
          app_name: the app.
          user_id: the user.
          state: initial state; prefixed keys go to their scope.
          session_id: wanted id; made up where it is None or blank.

        Raises:
          AlreadyExistsError: a session with this id exists.
          InputValidationError: a name or id breaks its rule.
        """

    @abc.abstractmethod
    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a copy of a session, or None if it does not exist."""

    @abc.abstractmethod
    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users where `user_id` is None.

        They come without events, the one changed last first; hidden sessions are left out.
        """

    @abc.abstractmethod
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session and its events; do nothing if it does not exist."""

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete everything that is kept of a user: sessions, events and the state they share.

        Ostinato's services keep at most a revision number beside the user's id, so that no cache
        serves deleted values.
        """
        found = (await self.list_sessions(app_name=app_name, user_id=user_id)).sessions
        keys = {key for one in found for key in one.state if key.startswith(State.USER_PREFIX)}
        if keys:
            last = await self.get_session(
                app_name=app_name, user_id=user_id, session_id=found[0].id
            )
            if last is not None:
                actions = EventActions(state_delta=dict.fromkeys(keys))
                await self.append_event(last, Event(author="user", actions=actions))
        for one in found:
            await self.delete_session(app_name=app_name, user_id=user_id, session_id=one.id)

    async def delete_sessions_before(self, app_name: str, timestamp: float) -> int:
        """Delete the sessions of an app that were last changed before a time.

        Ostinato's services skip sessions whose lease has not expired: an invocation runs there.

        Args:
          timestamp: seconds since 1970.

        Returns:
          How many were deleted.
        """
        found = (await self.list_sessions(app_name=app_name)).sessions
        old = [one for one in found if one.last_update_time < timestamp]
        for one in old:
            await self.delete_session(app_name=app_name, user_id=one.user_id, session_id=one.id)
        return len(old)

    async def fork_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        at_event: str | None = None,
        new_session_id: str | None = None,
        close_requests: bool = False,
    ) -> Session:
        """Make a new session that begins as another one did.

        The new session has the events up to `at_event` and the state that they produced from the
        initial state; user state, app state and artifacts stay unchanged. An event of its own
        answers each call whose response is missing with an error; calls of long-running tools stay
        open. A service outside of Ostinato does not know the initial state: keys that events wrote
        later count as missing.

        Args:
          at_event: id of the last event to take over; None for all.
          new_session_id: wanted id; made up where it is None or blank.
          close_requests: close approvals, credential requests and calls of long-running tools that
            wait, so that they are answered in the other session alone; questions stay open.

        Returns:
          The new session.

        Raises:
          NotFoundError: no such session, or no such event in it.
          AlreadyExistsError: a session with the new id exists.
          InputValidationError: the new id breaks its rule.
        """
        place: dict[str, Any] = {"app_name": app_name, "user_id": user_id}
        source = await self.get_session(**place, session_id=session_id)
        if source is None:
            raise session_not_found((app_name, user_id, session_id))
        records = log_of(source).records
        kept = kept_records(records, at_event, session_id)
        written = fold_state({}, records)
        initial = {
            key: value
            for key, value in source.state.items()
            if key not in written and not key.startswith(SCOPED_PREFIXES)
        }
        made = await self.create_session(**place, state=initial, session_id=new_session_id)
        closing = answer_open_calls(kept, close_requests=close_requests)
        for event in [*(record.event() for record in kept), *closing]:
            delta = event.actions.state_delta
            event.actions.state_delta = {
                key: value for key, value in delta.items() if not key.startswith(SCOPED_PREFIXES)
            }
            await self.append_event(made, event)
        return made

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state a user shares between sessions, keys without their prefix.

        Raises:
          NotImplementedError: this service does not offer it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement get_user_state")

    async def append_event(self, session: Session, event: Event) -> Event:
        """Show an event in `session`: state delta, temporary state, history (Spec 2 §7.3, §7.4).

        A store calls this after it has committed the event. Partial events are returned as they
        are.
        """
        if event.partial:
            return event
        if not event.id:
            event.id = _clock.new_id()
        session.state.update(drop_temp_delta(event))
        apply_event(session, event, EventRecord.of(event, fallback=repr))
        return event

    async def flush(self) -> None:
        """Wait until everything appended so far is durable; nothing to do for most stores."""
        return None
