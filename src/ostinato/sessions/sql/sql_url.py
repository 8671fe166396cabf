"""The URL of a SQL database of sessions: its database, its driver and its name without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..._optional import need
from ...errors import InputValidationError
from .sql_dialects import MYSQL, POSTGRES, SQLITE, Dialect

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

# Database in a URL -> how to speak to it, drivers that do not block (the first is the one to
# advise), and the extra that installs those.
_DATABASES: dict[str, tuple[Dialect, tuple[str, ...], str]] = {
    "sqlite": (SQLITE, ("aiosqlite",), "sql"),
    "postgresql": (POSTGRES, ("asyncpg",), "postgres"),
    "mysql": (MYSQL, ("aiomysql", "asyncmy"), "mysql"),
    "mariadb": (MYSQL, ("aiomysql", "asyncmy"), "mysql"),
}
_EXAMPLE = "postgresql://user:password@host/database"


class Target(NamedTuple):
    """A database.

    Attributes:
      url: where it is; may hold a password.
      name: what a message may call it: never a password, a user or a folder.
      dialect: how to speak to it.
      in_memory: whether it is SQLite without a file.
    """

    url: URL
    name: str
    dialect: Dialect
    in_memory: bool


def target_of(db_url: Any) -> Target:
    """Return the database that a URL names, once its driver is there.

    Raises:
      InputValidationError: the URL names no database that this store supports, or names a driver
        that would block the event loop.
      MissingExtraError: SQLAlchemy or the driver is not installed.
    """
    engine = need("sqlalchemy.engine", extra="sql")
    errors = need("sqlalchemy.exc", extra="sql")
    if not isinstance(db_url, (str, engine.URL)):
        raise InputValidationError(
            f"db_url must be a str, not {type(db_url).__name__}; write one like {_EXAMPLE!r}."
        )
    try:
        url: URL = engine.make_url(db_url)
    except (errors.ArgumentError, ValueError):  # its text would repeat the password
        raise InputValidationError(
            f"db_url is not a database URL; write one like {_EXAMPLE!r} or 'sqlite:///sessions.db'."
        ) from None
    backend, _, driver = url.drivername.partition("+")
    if backend not in _DATABASES:
        raise InputValidationError(
            f"db_url names the database {backend!r}; this store knows {', '.join(_DATABASES)}."
        )
    dialect, drivers, extra = _DATABASES[backend]
    if not driver:
        driver = drivers[0]
        url = url.set(drivername=f"{backend}+{driver}")
    if driver not in drivers:
        raise InputValidationError(
            f"db_url names the driver {driver!r}, which this store cannot wait for; write "
            f"{backend}+{drivers[0]}://... (pip install 'ostinato[{extra}]')."
        )
    need(driver, extra=extra)
    in_memory = dialect is SQLITE and _in_memory(url)
    return Target(url, _name_of(url, dialect), dialect, in_memory)


def _in_memory(url: URL) -> bool:
    database = url.database or ""
    return database in ("", ":memory:") or "mode=memory" in str(url.query) + database


def _name_of(url: URL, dialect: Dialect) -> str:
    database = url.database or ":memory:" if dialect is SQLITE else url.database or ""
    return database.replace("\\", "/").rsplit("/", 1)[-1]
