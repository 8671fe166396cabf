"""Mapping of driver exceptions to Ostinato errors that say what to do."""

from __future__ import annotations

import sqlite3
from typing import Any

from ...errors import InputValidationError, OstinatoError, StoreError
from ..sqlite.sqlite_file import store_error
from .sql_url import Target

# PostgreSQL: SQLSTATE, or its first two characters. MySQL: number of the error.
_MEANINGS: dict[str | int, str] = {
    "28": "refuses the user or the password; mend db_url",
    1045: "refuses the user or the password; mend db_url",
    1698: "refuses the user or the password; mend db_url",
    1044: "may not be used by this user; grant it the rights",
    "3D": "does not exist on that server; create it",
    1049: "does not exist on that server; create it",
    "42501": "may not be changed by this user; grant it the rights to create and write its tables",
    1142: "may not be changed by this user; grant it the rights to create and write its tables",
    1143: "may not be changed by this user; grant it the rights to create and write its tables",
    "25006": "may only be read at present; write to the primary server",
    1290: "may only be read at present; write to the primary server",
    1792: "may only be read at present; write to the primary server",
    1836: "may only be read at present; write to the primary server",
    "53300": "has no connection left; lower pool_size or raise the server's limit",
    1040: "has no connection left; lower pool_size or raise the server's limit",
    "53": "has run out of disk or memory",
    1021: "has run out of disk or memory",
    1114: "has run out of disk or memory",
    "42P01": "has lost a table of the session store; restore a backup",
    1146: "has lost a table of the session store; restore a backup",
}
_INPUT: dict[str | int, str] = {
    "22": "holds a character or a length that the database cannot store",
    "54000": "is larger than the database takes",
    1406: "is longer than the database takes",
    1366: "holds a character that the database cannot store",
    1153: "is larger than the server's max_allowed_packet",
    1301: "is larger than the server's max_allowed_packet",
}
_GONE = "cannot be reached; see that the server runs and that db_url names its host and port"
_AGAIN: frozenset[str | int] = frozenset(("40001", "40P01", "55P03", 1213, 1205, 1020))
# 55000: the database accepts no connections for now, as during a restore.
_LOST: frozenset[str | int] = frozenset(
    (1053, 1927, 2002, 2003, 2006, 2013, 2014, 2055, "55000", "57P01", "57P02", "57P03")
)
# What SQLAlchemy's pool says of a connection that ended while it was checked out.
_CLOSED = "This connection is closed"
_LOST_KINDS = {
    "ConnectionDoesNotExistError",
    "CannotConnectNowError",
    "IncompleteReadError",
    "InternalClientError",  # asyncpg's, where a connection ends in the middle of a message
    "OSError",
}


def _error_chain(error: BaseException) -> list[BaseException]:
    """Return an error and what it was made from, the driver's own last."""
    found: list[BaseException] = []
    while error not in found:
        found.append(error)
        error = getattr(error, "orig", None) or error.__cause__ or error
    return found


def _error_code(error: BaseException) -> str | int | None:
    for each in _error_chain(error):
        number = each.args[0] if each.args else None
        if isinstance(number, int) and not isinstance(each, OSError):
            return number
        state: Any = getattr(each, "sqlstate", None)
        if isinstance(state, str):
            return state
    return None


def is_retryable(error: BaseException) -> bool:
    """Return whether the same transaction may succeed when it is retried."""
    return _error_code(error) in _AGAIN


def is_lost(error: BaseException) -> bool:
    """Return whether the connection to the server could not be made, or has ended."""
    code = _error_code(error)
    if code in _LOST or (isinstance(code, str) and code[:2] == "08"):
        return True
    if any(getattr(each, "connection_invalidated", False) for each in _error_chain(error)):
        return True
    if type(error).__name__ == "InvalidRequestError" and _CLOSED in str(error):
        return True
    if any(_is_closed_stream(each) for each in _error_chain(error)):
        return True
    return not _LOST_KINDS.isdisjoint(_class_names(error))


def _is_closed_stream(error: BaseException) -> bool:
    """Return whether aiomysql used a connection that it had closed, of which it has no error."""
    if not isinstance(error, AttributeError) or error.obj is not None:
        return False
    return error.name in ("readexactly", "write", "drain")


def _class_names(error: BaseException) -> set[str]:
    return {kind.__name__ for each in _error_chain(error) for kind in type(each).__mro__}


def meaning_of(error: BaseException, target: Target) -> OstinatoError | None:
    """Return the error that callers get for one of a database; None for any other."""
    kinds = _class_names(error)
    if "IntegrityError" in kinds:
        return None  # the caller that wrote the row handles it
    for each in _error_chain(error):
        if isinstance(each, UnicodeEncodeError):
            return InputValidationError(
                f"A name, an id or a text is not valid Unicode text: {each}."
            )
        if isinstance(each, sqlite3.Error):
            return store_error(each, f"session store {target.name!r}")
    code = _error_code(error)
    for known in (code, code[:2] if isinstance(code, str) else None):
        if known in _INPUT:
            return InputValidationError(
                f"What was to be stored in the session store {target.name!r} {_INPUT[known]}."
            )
        if known in _MEANINGS:
            return StoreError(f"The session store {target.name!r} {_MEANINGS[known]}.")
    if is_lost(error) or (isinstance(code, str) and code[:2] == "57"):
        return StoreError(f"The session store {target.name!r} {_GONE}.")
    if "TimeoutError" in kinds:
        return StoreError(
            f"The session store {target.name!r} had no connection free in time; raise pool_size "
            "and max_overflow."
        )
    if kinds & {"DBAPIError", "PostgresError", "InterfaceError", "MySQLError"}:
        return StoreError(f"The session store {target.name!r} failed: {_first_line(error)}")
    return None


def _first_line(error: BaseException) -> str:
    last = _error_chain(error)[-1]
    return f"{type(last).__name__}: {str(last).splitlines()[0] if str(last) else ''}"
