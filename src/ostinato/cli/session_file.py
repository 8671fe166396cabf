"""A session as a JSON file: reading it back and putting it into a store. For `sessions import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypedDict

from pydantic import ValidationError

from ..errors import AlreadyExistsError, OstinatoError
from ..sessions.session import Session
from ..sessions.sqlite_session_service import SqliteSessionService
from ..sessions.state import State
from .failure import CliError

_SHARED = (State.APP_PREFIX, State.USER_PREFIX)


class _Names(TypedDict):
    app_name: str
    user_id: str
    session_id: str


def read_session(file: str) -> Session:
    """Read a session as `sessions export` writes it.

    Raises:
      CliError: the file cannot be read, or holds something else.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{file} cannot be read: {error}.") from error
    try:
        return Session.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the file"
        raise CliError(
            f"{file} is not a session as `ostinato sessions export` writes it: {where}: "
            f"{first['msg']}."
        ) from error


async def store_session(service: SqliteSessionService, session: Session, new_id: str) -> list[str]:
    """Put a session into a store, whole or not at all.

    The state it began with is what none of its events sets. Shared state (`app:` and `user:` keys)
    that the store has and no event sets is left as it is.

    Returns:
      Keys of shared state that the store had with another value before.

    Raises:
      CliError: there is a session with this id, or the store refuses the session.
    """
    names: _Names = {
        "app_name": session.app_name,
        "user_id": session.user_id,
        "session_id": new_id,
    }
    by_events = {key for event in session.events for key in event.actions.state_delta}
    initial = {key: value for key, value in session.state.items() if key not in by_events}
    own = {key: value for key, value in initial.items() if not key.startswith(_SHARED)}
    try:
        before = await _create(service, names, own)
        missing = {k: v for k, v in initial.items() if k not in own and k not in before}
        if missing:  # shared state can be written only when a session is made
            await service.delete_session(**names)
            await _create(service, names, {**own, **missing})
        stored = await service.get_session(**names)
        assert stored is not None
        try:
            await service.append(stored, session.events)
        except OstinatoError:
            await service.delete_session(**names)
            raise
    except AlreadyExistsError as error:
        raise CliError(
            f"There is a session {new_id!r} of app {session.app_name}, user {session.user_id} "
            "already. Give the imported one another id: --as NEW_ID"
        ) from error
    after = stored.state
    return [
        key for key, value in before.items() if key.startswith(_SHARED) and after.get(key) != value
    ]


async def _create(
    service: SqliteSessionService, names: _Names, state: dict[str, Any]
) -> dict[str, Any]:
    return (await service.create_session(**names, state=state)).state
