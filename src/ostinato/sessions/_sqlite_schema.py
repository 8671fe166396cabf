"""The SQLite file of the embedded session store: its tables, their migrations, its connections and
what its errors mean. Called by the threads of `_sqlite_worker.py`.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Literal

from ..errors import InputValidationError, StoreError

Synchronous = Literal["FULL", "NORMAL"]
MEMORY = ":memory:"

_BUSY_SECONDS = 10.0
_OLDEST = (3, 35)  # RETURNING
_URLS = ("sqlite:///", "sqlite+aiosqlite:///")

# Migration n brings a file from `user_version` n to n + 1. Never edit one that was released.
#
# events.pos is sid << 32 | seq: rows of a session lie side by side in a table of whole leaf pages
# (a WITHOUT ROWID table would push every event of more than 1 kB to overflow pages of its own).
# sessions.revision is the seq of the newest event, scopes.revision counts writes of shared state.
# A state value of NULL is a removed key. scopes and shared_state: user is '' for an app's state.
_MIGRATIONS = (
    """
    CREATE TABLE sessions(
      sid INTEGER PRIMARY KEY AUTOINCREMENT,
      app TEXT NOT NULL,
      user TEXT NOT NULL,
      id TEXT NOT NULL,
      created REAL NOT NULL,
      updated REAL NOT NULL,
      revision INTEGER NOT NULL DEFAULT 0,
      initial TEXT,
      UNIQUE(app, user, id)
    );
    CREATE TABLE events(
      pos INTEGER PRIMARY KEY,
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      id TEXT NOT NULL,
      invocation_id TEXT NOT NULL,
      author TEXT NOT NULL,
      branch TEXT,
      timestamp REAL NOT NULL,
      data TEXT NOT NULL,
      UNIQUE(sid, id)
    );
    CREATE TABLE session_state(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      key TEXT NOT NULL,
      value TEXT,
      PRIMARY KEY(sid, key)
    ) WITHOUT ROWID;
    CREATE TABLE scopes(
      app TEXT NOT NULL,
      user TEXT NOT NULL,
      revision INTEGER NOT NULL,
      PRIMARY KEY(app, user)
    ) WITHOUT ROWID;
    CREATE TABLE shared_state(
      app TEXT NOT NULL,
      user TEXT NOT NULL,
      key TEXT NOT NULL,
      value TEXT,
      PRIMARY KEY(app, user, key)
    ) WITHOUT ROWID;
    CREATE TABLE ostinato_journal(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      invocation_id TEXT NOT NULL,
      call_id TEXT NOT NULL,
      status TEXT NOT NULL,
      tool TEXT NOT NULL,
      result TEXT,
      PRIMARY KEY(sid, invocation_id, call_id)
    ) WITHOUT ROWID;
    CREATE TABLE ostinato_lease(
      sid INTEGER PRIMARY KEY REFERENCES sessions(sid) ON DELETE CASCADE,
      owner TEXT NOT NULL,
      token INTEGER NOT NULL,
      expires REAL NOT NULL,
      process TEXT
    );
    CREATE TABLE ostinato_inbox(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      message TEXT NOT NULL,
      created REAL NOT NULL,
      PRIMARY KEY(sid, seq),
      UNIQUE(sid, id)
    ) WITHOUT ROWID;
    """,
    # Lease: `begun` is when its open invocation was first claimed. Inbox: `id` is the invocation
    # that the message will begin. sessions.tail: seq of the first event that a run needs beside the
    # summaries, whose seqs are in ostinato_summaries; see `_log_tail.py`.
    """
    ALTER TABLE ostinato_lease ADD COLUMN invocation_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_lease ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_lease ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ostinato_lease ADD COLUMN stuck TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_lease ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ostinato_lease ADD COLUMN begun REAL NOT NULL DEFAULT 0;
    CREATE INDEX open_leases ON ostinato_lease(begun) WHERE invocation_id <> '';
    ALTER TABLE ostinato_inbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_inbox ADD COLUMN process TEXT NOT NULL DEFAULT '';
    ALTER TABLE ostinato_inbox ADD COLUMN expires REAL NOT NULL DEFAULT 0;
    CREATE INDEX inbox_owners ON ostinato_inbox(owner);
    CREATE INDEX inbox_times ON ostinato_inbox(created);
    ALTER TABLE sessions ADD COLUMN tail INTEGER NOT NULL DEFAULT 1;
    CREATE TABLE ostinato_summaries(
      sid INTEGER NOT NULL REFERENCES sessions(sid) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      PRIMARY KEY(sid, seq)
    ) WITHOUT ROWID;
    """,
)
VERSION = len(_MIGRATIONS)


def file_path(db_path: str | os.PathLike[str]) -> str:
    """Return the path of the file that `db_path` names; `sqlite:///` in front is taken off.

    Raises:
      InputValidationError: it is not a path.
    """
    if not isinstance(db_path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputValidationError(
            f"db_path must be a str or a path, not {type(db_path).__name__}; give the file's path "
            f"or {MEMORY!r}."
        )
    path = os.fsdecode(os.fspath(db_path))
    for prefix in _URLS:
        path = path.removeprefix(prefix)
    if not path.strip() or "\0" in path:
        raise InputValidationError(
            f"db_path {path[:40]!r} names no file; give the file's path or {MEMORY!r}."
        )
    return path


def connect(path: str, synchronous: Synchronous) -> sqlite3.Connection:
    """Open a connection for the calling thread and bring the file to this version.

    Raises:
      StoreError: the file is not one of ours, or is newer than this program.
      sqlite3.Error: SQLite cannot open or change the file; see `store_error`.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; 3.35 or newer is needed.")
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        _prepare(connection, store_name(path), synchronous)
    except (sqlite3.Error, StoreError):
        connection.close()  # which takes back a migration that was cut short
        raise
    return connection


def _prepare(connection: sqlite3.Connection, name: str, synchronous: Synchronous) -> None:
    _read_version(connection, name)  # before anything is changed in a file that is not ours
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode not in ("wal", "memory"):
        connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("PRAGMA foreign_keys=ON")
    if _read_version(connection, name) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    for version in range(_read_version(connection, name), VERSION):
        for statement in _MIGRATIONS[version].split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={version + 1}")
    connection.execute("COMMIT")


def _read_version(connection: sqlite3.Connection, name: str) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            f"The session store {name!r} has version {version}, this program knows versions up to "
            f"{VERSION}; use the newer program that wrote it."
        )
    if version == 0:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            raise StoreError(
                f"The database {name!r} holds the tables of another program; give a new file, or "
                "use DatabaseSessionService for a database that google-adk wrote."
            )
    return version


def store_name(path: str) -> str:
    """Return what a message may call the file: its base name, never the folders above it."""
    return os.path.basename(path) or path


_MEANINGS = {
    sqlite3.SQLITE_FULL: "cannot grow: the disk or the quota is full; free some space",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its folder writable",
    sqlite3.SQLITE_PERM: "may not be opened; mend the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened; it has to be a file in an existing folder that this process may write to"
    ),
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; give another file or restore a backup",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a backup, or rescue it with `sqlite3 .recover`",
    sqlite3.SQLITE_BUSY: (
        f"stayed locked by another program for more than {_BUSY_SECONDS:.0f} s; end that "
        "program's transaction"
    ),
    sqlite3.SQLITE_IOERR: "met an input/output error; check the disk that holds it",
    sqlite3.SQLITE_TOOBIG: "refuses a value of more than 1 GB; store it as an artifact",
}


def store_error(error: sqlite3.Error, path: str) -> StoreError:
    """Return the error that callers get for an error of SQLite: what happened, what to do."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    meaning = _MEANINGS.get(code, f"failed: {error}")
    return StoreError(f"The session store {store_name(path)!r} {meaning}.")


def unreadable(path: str, error: Exception) -> StoreError:
    """Return the error that callers get for a row that holds what this program never writes."""
    return StoreError(
        f"The session store {store_name(path)!r} holds a row that cannot be read ({error}); it is "
        "damaged, or another program wrote it: restore a backup."
    )
