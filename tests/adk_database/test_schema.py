"""The tables that ours makes are those that google-adk 2.3.0 makes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import Connection, inspect
from sqlalchemy.ext.asyncio import create_async_engine

from ostinato.sessions.database_session_service import DatabaseSessionService
from tests.adk_database.conftest import Peer
from tests.support.databases import execute, run

pytestmark = pytest.mark.service

TABLES = ("adk_internal_metadata", "sessions", "app_states", "user_states", "events")


def described(url: str) -> dict[str, Any]:
    """Columns with their types, keys and indexes of each of google-adk's tables.

    Indexes of ours are left out: they are beside its own, under names that it does not use.
    """

    def look(connection: Connection) -> dict[str, Any]:
        inspector = inspect(connection)
        return {
            table: {
                "columns": [
                    (c["name"], re.sub(" COLLATE .*", "", str(c["type"])), c["nullable"])
                    for c in inspector.get_columns(table)
                ],
                "key": inspector.get_pk_constraint(table)["constrained_columns"],
                "foreign": [
                    (
                        f["constrained_columns"],
                        f["referred_table"],
                        f.get("options", {}).get("ondelete"),
                    )
                    for f in inspector.get_foreign_keys(table)
                ],
                "indexes": [
                    (i["name"], i["column_names"])
                    for i in inspector.get_indexes(table)
                    if not str(i["name"]).startswith("ostinato_")
                ],
            }
            for table in TABLES
        }

    async def work() -> dict[str, Any]:
        engine = create_async_engine(url)
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(look)
        finally:
            await engine.dispose()

    return run(work)


@pytest.mark.spec(193)
@pytest.mark.parametrize("peer", ["adk23"], indirect=True)
async def test_the_tables_are_the_same(peer: Peer, ours: DatabaseSessionService, url: str) -> None:
    peer.ask("create", id="s1", state={})
    theirs = described(url)
    metadata = execute(url, "SELECT * FROM adk_internal_metadata")
    peer.end()
    for table in reversed(TABLES):
        execute(url, f"DROP TABLE {table}")
    await ours.create_session(app_name="app", user_id="ann")
    assert described(url) == theirs
    assert (
        execute(url, "SELECT * FROM adk_internal_metadata") == metadata == [("schema_version", "1")]
    )
