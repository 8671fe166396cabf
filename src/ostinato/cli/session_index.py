"""Which sessions lie in a SQLite file, of all apps and users at once, with the number of events.

The session service lists one app at a time and opens the file for writing; this only reads.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from .failure import USAGE, CliError
from .places import DEFAULT_DB

_HIDDEN = "_child:"  # sessions of agents that were called as tools


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
    if not db.is_file():
        raise CliError(
            f"There is no file {db}, so there are no sessions here. "
            + (
                "It is made by the first `ostinato run`; name another file with --db."
                if str(db) == DEFAULT_DB
                else "Check --db."
            )
        )
    try:
        with closing(sqlite3.connect(f"{db.resolve().as_uri()}?mode=rw", uri=True)) as connection:
            rows = connection.execute(
                "SELECT app, user, id, updated, "
                "(SELECT count(*) FROM events e WHERE e.sid = s.sid) FROM sessions s "
                "WHERE (?1 IS NULL OR app = ?1) AND (?2 IS NULL OR user = ?2) "
                "AND substr(id, 1, ?3) <> ?4 ORDER BY updated DESC, sid DESC",
                (app, user, len(_HIDDEN), _HIDDEN),
            ).fetchall()
    except sqlite3.Error as error:
        raise CliError(f"{db} holds no sessions of Ostinato ({error}). Check --db.") from error
    return [Entry(*row) for row in rows]


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
