"""Sessions as JSON files, for `ostinato sessions import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypedDict

from pydantic import ValidationError

from .._clock import new_id
from .._regular_files import read_regular_file
from ..errors import AlreadyExistsError, InputValidationError, OstinatoError
from ..hosting.stores import Store
from ..server.names import check_event, check_owner
from ..sessions.log.history import mark_imported
from ..sessions.session import Session
from ..sessions.state import State
from .cli_error import CliError

_MAX_BYTES = 256 * 2**20


class SessionThereError(CliError):
    """A session with this id already exists."""


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
        is_stdin = file == "-"
        text = sys.stdin.read() if is_stdin else read_regular_file(Path(file), _MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{file} cannot be read: {error}.") from error
    try:
        session = Session.model_validate_json(text)
        for kind, name in (("app name", session.app_name), ("user id", session.user_id)):
            check_owner(kind, name)
        for event in session.events:
            check_event(event)
        return session
    except InputValidationError as error:
        raise CliError(f"{file} holds a session that cannot be taken: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the file"
        raise CliError(
            f"{file} is not a session as `ostinato sessions export` writes it: {where}: "
            f"{first['msg']}."
        ) from error


async def store_session(service: Store, session: Session, as_id: str) -> None:
    """Store a session, completely or not at all.

    Its initial state is the state that none of its events sets. Shared state (`app:` and `user:`
    keys) is stored only if the store has no value. Its events are history: waiting calls are
    closed.

    Raises:
      SessionThereError: a session with this id already exists.
      OstinatoError: the store refuses the session.
    """
    names: _Names = {
        "app_name": session.app_name,
        "user_id": session.user_id,
        "session_id": as_id,
    }
    by_events = {key for event in session.events for key in event.actions.state_delta}
    own = {k: v for k, v in session.state.items() if k not in by_events and not _is_shared(k)}
    try:
        stored = await service.create_session(**names, state=own)
    except AlreadyExistsError as error:
        raise SessionThereError(
            f"Session {as_id!r} of app {session.app_name}, user {session.user_id} already exists. "
            "Import it under another id: --as NEW_ID"
        ) from error
    before = dict(stored.state)
    try:
        await service.append(stored, mark_imported(session.events))
        shared = {k for k in {*session.state, *by_events} if _is_shared(k)}
        wanted = {k: before[k] if k in before else session.state.get(k) for k in shared}
        if any(stored.state.get(key) != value for key, value in wanted.items()):
            await _write_shared(service, names, wanted)
    except OstinatoError:
        await service.delete_session(**names)
        raise


def _is_shared(key: str) -> bool:
    return key.startswith((State.APP_PREFIX, State.USER_PREFIX))


async def _write_shared(service: Store, names: _Names, state: dict[str, Any]) -> None:
    """Write shared state without an event, by creating and deleting a temporary session."""
    passing: _Names = {**names, "session_id": new_id()}
    await service.create_session(**passing, state=state)
    await service.delete_session(**passing)
