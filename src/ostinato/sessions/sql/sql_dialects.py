"""Differences between SQLite, PostgreSQL and MySQL (MariaDB) in the SQL store's statements.

Times in google-adk's tables are without a zone and mean UTC; `stamp` and `micros` are the only
places that write and read them. Everything else counts microseconds or seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...errors import InputValidationError

_EPOCH = datetime(1970, 1, 1)
_MICRO = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between databases.

    Attributes:
      name: the database's name.
      json, time, text, serial: types of columns, `serial` with its key.
      mark: quote around a name.
      now: the database's time in seconds since 1970, as SQL.
      lock: what locks the session's row for the length of a transaction.
      skip_locked: what locks the rows of `i`, except those that another transaction has locked.
      exact: collation for exact comparison of texts; empty if that is the database's default.
      longest: how many characters a name of an app, a user or a session may have.
      locks_first: whether the session's row is locked by a statement of its own, because one that
        waits for a lock reads the other tables as they were before it waited.
    """

    name: str
    json: str
    time: str
    text: str
    serial: str
    mark: str
    now: str
    lock: str
    skip_locked: str
    exact: str = ""
    longest: int = 128
    locks_first: bool = False

    def same(self, column: str, parameter: str) -> str:
        """Return the condition that a column holds just the text of a parameter."""
        found = f"{column} = :{parameter}"
        return f"({found} AND {self.exact} {column} = :{parameter})" if self.exact else found

    def json_of(self, column: str) -> str:
        """Return the JSON text of a column, as SQL; a driver may have its own idea of JSON."""
        return f"CAST({column} AS text)" if self.name == "postgresql" else column

    def as_json(self, parameter: str) -> str:
        """Return the value for a JSON column of a parameter that holds its text, as SQL."""
        if self.name == "postgresql":
            return f"CAST(CAST(:{parameter} AS text) AS jsonb)"
        return f":{parameter}"

    def stamp(self, micros: int) -> datetime | str:
        """Return a time as google-adk's tables hold it."""
        moment = _EPOCH + micros * _MICRO
        if self.name == "sqlite":
            return moment.isoformat(" ", "microseconds")
        return moment

    def upsert(self, keys: str, *columns: str, unless: str = "") -> str:
        """Return the end of an INSERT that replaces columns of a row that is there already.

        Args:
          keys: the columns that tell which row, separated by commas.
          columns: what to replace; nothing keeps the row unchanged.
          unless: condition under which the row stays; `old.` and `new.` stand before columns.
        """
        if self.name == "mysql":
            return _on_duplicate_key(keys, columns, unless)
        if not columns:
            return f"ON CONFLICT({keys}) DO NOTHING"
        values = ", ".join(f"{name} = excluded.{name}" for name in columns)
        stays = f" WHERE NOT ({unless})" if unless else ""
        return f"ON CONFLICT({keys}) DO UPDATE SET {values}{stays}".replace("new.", "excluded.")


def _on_duplicate_key(keys: str, columns: tuple[str, ...], unless: str) -> str:
    if not columns:
        first = keys.split(",")[0]
        return f"ON DUPLICATE KEY UPDATE {first} = {first}"
    values = {name: f"VALUES({name})" for name in columns}
    if unless:
        for name in columns:
            unless = unless.replace(f"new.{name}", f"VALUES({name})")
        values = {name: f"IF({unless}, {name}, {new})" for name, new in values.items()}
    return "ON DUPLICATE KEY UPDATE " + ", ".join(f"{name} = {v}" for name, v in values.items())


def micros_of(seconds: float) -> int:
    """Return microseconds for seconds, rounded as google-adk rounds them.

    Raises:
      InputValidationError: no database holds such a time.
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError) as error:
        raise InputValidationError(
            f"The timestamp {seconds!r} is not a time; give seconds since 1970."
        ) from error
    return (moment - _EPOCH) // _MICRO


def micros(stored: datetime | str) -> int:
    """Return the time of a row of google-adk's tables."""
    if isinstance(stored, str):
        stored = datetime.fromisoformat(stored)
    if stored.tzinfo is not None:
        stored = stored.astimezone(UTC).replace(tzinfo=None)
    return (stored - _EPOCH) // _MICRO


SQLITE = Dialect(
    "sqlite",
    json="TEXT",
    time="DATETIME",
    text="TEXT",
    serial="INTEGER PRIMARY KEY AUTOINCREMENT",
    mark='"',
    now=":now",  # the machine's clock, as of this process
    lock="",  # BEGIN IMMEDIATE has locked the file
    skip_locked="",
    longest=256,
)
POSTGRES = Dialect(
    "postgresql",
    json="JSONB",
    time="TIMESTAMP WITHOUT TIME ZONE",
    text="TEXT",
    serial="BIGSERIAL PRIMARY KEY",
    mark='"',
    now="CAST(extract(epoch FROM clock_timestamp()) AS float8)",
    lock="FOR UPDATE OF s",
    skip_locked="FOR UPDATE OF i SKIP LOCKED",
    locks_first=True,
)
MYSQL = Dialect(
    "mysql",
    json="LONGTEXT",
    time="DATETIME(6)",
    text="LONGTEXT",
    serial="BIGINT AUTO_INCREMENT PRIMARY KEY",
    mark="`",
    now="(unix_timestamp(now(6)) + 0e0)",
    lock="FOR UPDATE",
    skip_locked="FOR UPDATE SKIP LOCKED",  # MariaDB knows no OF
    exact="BINARY",
)
