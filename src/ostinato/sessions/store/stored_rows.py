"""Records that stores share: state rows by scope, results of loads and appends, errors.

`session_cache.py` keeps it; each store's own statements read and write it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import InputValidationError, SessionNotFoundError, StoreError
from ..log.event_log import EventRecord
from ..state import State, state_text

Key = tuple[str, str, str]
"""App, user and id of a session."""

StateRow = tuple[str, str | None]
"""Key without prefix and value as JSON text; None for a removed key."""

STALE = (
    "The session has been modified in storage since it was loaded. "
    "Please reload the session before appending more events."
)


@dataclass(slots=True)
class Changes:
    """State to write, by scope.

    Attributes:
      own, user, app: rows of the session, of its user and of its app.
    """

    own: list[StateRow] = field(default_factory=list[StateRow])
    user: list[StateRow] = field(default_factory=list[StateRow])
    app: list[StateRow] = field(default_factory=list[StateRow])


class Known(NamedTuple):
    """What a reader holds of a session already.

    Attributes:
      own, user, app: revisions of the state of session, user and app.
      seq: number of the newest event held.
      tail: number of the event from which on all are held; 1 where that is every event.
    """

    own: int = -1
    user: int = -1
    app: int = -1
    seq: int = 0
    tail: int = 1


@dataclass(slots=True)
class Loaded:
    """What was read of a session.

    Attributes:
      sid: its number.
      updated: time of its last change, seconds since 1970.
      revision, user_revision, app_revision: revisions of what was read.
      first: number of the first event read.
      records: the events read; all from `first` on.
      summaries: events before the first that were read too, because they stand for those between.
      own, user, app: state rows; None for those that the reader skipped.
      mark: what the store notes of the session's row; None if it notes nothing.
    """

    sid: int
    updated: float
    revision: int
    user_revision: int
    app_revision: int
    first: int = 1
    records: list[EventRecord] = field(default_factory=list[EventRecord])
    summaries: list[EventRecord] = field(default_factory=list[EventRecord])
    own: list[StateRow] | None = None
    user: list[StateRow] | None = None
    app: list[StateRow] | None = None
    mark: Any = None

    @property
    def pruned(self) -> int:
        """How many of the events from `first` on were deleted from outside."""
        return max(0, self.revision - self.first + 1 - len(self.records))


@dataclass(slots=True)
class Appended:
    """What an append has stored.

    Attributes:
      sid: number of the session.
      first: number of the first event that is new to the store.
      revision: the session's revision now.
      records: the events that are new to the store.
      updated: time of the newest of them, seconds since 1970.
      missing_from, missing: events of others that the caller's log lacks, and the first's number.
      own, user, app: state rows written.
      user_revision, app_revision: revisions of the shared state, where rows were written.
      mark: what the store notes of the session's row now; None if it notes nothing.
    """

    sid: int
    first: int
    revision: int
    records: list[EventRecord]
    updated: float
    missing_from: int
    missing: list[EventRecord]
    own: list[StateRow]
    user: list[StateRow]
    app: list[StateRow]
    user_revision: int = 0
    app_revision: int = 0
    mark: Any = None


def session_not_found(key: Key) -> SessionNotFoundError:
    """Return the error for a session that does not exist."""
    return SessionNotFoundError(f"Session not found: {key[2]} (app {key[0]}, user {key[1]}).")


def encode_value(key: Any, value: Any) -> str | None:
    """Return a state value as JSON text, None for None.

    Raises:
      InputValidationError: JSON cannot carry it; the message names the key.
    """
    return None if value is None else state_text(key, value)


def decode_value(text: str) -> Any:
    """Return the value of a stored JSON text.

    Raises:
      StoreError: the text is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"A stored state value is not JSON ({error}); the session store is damaged: restore a "
            "backup."
        ) from error


def split_state(delta: dict[str, Any]) -> Changes:
    """Sort a state delta into scopes, as rows; `temp:` keys are left out.

    Raises:
      InputValidationError: a value that JSON cannot carry.
    """
    changes = Changes()
    for key, value in delta.items():
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputValidationError(f"State key {key!r} is not a str.")
        if key.startswith(State.TEMP_PREFIX):
            continue
        text = encode_value(key, value)
        if key.startswith(State.APP_PREFIX):
            changes.app.append((key[len(State.APP_PREFIX) :], text))
        elif key.startswith(State.USER_PREFIX):
            changes.user.append((key[len(State.USER_PREFIX) :], text))
        else:
            changes.own.append((key, text))
    return changes
