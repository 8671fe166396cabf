"""Databases for tests: a new one on a real server for each test that asks, dropped after it.

The servers are those of the variables below, else those on the standard local ports. Where no
PostgreSQL answers, one is started from the installed binaries; without these its tests skip.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

from tests.support import throwaway_postgres

SERVERS = {
    "postgres": os.environ.get(
        "OSTINATO_TEST_POSTGRES_URL", "postgresql+asyncpg://postgres@127.0.0.1:5432/test"
    ),
    "mariadb": os.environ.get(
        "OSTINATO_TEST_MYSQL_URL", "mysql+aiomysql://root@127.0.0.1:3306/test"
    ),
}
_CANNOT_CONNECT = "2003"  # what a MySQL driver says where no server listens


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Await `work()` in an event loop of its own, whatever runs in this thread."""
    outcome: list[Any] = []

    def body() -> None:
        try:
            outcome.append(asyncio.run(work()))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def execute(url: str, *statements: str, **values: Any) -> list[tuple[Any, ...]]:
    """Run statements, each committed by itself; return the rows of the last one."""

    async def work() -> list[tuple[Any, ...]]:
        engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
        rows: list[tuple[Any, ...]] = []
        try:
            async with engine.connect() as connection:
                for statement in statements:
                    result = await connection.execute(text(statement), values)
                    rows = [tuple(row) for row in result] if result.returns_rows else []
        finally:
            await engine.dispose()
        return rows

    return run(work)


def server_url(server: str) -> str:
    """Return the URL of a server that answers; skip the test where there is none."""
    return _answering(server, SERVERS[server])


@functools.cache
def _answering(server: str, url: str) -> str:
    try:
        execute(url, "SELECT 1")
    except (OSError, OperationalError) as error:
        if isinstance(error, OperationalError) and _CANNOT_CONNECT not in str(error.orig):
            raise
        binaries = throwaway_postgres.postgres_binaries() if server == "postgres" else None
        if binaries is None:
            pytest.skip(f"no {server} answers: {error}")
        return throwaway_postgres.shared(binaries)
    return url


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """Make an empty database on a server; yield its URL."""
    admin = server_url(server)
    name = f"ostinato_{uuid.uuid4().hex}"  # a run that was killed leaves its own behind
    execute(admin, f"CREATE DATABASE {name}")
    try:
        yield make_url(admin).set(database=name).render_as_string(hide_password=False)
    finally:
        execute(admin, f"DROP DATABASE {name}{' WITH (FORCE)' if server == 'postgres' else ''}")
