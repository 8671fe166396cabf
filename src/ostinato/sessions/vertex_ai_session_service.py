"""VertexAiSessionService: sessions kept by Agent Engine of Vertex AI, a service of Google Cloud.

It has no side tables: a run takes the in-process lock alone and keeps no journal.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from pydantic.alias_generators import to_camel

from .. import _clock
from .._aclosing import Aclosing
from ..errors import AlreadyExistsError, InputValidationError
from ..events.event import Event
from ..events.event_actions import EventActions
from .agent_engine.agent_engine_client import (
    AgentEngineClient,
    AgentEngineError,
    check_engine,
    get_express_mode_api_key,
)
from .agent_engine.agent_engine_events import record_of, seconds_of, session_event, timestamp_text
from .base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
    check_name,
    drop_temp_delta,
    narrow_config,
)
from .in_memory_session_service import limit_log
from .log.event_log import EventLog, EventRecord
from .session import Session, note_append, session_on
from .state import State
from .store.stored_rows import session_not_found

_SESSION_ID = re.compile(r"[A-Za-z0-9_-]+")
_SESSION_NAME = re.compile(
    r"projects/[^/]+/locations/[^/]+/reasoningEngines/[^/]+/sessions/(?P<id>[^/]+)"
)
_ENGINE_NAME = re.compile(r"(?:projects/[^/]+/locations/[^/]+/reasoningEngines/)?(?P<id>\d+)")
_PAGE = 100


class VertexAiSessionService(BaseSessionService):
    """Sessions kept by Agent Engine (Spec 4 §5, FEATURES row 195).

    Session ids consist of letters, digits, `-` and `_`; a full resource name stands for its last
    part. All state belongs to the session: keys `user:` and `app:` are not shared with others.

    Args:
      project: the project; GOOGLE_CLOUD_PROJECT, or the login's own, where it is None.
      location: its region; GOOGLE_CLOUD_LOCATION where it is None.
      agent_engine_id: the engine's id, such as "456"; where it is None, an app's name must be one,
        or an engine's full resource name.
      express_mode_api_key: a key of express mode, in place of project and location; GOOGLE_API_KEY
        where none of the three is given and GOOGLE_GENAI_USE_ENTERPRISE is true.

    Raises:
      InputValidationError: the id is malformed, or an API key was given together with project or
        location.
      MissingExtraError: the extra `vertex` is not installed.
    """

    def __init__(
        self,
        project: str | None = None,
        location: str | None = None,
        agent_engine_id: str | None = None,
        *,
        express_mode_api_key: str | None = None,
    ) -> None:
        self._engine = None if agent_engine_id is None else check_engine(agent_engine_id)
        key = get_express_mode_api_key(project, location, express_mode_api_key)
        self._client = AgentEngineClient(project, location, key)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
        **kwargs: Any,
    ) -> Session:
        """Create a session; see the port.

        Args:
          session_id: wanted id; the service makes one up where it is None or blank.
          kwargs: further fields of the service's session, such as `ttl="3600s"`, `expire_time`,
            `display_name` and `labels`.
        """
        engine = self._engine_of(app_name)
        wanted = session_id.strip() if isinstance(session_id, str) else session_id
        query = {} if wanted is None or wanted == "" else {"sessionId": _short_id(wanted)}
        given = {
            key: value
            for key, value in (state or {}).items()
            if value is not None and not key.startswith(State.TEMP_PREFIX)
        }
        body: dict[str, Any] = {to_camel(key): value for key, value in kwargs.items()}
        body["userId"] = check_name("user id", user_id)
        if given:
            body["sessionState"] = _as_json(given)
        try:
            operation = await self._client.ask(
                "POST", engine, "sessions", query=query, body=body, repeatable=False
            )
            made = await self._client.wait_for_operation(engine, operation)
        except AgentEngineError as error:
            if error.status == 409:
                raise AlreadyExistsError(
                    f"Session with id {query.get('sessionId')} already exists."
                ) from None
            raise
        if "updateTime" not in made:
            name = str(operation["name"]).rpartition("/operations/")[0].rpartition("/")[2]
            made = await self._client.ask("GET", engine, f"sessions/{name}")
        return _build_session(app_name, made, EventLog())

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session, or None if it does not exist.

        Raises:
          InputValidationError: it is another user's, or the id breaks its rule.
        """
        engine, resource = self._engine_of(app_name), f"sessions/{_short_id(session_id)}"
        config = narrow_config(config)
        wants_events = config is None or config.num_recent_events != 0
        found, records = await asyncio.gather(
            self._find_resource(engine, resource),
            self._read_records(engine, resource, config) if wants_events else _read_no_records(),
        )
        if found is None:
            return None
        _check_owner(found, user_id)
        return _build_session(app_name, found, limit_log(EventLog(records), config))

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events; see the port."""
        query = {} if user_id is None else {"filter": f"user_id={json.dumps(user_id)}"}
        items = self._client.items(self._engine_of(app_name), "sessions", "sessions", query)
        sessions = [_build_session(app_name, one, EventLog()) async for one in items]
        sessions.sort(key=lambda session: session.last_update_time, reverse=True)
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session and its events; do nothing if it does not exist.

        Raises:
          InputValidationError: it is another user's, or the id breaks its rule.
        """
        engine, resource = self._engine_of(app_name), f"sessions/{_short_id(session_id)}"
        found = await self._find_resource(engine, resource)
        if found is None:
            return
        _check_owner(found, user_id)
        try:
            await self._client.wait_for_operation(
                engine, await self._client.ask("DELETE", engine, resource)
            )
        except AgentEngineError as error:
            if error.status != 404:  # another process deleted it first
                raise

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete a user's sessions; nothing else is kept of them."""
        for one in (await self.list_sessions(app_name=app_name, user_id=user_id)).sessions:
            await self.delete_session(app_name=app_name, user_id=user_id, session_id=one.id)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Not offered: the service keeps state by session only.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "VertexAiSessionService does not support get_user_state: Agent Engine keeps state by "
            "session. Read the sessions of list_sessions instead."
        )

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and show it in `session`; partial events are not stored.

        An event that was sent twice, because an answer was lost, is read once: by its id.

        Raises:
          SessionNotFoundError: the session is gone.
        """
        if event.partial:
            return event
        if not event.id:
            event.id = _clock.new_id()
        temp = drop_temp_delta(event)
        session_id = _short_id(session.id)
        try:
            await self._client.ask(
                "POST",
                self._engine_of(session.app_name),
                f"sessions/{session_id}:appendEvent",
                body=session_event(event),
            )
        except AgentEngineError as error:
            if error.status == 404:
                key = (session.app_name, session.user_id, session.id)
                raise session_not_found(key) from error
            raise
        session.state.update(temp)
        return await super().append_event(session, event)

    def _engine_of(self, app_name: str) -> str:
        if self._engine is not None:
            return self._engine
        found = _ENGINE_NAME.fullmatch(app_name)
        if found is None:
            raise InputValidationError(
                f"App name {app_name} is not valid. It should either be the full ReasoningEngine "
                "resource name, or the reasoning engine id. Or pass agent_engine_id to "
                "VertexAiSessionService."
            )
        return found["id"]

    async def _find_resource(self, engine: str, resource: str) -> dict[str, Any] | None:
        try:
            return await self._client.ask("GET", engine, resource)
        except AgentEngineError as error:
            if error.status == 404:
                return None
            raise

    async def _read_records(
        self, engine: str, resource: str, config: GetSessionConfig | None
    ) -> list[EventRecord]:
        """Return a session's events, oldest first; those that `config` asks for."""
        query: dict[str, str] = {}
        wanted = None
        if config is not None:
            wanted = config.num_recent_events
            if config.after_timestamp is not None:
                query["filter"] = f'timestamp>="{timestamp_text(config.after_timestamp)}"'
            if wanted is not None:
                query |= {"orderBy": "timestamp desc", "pageSize": str(min(wanted, _PAGE))}
        records: list[EventRecord] = []
        try:
            items = self._client.items(engine, f"{resource}/events", "sessionEvents", query)
            async with Aclosing(items):
                async for item in items:
                    records.append(record_of(item))
                    if len(records) == wanted:
                        break
        except AgentEngineError as error:
            if error.status != 404:  # then there is no session either
                raise
        return records if wanted is None else records[::-1]


async def _read_no_records() -> list[EventRecord]:
    return []


def _short_id(session_id: str) -> str:
    """Return a session's id, which may be given as a full resource name.

    Raises:
      InputValidationError: it breaks the rule; with other characters it could name another path.
    """
    named = _SESSION_NAME.fullmatch(session_id)
    found = named["id"] if named else session_id
    if not _SESSION_ID.fullmatch(found):
        raise InputValidationError(
            f"Invalid session_id {session_id[:80]!r}: must match ^[A-Za-z0-9_-]+$."
        )
    return found


def _check_owner(found: dict[str, Any], user_id: str) -> None:
    if found.get("userId") != user_id:
        name = str(found.get("name")).rpartition("/")[2]
        raise InputValidationError(f"Session {name} does not belong to user {user_id}.")


def _build_session(app_name: str, found: dict[str, Any], log: EventLog) -> Session:
    """Build the session of what the service gave back."""
    stored: dict[str, Any] = found.get("sessionState") or {}
    session = session_on(
        log,
        id=str(found["name"]).rpartition("/")[2],
        app_name=app_name,
        user_id=found.get("userId") or "",
        state={key: value for key, value in stored.items() if value is not None},
        tombstones={key for key, value in stored.items() if value is None},
        last_update_time=seconds_of(found["updateTime"]),
    )
    note_append(session, 0, 0, ())  # the service numbers no events
    return session


def _as_json(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state as JSON carries it, a value that it cannot carry as its repr."""
    actions = EventActions(state_delta=state)
    return json.loads(actions.model_dump_json(by_alias=True, fallback=repr))["stateDelta"]
