"""The session that a request is about, and its events by number."""

from __future__ import annotations

from ..errors import SessionNotFoundError
from ..running.store_access import durable_store
from ..sessions._durable_store import Place
from ..sessions.base_session_service import BaseSessionService, GetSessionConfig, check_name
from ..sessions.event_log import EventRecord
from ..sessions.session import Session, log_of


def checked(place: Place) -> Place:
    """Return a place whose names may be names.

    Raises:
      InputValidationError: one may not.
    """
    for kind, value in zip(("app name", "user id", "session id"), place, strict=True):
        check_name(kind, value)
    return place


def no_session(place: Place, *, named: bool = False) -> SessionNotFoundError:
    """Return the error for a session that is not there, in google-adk's words."""
    return SessionNotFoundError(f"Session not found{f': {place.session_id}' if named else ''}")


async def need_session(
    service: BaseSessionService, place: Place, config: GetSessionConfig | None = None
) -> Session:
    """Return a copy of a session.

    Raises:
      SessionNotFoundError: there is none.
    """
    session = await service.get_session(**place._asdict(), config=config)
    if session is None:
        raise no_session(place)
    return session


async def outline(service: BaseSessionService, place: Place) -> Session | None:
    """Return a session of which no event is needed."""
    return await service.get_session(
        **place._asdict(), config=GetSessionConfig(num_recent_events=0)
    )


async def numbered(service: BaseSessionService, place: Place) -> tuple[int, list[EventRecord]]:
    """Return a session's records, and the number of the first of them.

    A store of ours shares what it has read before, so that this costs what is new.

    Raises:
      SessionNotFoundError: there is no such session.
    """
    durable = durable_store(service)
    if durable is None:
        session: Session | None = await need_session(service, place)
    else:
        session = await durable.open_session(**place._asdict(), complete=True)
    if session is None:
        raise no_session(place)
    log = log_of(session)
    return log.offset + 1, log.records
