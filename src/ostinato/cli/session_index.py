"""Search for sessions and stuck invocations across all apps and users of a store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputValidationError, StoreError
from ..hosting.places import DEFAULT_DB
from ..hosting.store_address import StoreAddress
from ..hosting.stores import Store, open_store
from ..sessions.session import Session, revision_of
from ..sessions.store.durable_store import Lease
from .cli_error import USAGE, CliError

_PAGE = 500
_NO_LEDGER = "no such table: ostinato_effect"


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

    @classmethod
    def of(cls, session: Session) -> Entry:
        """Return the entry of a listed session."""
        names = (session.app_name, session.user_id, session.id)
        return cls(*names, session.last_update_time, revision_of(session))


@asynccontextmanager
async def existing_store(address: StoreAddress) -> AsyncGenerator[Store]:
    """Open the store at an address, and close it.

    Raises:
      CliError: the file does not exist, or the store cannot be read.
    """
    check_existing(address)
    store = open_store(address)
    try:
        yield store
    except StoreError as error:
        reason = str(error).replace("db_url", "--db")
        if address.kind == "file":
            reason = f"{address.shown} holds no readable sessions. {error} Check --db."
            if _NO_LEDGER in str(error):
                reason = (
                    f"The effects ledger of {address.shown} is gone: {error} No store deletes that "
                    "table, so someone dropped it; restore it from a backup."
                )
        raise CliError(reason) from error
    finally:
        await store.close()


def check_existing(address: StoreAddress) -> None:
    """Check that the file of a store exists, for a command that must not create it.

    Args:
      address: the store; one that is no file is not looked for.

    Raises:
      CliError: the file does not exist, or is a folder.
    """
    if address.kind != "file" or Path(address.target).is_file():
        return
    if Path(address.target).is_dir():
        raise CliError(
            f"There are no sessions: {address.shown} is a folder. Name a file with --db.", USAGE
        )
    raise CliError(
        f"There are no sessions: the file {address.shown} does not exist. "
        + (
            "The first `ostinato run` creates it; name another file with --db."
            if address.shown == DEFAULT_DB
            else "Check --db."
        ),
        USAGE,
    )


async def list_entries(
    store: Store, app: str | None, user: str | None, limit: int
) -> tuple[list[Entry], bool]:
    """Return the newest sessions, newest first, and whether there are more.

    Args:
      store: the store.
      app: only those of this app.
      user: only those of this user.
      limit: the maximum number of sessions.
    """
    found: list[Entry] = []
    async for entry in _iterate_entries(store, app, user, min(_PAGE, limit + 1)):
        if len(found) == limit:
            return found, True
        found.append(entry)
    return found, False


async def list_stuck(store: Store, app: str | None, user: str | None) -> Sequence[Lease]:
    """Return the leases of the stuck invocations, oldest first.

    Args:
      store: the store.
      app: only those of this app.
      user: only those of this user.
    """
    leases = await store.open_leases(app, stuck=True)
    return [lease for lease in leases if user in (None, lease.place.user_id)]


async def find_session(
    store: Store, address: StoreAddress, app: str | None, user: str | None, wanted: str
) -> Entry:
    """Return the session with this id, or the only one whose id begins with it.

    Raises:
      CliError: no session matches, or several do.
    """
    if app is not None and user is not None:
        exact = await _load_entry(store, app, user, wanted)
        if exact is not None:
            return exact
    entries = [
        e async for e in _iterate_entries(store, app, user, _PAGE) if e.id.startswith(wanted)
    ]
    found = [e for e in entries if e.id == wanted] or entries
    if not found:
        raise CliError(
            f"There is no session {wanted!r} in {address.shown}. See: ostinato sessions list"
        )
    if len(found) > 1:
        names = "; ".join(f"{e.id} (app {e.app}, user {e.user})" for e in found[:5])
        raise CliError(
            f"{wanted!r} matches more than one session: {names}. Add --app or --user.", USAGE
        )
    return found[0]


async def _load_entry(store: Store, app: str, user: str, session_id: str) -> Entry | None:
    try:
        session = await store.get_session(app_name=app, user_id=user, session_id=session_id)
    except InputValidationError:  # not a valid id, but perhaps the beginning of one
        return None
    return None if session is None else Entry.of(session)


async def _iterate_entries(
    store: Store, app: str | None, user: str | None, size: int
) -> AsyncIterator[Entry]:
    """Yield the sessions page by page, newest first."""
    token: str | None = None
    while True:
        page = await store.list_sessions(
            app_name=app, user_id=user, page_size=size, page_token=token
        )
        for session in page.sessions:
            yield Entry.of(session)
        token = page.next_page_token
        if token is None:
            return
