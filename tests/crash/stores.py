"""Where the talk of a trial is kept: in a file of its folder, or in a database of its lane."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, cast

from ostinato.sessions import SqliteSessionService
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sql.sql_appends import SqlAppends
from ostinato.sessions.sqlite import sqlite_rows as sqlite_rows
from tests.crash.world import World
from tests.support.databases import SERVERS, execute, new_database

STORES = ("sqlite", *SERVERS)
_EMPTY = [f"DELETE FROM {table}" for table in ("sessions", "user_states", "app_states")]


@contextmanager
def databases(store: str, count: int) -> Iterator[list[str]]:
    """Make so many databases on a server; yield their URLs, which are empty for SQLite."""
    with ExitStack() as stack:
        yield [
            "" if store == "sqlite" else stack.enter_context(new_database(store))
            for _ in range(count)
        ]


def opened(world: World) -> Any:
    """Return the session service of a trial."""
    if world.url:
        return DatabaseSessionService(world.url)
    return SqliteSessionService(world.database, synchronous="NORMAL")


def opened_with_fail_point(world: World) -> Any:
    """Return it with a fail point within the transaction of each append."""
    rows, appends = cast("Any", sqlite_rows), cast("Any", SqlAppends)
    append = getattr(rows.append_batch, "plain", rows.append_batch)
    append_on_server = getattr(appends.append_batch, "plain", appends.append_batch)

    def within(*args: Any) -> Any:
        done = append(*args)
        world.point("within append")
        return done

    async def within_on_server(*args: Any, **named: Any) -> Any:
        done = await append_on_server(*args, **named)
        world.point("within append")
        return done

    within.plain = append  # type: ignore[attr-defined]
    within_on_server.plain = append_on_server  # type: ignore[attr-defined]
    rows.append_batch, appends.append_batch = within, within_on_server
    return opened(world)


async def begin_talk(world: World, names: dict[str, str]) -> None:
    """Make a trial's talk, in which nothing was said; an earlier one in its database goes."""
    service = opened(world)
    await service.list_sessions(app_name=names["app_name"])  # it makes the tables
    if world.url:
        await asyncio.to_thread(execute, world.url, *_EMPTY)
    await service.create_session(**names)
    await service.close()


def rows_left(world: World) -> list[str]:
    """Return rows that nobody will ever delete."""
    count, others = "SELECT count(*) FROM ostinato_journal", "SELECT id FROM sessions"
    if world.url:
        journal, names = execute(world.url, count), execute(world.url, others)
    else:
        with closing(sqlite3.connect(world.database)) as database:
            journal, names = (database.execute(each).fetchall() for each in (count, others))
    left = [f"{number} rows of journal" for (number,) in journal if number]
    return left + [f"session {name}" for (name,) in names if name != "one"]
