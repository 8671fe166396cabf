"""An SQLite file that a store keeps: its format, its connections, and what its errors mean.

The embedded stores of sessions and of memories describe their formats; the threads of
`sqlite_threads.py` connect.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from ..._private_files import create_private_file
from ...errors import InputValidationError, StoreError

Synchronous = Literal["FULL", "NORMAL"]
MEMORY = ":memory:"

_BUSY_SECONDS = 10.0
_PAUSE_SECONDS = 0.01
_LONGEST_LOG = 20_000  # pages: 80 MB
_OLDEST = (3, 35)  # RETURNING
_STATE = (
    "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
    "FROM pragma_user_version, pragma_application_id"
)
_URLS = ("sqlite:///", "sqlite+aiosqlite:///", "file:")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What a store keeps in a file of its own.

    Args:
      noun: what messages call the file.
      service: the class that opens it.
      migrations: statements; number n brings a file from `user_version` n to n + 1. Never edit one
        that was released. No statement may hold a semicolon.
      otherwise: what to do with a database of another program.
      mark: the file's `application_id`, which tells the stores' files apart.
    """

    noun: str
    service: str
    migrations: tuple[str, ...]
    otherwise: str
    mark: int = 0

    @property
    def version(self) -> int:
        """The version that this program writes."""
        return len(self.migrations)


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file, its format, and when a commit in it counts as done.

    Args:
      query: parameters of SQLite's URIs, such as `mode=ro`; empty for a plain path.
    """

    path: str
    format: FileFormat
    synchronous: Synchronous = "FULL"
    query: str = ""

    @classmethod
    def of(
        cls, db_path: str | os.PathLike[str], format: FileFormat, synchronous: Synchronous = "FULL"
    ) -> SqliteFile:
        """Return the file that `db_path` names.

        In a URL, which begins with `sqlite:///` or `file:`, parameters may follow a question mark;
        in a plain path it is part of the name.

        Raises:
          InputValidationError: it names no file.
        """
        path, query = _split_url(db_path)
        return cls(path, format, synchronous, query)

    @property
    def may_be_made(self) -> bool:
        """Whether opening the file makes it where it does not exist."""
        known = self.is_read_only or "mode=rw" in self.query.split("&")
        return self.path != MEMORY and not known

    @property
    def is_read_only(self) -> bool:
        """Whether the parameters forbid to write the file."""
        return not {"mode=ro", "immutable=1"}.isdisjoint(self.query.split("&"))

    @property
    def name(self) -> str:
        """What a message may call it: noun and base name, never the folders above it."""
        return f"{self.format.noun} {(os.path.basename(self.path) or self.path)!r}"


def _split_url(db_path: str | os.PathLike[str]) -> tuple[str, str]:
    if not isinstance(db_path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputValidationError(
            f"db_path must be a str or a path, not {type(db_path).__name__}; give the file's path "
            f"or {MEMORY!r}."
        )
    given = path = os.fsdecode(os.fspath(db_path))
    for prefix in _URLS:
        path = path.removeprefix(prefix)
    query = ""
    if path != given:
        path, _, query = path.partition("?")
    if "mode=memory" in query.split("&"):
        raise InputValidationError(
            f"db_path {given[:40]!r} names memory of a single connection; give {MEMORY!r} instead."
        )
    if not path.strip() or "\0" in path:
        raise InputValidationError(
            f"db_path {given[:40]!r} names no file; give the file's path or {MEMORY!r}."
        )
    return path, query


def connect(file: SqliteFile) -> sqlite3.Connection:
    """Open a connection and bring the file to this version.

    Raises:
      StoreError: the file is not an Ostinato store, or is newer than this program.
      sqlite3.Error: SQLite cannot open or change the file; see `store_error`.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; 3.35 or newer is needed.")
    if file.may_be_made:
        with suppress(OSError):  # SQLite says what is wrong
            create_private_file(file.path)
    target = f"file:{quote(file.path)}?{file.query}" if file.query else file.path
    # One thread at a time uses it: who does holds the lock of its line.
    connection = sqlite3.connect(
        target,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=bool(file.query),
    )
    try:
        _prepare_file(connection, file)
    except (sqlite3.Error, StoreError):
        connection.close()  # which takes back a migration that was cut short
        raise
    return connection


def wait_for_others(connection: sqlite3.Connection, waits: bool) -> None:
    """Have a connection wait for other programs' transactions, or give up at once."""
    connection.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000) if waits else 0}")


def leave_checkpoints(connection: sqlite3.Connection) -> None:
    """Keep commits from emptying the write-ahead log, which waits for the disk; `checkpoint_wal`
    empties it, and a commit only if the log has grown very long.
    """
    connection.execute(f"PRAGMA wal_autocheckpoint={_LONGEST_LOG}")


def checkpoint_wal(connection: sqlite3.Connection) -> None:
    """Empty the write-ahead log as far as its readers allow."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _prepare_file(connection: sqlite3.Connection, file: SqliteFile) -> None:
    _read_version(connection, file)  # before anything is changed in a foreign file
    if not file.is_read_only:
        _use_wal(connection)
    connection.execute(f"PRAGMA synchronous={file.synchronous}")
    connection.execute("PRAGMA foreign_keys=ON")
    if _read_version(connection, file) == file.format.version:
        return
    connection.execute("BEGIN IMMEDIATE")
    for version in range(_read_version(connection, file), file.format.version):
        for statement in file.format.migrations[version].split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={version + 1}")
    connection.execute(f"PRAGMA application_id={file.format.mark}")
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch a file to a write-ahead log, unless another process has done so."""
    until = time.monotonic() + _BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself where two open a new file at once: each holds it.
            # Of its several codes, one is for a log that another process is just recovering.
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_SECONDS)


def _read_version(connection: sqlite3.Connection, file: SqliteFile) -> int:
    # One statement sees one state of the file, even while another process makes its tables.
    version, mark, tables = connection.execute(_STATE).fetchone()
    known = file.format.version
    if version and mark != file.format.mark:
        raise StoreError(
            f"The {file.name} holds what another store keeps; give {file.format.service} a file "
            "of its own."
        )
    if version > known:
        raise StoreError(
            f"The {file.name} has version {version}, this program knows versions up to {known}; "
            "use the newer program that wrote it."
        )
    if version == 0 and tables:
        raise StoreError(
            f"The {file.name} holds the tables of another program; give a new file, or "
            f"{file.format.otherwise}."
        )
    return version


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


_NO_MODULE = "no such module: "


def store_error(error: sqlite3.Error, name: str) -> StoreError:
    """Return the error that callers get for an error of SQLite: what happened, what to do.

    Args:
      name: what the message calls the file.
    """
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    meaning = _MEANINGS.get(code, f"failed: {error}")
    if str(error).startswith(_NO_MODULE):
        module = str(error).removeprefix(_NO_MODULE)
        meaning = (
            f"needs an SQLite with the module {module}, which this Python's lacks; use a Python "
            "whose sqlite3 has it"
        )
    return StoreError(f"The {name} {meaning}.")


def unreadable_error(name: str, error: Exception) -> StoreError:
    """Return the error that callers get for a row that holds what this program never writes.

    Args:
      name: what the message calls the file.
    """
    return StoreError(
        f"The {name} holds a row that cannot be read ({error}); it is damaged, or another program "
        "wrote it: restore a backup."
    )
