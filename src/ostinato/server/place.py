"""Access to the session of a request, and to its events by number."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from ..errors import AlreadyExistsError, InputValidationError, SessionNotFoundError
from ..events.event import Event
from ..execution.store_access import durable_store
from ..sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
    check_name,
)
from ..sessions.log.event_log import EventLog, EventRecord
from ..sessions.session import Session, log_of
from ..sessions.store.durable_store import Place
from .names import check_owner
from .problems import Problem

_PAGE = 200  # sessions of one page


def check_place(place: Place) -> Place:
    """Return a place if its names are valid.

    Raises:
      InputValidationError: a name is not valid.
    """
    for kind, value in zip(("app name", "user id", "session id"), place, strict=True):
        check_name(kind, check_owner(kind, value))
    return place


def session_not_found() -> SessionNotFoundError:
    """Return the error for a session that does not exist, with google-adk's text."""
    return SessionNotFoundError("Session not found")


def session_to_create(place: Place) -> Problem:
    """Return the problem of a message to a session that does not exist: how to create it."""
    short = f"Session not found: {place.session_id}"
    owner = f"/apps/{quote(place.app_name, '')}/users/{quote(place.user_id, '')}"
    body = json.dumps({"sessionId": place.session_id}, ensure_ascii=False)
    message = (
        f"{short}. Create it with POST {owner}/sessions and the body {body}, or serve the agents "
        "with get_fast_api_app(auto_create_session=True)."
    )
    return Problem(404, SessionNotFoundError.__name__, message, detail=short)


async def need_session(
    service: BaseSessionService, place: Place, config: GetSessionConfig | None = None
) -> Session:
    """Return a copy of a session.

    Raises:
      SessionNotFoundError: the session does not exist.
    """
    session = await service.get_session(**place._asdict(), config=config)
    if session is None:
        raise session_not_found()
    return session


async def ensure_session(service: BaseSessionService, place: Place, *, create: bool) -> bool:
    """Return whether a session exists.

    Args:
      service: the session service.
      place: the session.
      create: create it if it does not exist.
    """
    if await load_outline(service, place) is not None:
        return True
    if create:
        with suppress(AlreadyExistsError):  # another request created it meanwhile
            await service.create_session(**place._asdict())
    return create


async def load_outline(service: BaseSessionService, place: Place) -> Session | None:
    """Return a session without its events, or None if it does not exist."""
    return await service.get_session(
        **place._asdict(), config=GetSessionConfig(num_recent_events=0)
    )


async def load_newest_event(
    service: BaseSessionService, place: Place, invocation: str
) -> Event | None:
    """Return the newest stored event of an invocation, or None.

    Raises:
      SessionNotFoundError: the session does not exist.
    """
    record = next((await _load_log(service, place)).invocation(invocation), None)
    return None if record is None else record.event()


async def load_records(service: BaseSessionService, place: Place) -> tuple[int, list[EventRecord]]:
    """Return the number of a session's first record, and its records.

    Raises:
      SessionNotFoundError: the session does not exist.
    """
    log = await _load_log(service, place)
    return log.offset + 1, log.records


async def _load_log(service: BaseSessionService, place: Place) -> EventLog:
    """Return the whole log of a session; a durable store reads only what is new."""
    durable = durable_store(service)
    if durable is None:
        return log_of(await need_session(service, place))
    session = await durable.open_session(**place._asdict(), complete=True)
    if session is None:
        raise session_not_found()
    return log_of(session)


async def list_page(
    service: BaseSessionService, app: str, user: str | None, size: int, token: str | None
) -> ListSessionsResponse:
    """Return a page of an app's sessions, last changed first.

    Args:
      service: the session service; a custom one without pages lists all sessions.
      app: the app.
      user: the user; None for all users.
      size: sessions at most.
      token: the token of the previous page.

    Raises:
      InputValidationError: the token is not valid.
    """
    lister: Any = service
    try:
        return await lister.list_sessions(
            app_name=app, user_id=user, page_size=size, page_token=token
        )
    except TypeError:
        if token is not None:
            raise InputValidationError("This session service does not support pages.") from None
        return await service.list_sessions(app_name=app, user_id=user)


async def iterate_sessions(
    service: BaseSessionService, app: str, token: str | None = None
) -> AsyncGenerator[tuple[Session, str | None], None]:
    """Yield an app's sessions, last changed first, each with its page's token; start at `token`."""
    while True:  # each round reads one page, up to the last
        page = await list_page(service, app, None, _PAGE, token)
        for session in page.sessions:
            yield session, token
        token = page.next_page_token
        if token is None:
            return
