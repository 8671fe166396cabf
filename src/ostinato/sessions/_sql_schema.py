"""What a SQL database of sessions is found to be, and the tables it still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .._optional import need
from ..errors import StoreError
from ._sql_dialects import Dialect
from ._sql_engines import Engines
from ._sql_tables import ADK_VERSION, OURS, VERSION, adk_tables, our_tables
from ._sql_url import Target

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

Schema = Literal["v0", "v1"]
_LOCK = 0x6F7374696E61746F  # one program at a time makes tables
_V0_COLUMN, _V1_COLUMN = "actions", "event_data"


async def prepare(engines: Engines, target: Target) -> Schema:
    """Return which schema of google-adk a database has, and make what is missing of version 1.

    Raises:
      StoreError: it holds tables of something else or of a newer program, or may not be changed.
    """
    found = await engines.read(lambda db: db.run_sync(_look, target))
    if found is not None:
        return found
    await engines.write(lambda db: _make(db, target))
    return "v1"


def _look(connection: Connection, target: Target) -> Schema | None:
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
        _check(connection, "adk_internal_metadata", f"{mark}key{mark}", ADK_VERSION, target)
    if "ostinato_metadata" in tables:
        _check(connection, "ostinato_metadata", "name", VERSION, target)
    complete = {"events", "sessions", "app_states", "user_states", *OURS} <= tables
    return "v1" if complete else None


def _check(connection: Connection, table: str, name: str, version: str, target: Target) -> None:
    found: Any = connection.exec_driver_sql(
        f"SELECT value FROM {table} WHERE {name} = 'schema_version'"
    ).scalar_one_or_none()
    if found not in (None, version):
        raise StoreError(
            f"The session store {target.name!r} has version {found} in {table}, this program "
            f"knows version {version}; use the program that wrote it."
        )


async def _make(db: AsyncConnection, target: Target) -> None:
    dialect = target.dialect
    if dialect.name == "postgresql":
        await db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    elif dialect.name == "mysql":
        await db.exec_driver_sql(f"SELECT get_lock('{_LOCK}', 60)")
    try:
        await _make_locked(db, target)
    finally:
        if dialect.name == "mysql":
            await db.exec_driver_sql(f"SELECT release_lock('{_LOCK}')")


async def _make_locked(db: AsyncConnection, target: Target) -> None:
    dialect = target.dialect
    if await db.run_sync(_look, target) is not None:
        return
    names = await db.run_sync(
        lambda c: need("sqlalchemy", extra="sql").inspect(c).get_table_names()
    )
    if "events" not in names:
        await _execute(db, adk_tables(dialect))
        mark = dialect.mark
        await db.exec_driver_sql(
            f"INSERT INTO adk_internal_metadata ({mark}key{mark}, value) "
            f"VALUES ('schema_version', '{ADK_VERSION}')"
        )
    await _execute(db, our_tables(dialect, await _collation(db, dialect)))
    await db.exec_driver_sql(
        f"INSERT INTO ostinato_metadata (name, value) VALUES ('schema_version', '{VERSION}')"
    )


async def _execute(db: AsyncConnection, statements: list[str]) -> None:
    for statement in statements:
        await db.exec_driver_sql(statement)


async def _collation(db: AsyncConnection, dialect: Dialect) -> str:
    if dialect.name != "mysql":
        return ""
    row: Any = (
        await db.exec_driver_sql(
            "SELECT character_set_name, collation_name FROM information_schema.columns "
            "WHERE table_schema = database() AND table_name = 'sessions' AND column_name = 'id'"
        )
    ).one()
    return f" CHARACTER SET {row[0]} COLLATE {row[1]}"
