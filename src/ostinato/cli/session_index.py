"""Which sessions lie in a SQLite file, of all apps and users at once, and which are stuck."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import StoreError
from ..hosting.places import DEFAULT_DB
from ..sessions._durable_store import Lease
from ..sessions.session import revision_of
from ..sessions.sqlite_session_service import SqliteSessionService
from .failure import USAGE, CliError

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """A session.

    Attributes:
      app, user, id: its names.
      updated: seconds since 1970.
      events: number of events.
    """

    app: str
    user: str
    id: str
    updated: float
    events: int


def read_index(db: Path, app: str | None, user: str | None) -> list[Entry]:
    """Return the sessions, newest first.

    Args:
      app: only those of this app.
      user: only those of this user.

    Raises:
      CliError: there is no file, or it holds no sessions of ours.
    """
    _check(db)
    return asyncio.run(_read(db, app, user))


def read_stuck(db: Path, app: str | None, user: str | None) -> Sequence[Lease]:
    """Return what is stored of the invocations that are stuck, oldest first.

    Args:
      app: only those of this app.
      user: only those of this user.

    Raises:
      CliError: there is no file, or it holds no sessions of ours.
    """
    _check(db)
    return asyncio.run(_read_stuck(db, app, user))


def _check(db: Path) -> None:
    if not db.is_file():
        raise CliError(
            f"There is no file {db}, so there are no sessions here. "
            + (
                "It is made by the first `ostinato run`; name another file with --db."
                if str(db) == DEFAULT_DB
                else "Check --db."
            )
        )


async def _read(db: Path, app: str | None, user: str | None) -> list[Entry]:
    service = SqliteSessionService(db)
    found: list[Entry] = []
    token: str | None = None
    try:
        while True:
            page = await service.list_sessions(
                app_name=app, user_id=user, page_size=_PAGE, page_token=token
            )
            found.extend(
                Entry(s.app_name, s.user_id, s.id, s.last_update_time, revision_of(s))
                for s in page.sessions
            )
            token = page.next_page_token
            if token is None:
                return found
    except StoreError as error:
        raise CliError(f"{db} holds no sessions that can be read. {error} Check --db.") from error
    finally:
        await service.close()


async def _read_stuck(db: Path, app: str | None, user: str | None) -> list[Lease]:
    service = SqliteSessionService(db)
    try:
        leases = await service.open_leases(app, stuck=True)
    except StoreError as error:
        raise CliError(f"{db} holds no sessions that can be read. {error} Check --db.") from error
    finally:
        await service.close()
    return [lease for lease in leases if user in (None, lease.place.user_id)]


def find_session(db: Path, app: str | None, user: str | None, wanted: str) -> Entry:
    """Return the session with an id, or with an id that starts so.

    Raises:
      CliError: there is none, or more than one.
    """
    entries = read_index(db, app, user)
    found = [e for e in entries if e.id == wanted] or [
        e for e in entries if e.id.startswith(wanted)
    ]
    if not found:
        raise CliError(f"There is no session {wanted!r} in {db}. See: ostinato sessions list")
    if len(found) > 1:
        names = "; ".join(f"{e.id} (app {e.app}, user {e.user})" for e in found[:5])
        raise CliError(f"{wanted!r} fits more than one: {names}. Add --app or --user.", USAGE)
    return found[0]
