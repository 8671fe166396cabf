"""Schema of a SQL database of sessions: its detection and the creation of missing tables."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from ..._optional import need
from ...errors import StoreError
from .sql_dialects import Dialect
from .sql_engines import Engines
from .sql_tables import (
    ADK_VERSION,
    MARK_PRUNED,
    OURS,
    SEARCH,
    VERSION,
    adk_tables,
    column_statements,
    index_statements,
    indexed_tables,
    our_tables,
    search_tables,
)
from .sql_url import Target

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

Schema = Literal["v0", "v1"]
Fill = Callable[["AsyncConnection"], Awaitable[None]]
_LOCK = 0x6F7374696E61746F  # one program at a time makes tables
_V0_COLUMN, _V1_COLUMN = "actions", "event_data"


async def prepare_schema(engines: Engines, target: Target, add_requests: Fill) -> Schema:
    """Return which schema of google-adk a database has, and make what is missing of version 1.

    Args:
      engines: its connections.
      target: the database.
      add_requests: fills the table of requests of a database that has sessions already.

    Raises:
      StoreError: it holds tables of something else or of a newer program, or may not be changed.
    """
    found = await engines.read(lambda db: db.run_sync(_find_complete_schema, target))
    if found is not None:
        return found
    await engines.write(lambda db: _make_tables(db, target, add_requests), bounded=False)
    return "v1"


def _find_complete_schema(connection: Connection, target: Target) -> Schema | None:
    """Return the schema of a database that lacks nothing."""
    inspector = need("sqlalchemy", extra="sql").inspect(connection)
    tables = set(inspector.get_table_names())
    if "events" in tables:
        columns: dict[str, str] = {
            each["name"]: str(each["type"]) for each in inspector.get_columns("events")
        }
        if _V0_COLUMN in columns and _V1_COLUMN not in columns:
            return "v0"
        if _V1_COLUMN not in columns or not columns["timestamp"].startswith(("DATE", "TIMESTAMP")):
            raise StoreError(
                f"The database {target.name!r} holds tables of another program; give another one, "
                "or use SqliteSessionService for a file that it wrote."
            )
    if "adk_internal_metadata" in tables:
        mark = target.dialect.mark
        _check_version(connection, "adk_internal_metadata", f"{mark}key{mark}", ADK_VERSION, target)
    if "ostinato_metadata" in tables:
        _check_version(connection, "ostinato_metadata", "name", VERSION, target)
    complete = {"events", "sessions", "app_states", "user_states", *OURS, SEARCH} <= tables
    return "v1" if complete else None


def _check_version(
    connection: Connection, table: str, name: str, version: str, target: Target
) -> None:
    found: Any = connection.exec_driver_sql(
        f"SELECT value FROM {table} WHERE {name} = 'schema_version'"
    ).scalar_one_or_none()
    if found not in (None, version):
        raise StoreError(
            f"The session store {target.name!r} has version {found} in {table}, this program "
            f"knows version {version}; use the program that wrote it."
        )


async def _make_tables(db: AsyncConnection, target: Target, add_requests: Fill) -> None:
    dialect = target.dialect
    if dialect.name == "postgresql":
        await db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    elif dialect.name == "mysql":
        await db.exec_driver_sql(f"SELECT get_lock('{_LOCK}', 60)")
    try:
        await _make_locked(db, target, add_requests)
    finally:
        if dialect.name == "mysql" and not db.invalidated:  # a lost connection has released it
            await db.exec_driver_sql(f"SELECT release_lock('{_LOCK}')")


async def _make_locked(db: AsyncConnection, target: Target, add_requests: Fill) -> None:
    dialect = target.dialect
    if await db.run_sync(_find_complete_schema, target) is not None:
        return
    names = await db.run_sync(
        lambda c: need("sqlalchemy", extra="sql").inspect(c).get_table_names()
    )
    if "events" not in names:
        await _execute_all(db, adk_tables(dialect))
        mark = dialect.mark
        await db.exec_driver_sql(
            f"INSERT INTO adk_internal_metadata ({mark}key{mark}, value) "
            f"VALUES ('schema_version', '{ADK_VERSION}')"
        )
    await _execute_all(db, our_tables(dialect, await _exact_collation(db, dialect), names))
    if "ostinato_metadata" not in names:
        await db.exec_driver_sql(
            f"INSERT INTO ostinato_metadata (name, value) VALUES ('schema_version', '{VERSION}')"
        )
    if "ostinato_effects" in names and "ostinato_effect_marks" not in names:
        await db.exec_driver_sql(MARK_PRUNED)
    if SEARCH not in names:
        await _add_search(db, dialect)
    if "events" in names and "ostinato_requests" not in names:
        await add_requests(db)


async def _add_search(db: AsyncConnection, dialect: Dialect) -> None:
    """Make the table of the search and the indexes of lists and sweeps.

    The table comes last: where MySQL, which commits after each of these statements, is cut short,
    the rest is made the next time.
    """
    inspect = need("sqlalchemy", extra="sql").inspect
    columns: list[str] = await db.run_sync(
        lambda c: [each["name"] for each in inspect(c).get_columns("ostinato_sessions")]
    )
    await _execute_all(db, column_statements(columns))
    known: dict[str, set[str]] = await db.run_sync(
        lambda c: {
            name: {each["name"] for each in inspect(c).get_indexes(name)}
            for name in indexed_tables()
        }
    )
    await _execute_all(db, index_statements(dialect, known))
    await _execute_all(db, search_tables(dialect))


async def _execute_all(db: AsyncConnection, statements: list[str]) -> None:
    for statement in statements:
        await db.exec_driver_sql(statement)


async def _exact_collation(db: AsyncConnection, dialect: Dialect) -> str:
    if dialect.name != "mysql":
        return ""
    row: Any = (
        await db.exec_driver_sql(
            "SELECT character_set_name, collation_name FROM information_schema.columns "
            "WHERE table_schema = database() AND table_name = 'sessions' AND column_name = 'id'"
        )
    ).one()
    return f" CHARACTER SET {row[0]} COLLATE {row[1]}"
