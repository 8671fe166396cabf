"""Databases that google-adk 1 wrote (its schema 0): read, never written.

Columns instead of JSON, actions as pickles, event times in the writer's time zone. A pickle is read
without running anything that it names: records of google-adk and google-genai become their plain
fields, and any other object is refused.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from ...errors import StoreError
from ...events.event import Event
from ..base_session_service import GetSessionConfig, ListSessionsResponse
from ..in_memory_session_service import limit_log
from ..log.event_log import EventLog, EventRecord
from ..sql.sql_dialects import Dialect, micros
from ..sql.sql_rows import parameters, state_rows
from ..sql.sql_statements import SESSIONS, V0, compile_statements, fetch_all, fetch_one
from ..store.stored_rows import Key, Loaded
from ..store.stored_views import listed_view, scope_of

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


_NAMES = ("app_name", "user_id", "session_id")
_IDS = "long_running_tool_ids_json"
_PICKLED_MODULES = ("google.adk.", "google.genai.types", "fastapi.openapi.models")


class V0Rows:
    """Statements about sessions of schema 0 in the SQL of one database.

    Args:
      dialect: the database.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._sql = compile_statements({**SESSIONS, **V0}, dialect)

    async def load_session(
        self, db: AsyncConnection, key: Key, config: GetSessionConfig | None
    ) -> Loaded | None:
        """Read a session, or return None if it does not exist."""
        names = parameters(key)
        row = await fetch_one(db, self._sql["v0 session"], names)
        if row is None:
            return None
        events = (await db.execute(self._sql["v0 events"], names)).mappings()
        log = EventLog(_read_record(dict(each)) for each in events)
        part = limit_log(log, config)
        loaded = Loaded(0, micros(row[1]) / 1e6, len(log), 0, 0, part.offset + 1, part.records)
        loaded.own = state_rows(row[0])
        for each in await fetch_all(db, self._sql["user state"], names):
            loaded.user = state_rows(each[1])
        for each in await fetch_all(db, self._sql["app state"], names):
            loaded.app = state_rows(each[0])
        return loaded

    async def list_sessions(
        self, db: AsyncConnection, app: str | None, user: str | None
    ) -> ListSessionsResponse:
        """Read the sessions of an app and a user, of all for None, newest first."""
        found = ListSessionsResponse()
        for row in await fetch_all(db, self._sql["v0 list"], {}):
            if app in (None, row[0]) and user in (None, row[1]):
                scopes = [scope_of(state_rows(text)) for text in row[4:]]
                updated = micros(row[3]) / 1e6
                found.sessions.append(listed_view((row[0], row[1], row[2]), 0, updated, *scopes))
        return found


def _read_record(row: Mapping[str, Any]) -> EventRecord:
    fields = {name: _read_value(value) for name, value in row.items() if value is not None}
    for name in _NAMES:
        fields.pop(name, None)
    stored = row["timestamp"]
    moment = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    fields["timestamp"] = moment.timestamp()
    fields["actions"] = read_pickle(row["actions"])
    fields["long_running_tool_ids"] = fields.pop(_IDS, None)
    return EventRecord.of(Event.model_validate(fields), fallback=repr)


def _read_value(value: Any) -> Any:
    """Return the value of a column: drivers give JSON as text or as what it holds."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


class _Fields:
    """Stands for a record of those modules, or, called with a value, for that of an enum."""

    def __new__(cls, *arguments: Any) -> Any:
        return arguments[0] if arguments else super().__new__(cls)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fields: dict[str, Any] = state.get("__dict__", state)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a record; nothing is imported."""
        if f"{module}.".startswith(_PICKLED_MODULES):
            return _Fields
        if (module, name) in (("builtins", "set"), ("__builtin__", "set")):
            return set
        raise StoreError(
            f"An event holds a pickled {module}.{name}, which is not read because a pickle can run "
            "anything; only records of google-adk are."
        )


def read_pickle(data: bytes) -> Any:
    """Return what a pickle holds: plain values, records as dicts without what is None.

    Raises:
      StoreError: it holds an object that is no record of google-adk, or is damaged.
    """
    try:
        return _to_plain(_Reader(io.BytesIO(data)).load())
    except StoreError:
        raise
    except Exception as error:  # boundary: a damaged pickle may raise anything
        raise StoreError(
            f"An event holds pickled actions that cannot be read: {type(error).__name__}."
        ) from error


def _to_plain(value: Any) -> Any:
    if isinstance(value, _Fields):
        fields = vars(value).get("fields", {})
        return {name: _to_plain(each) for name, each in fields.items() if each is not None}
    if isinstance(value, dict):
        return {name: _to_plain(each) for name, each in cast(dict[Any, Any], value).items()}
    if isinstance(value, (list, tuple, set)):
        return [_to_plain(each) for each in cast(list[Any], value)]
    return value
