"""Connections to a SQL database: one pool for each event loop, transactions, and turns on SQLite.

A connection belongs to the loop that opened it, and a pool is closed with its loop. Cancelling the
caller of a transaction does not interrupt it.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..._optional import need
from ..._private_files import create_private_file
from ...errors import InputValidationError, OstinatoError, StoreError
from ..sqlite.sqlite_connection import forks
from .sql_errors import is_lost, is_retryable, meaning_of
from .sql_pool import (
    FRESH_SECONDS,
    AnswerWatch,
    Pool,
    bound_closing,
    bound_connecting,
    close_firmly,
    connect_aiomysql,
    keep_alive,
    note_start,
    note_statement,
    note_use,
    try_first,
    watch_start,
)
from .sql_retry import Phase, Retry
from .sql_url import Target

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_R = TypeVar("_R")
Work = Callable[["AsyncConnection"], Awaitable[_R]]

_BUSY_SECONDS = 10  # how long SQLite waits for another process
# With such a setting a proxy lies before the database, or the program observes or changes each
# transaction: then no statement commits by itself.
_CAREFUL = frozenset(
    (
        "echo",
        "isolation_level",
        "prepared_statement_cache_size",
        "prepared_statement_name_func",
        "statement_cache_size",
    )
)


@dataclass(frozen=True, slots=True)
class Single(Generic[_R]):
    """A statement for asyncpg that does all of a transaction's work and commits by itself.

    Attributes:
      sql: the statement; it returns one row if it did its work, and else has done nothing.
      values: its parameters.
      answer: makes the answer of that row.
    """

    sql: str
    values: Sequence[Any]
    answer: Callable[[Any], _R]


class Engines:
    """Pools of connections to one database, made and closed as event loops come and go.

    Args:
      target: the database.
      settings: the caller's arguments for `create_async_engine`.
      reconnect_seconds: for how long to try again where a connection is lost.
      answer_seconds: how long a server may take to answer one statement; None does not bound it.

    Raises:
      InputValidationError: SQLAlchemy refuses the settings.
    """

    def __init__(
        self,
        target: Target,
        settings: dict[str, Any],
        reconnect_seconds: float,
        answer_seconds: float | None = None,
    ) -> None:
        self._target = target
        self._answer_seconds = None if target.dialect.name == "sqlite" else answer_seconds
        self._settings = _with_defaults(target, settings, self._answer_seconds)
        self._lock = threading.Lock()
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = (
            weakref.WeakKeyDictionary()
        )
        # SQLite has one writer at a time, and one connection where it keeps all in memory.
        self._turns = Turns() if target.dialect.name == "sqlite" else None
        self._shared: Pool | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._reconnect_seconds = reconnect_seconds
        self._has_connected = False
        self._forks: int | None = None  # how often this process was forked before the first use
        arguments: dict[str, Any] = settings.get("connect_args") or {}
        given = {name for name, value in settings.items() if value}
        self.takes_singles = target.dialect.name == "postgresql" and _CAREFUL.isdisjoint(
            given.union(arguments, target.url.query)
        )
        self._spare: AsyncEngine | None = self._make_engine()

    async def read(self, work: Work[_R]) -> _R:
        """Run `work` in a transaction that writes nothing; see `write` for errors."""
        return await self._run_task(self._run_with_retries(work, "BEGIN", repeatable=True))

    async def probe_server(self) -> None:
        """Ask the server for an answer once, without trying again; see `write` for errors."""

        async def select_one(db: AsyncConnection) -> None:
            await db.exec_driver_sql("SELECT 1")

        await self._run_task(
            self._run_with_retries(select_one, "BEGIN", repeatable=True, reconnects=False)
        )

    async def write(
        self,
        work: Work[_R],
        show: Callable[[_R], None] | None = None,
        turns: Turns | None = None,
        single: Callable[[], Single[_R] | None] | None = None,
        *,
        repeatable: bool = False,
        bounded: bool = True,
    ) -> _R:
        """Run `work` in a transaction, again from its start where another one got in its way.

        Args:
          show: called with the result once it is committed, even if the caller was cancelled.
          turns: a lock to hold meanwhile.
          single: returns, within the lock, a statement to try first. `work` has to find out whether
            it was committed if its result was lost.
          repeatable: whether `work` may run again after a commit whose answer was lost.
          bounded: whether `answer_seconds` holds; building an index takes as long as it takes.

        Raises:
          StoreError: the database cannot be reached or written.
          InputValidationError: the database cannot hold what was to be written.
          OstinatoError: what `work` raised; nothing was written.
        """
        attempts = self._in_turn(work, show, turns or Turns(), single, repeatable, bounded)
        return await self._run_task(attempts)

    async def _in_turn(
        self,
        work: Work[_R],
        show: Callable[[_R], None] | None,
        turns: Turns,
        single: Callable[[], Single[_R] | None] | None,
        repeatable: bool,
        bounded: bool,
    ) -> _R:
        async with turns:
            first = single() if single is not None and self.takes_singles else None
            row = await self._at_once(first) if first is not None else None
            if first is not None and row is not None:
                answer = first.answer(row)
            else:
                answer = await self._run_with_retries(work, "BEGIN IMMEDIATE", repeatable, bounded)
            if show is not None:
                show(answer)
            return answer

    async def _at_once(self, single: Single[Any]) -> Any:
        """Execute a statement that commits by itself; return its row.

        None if it has done nothing, or the connection was lost and the outcome is unknown.
        """
        try:
            pool = await self._loop_pool()
            connection = await pool.take()
            try:
                with AnswerWatch(self._answer_seconds, connection.driver):
                    return await connection.driver.fetchrow(single.sql, *single.values)
            finally:
                await pool.put(connection)
        except Exception:  # boundary: the transaction that follows raises the error
            return None

    async def _run_task(self, attempts: Coroutine[Any, Any, _R]) -> _R:
        try:
            answer: asyncio.Future[_R] = asyncio.get_running_loop().create_future()
        except RuntimeError:  # an abandoned generator is finalized after its loop has closed
            attempts.close()
            raise
        self._start_task(attempts, answer)
        return await answer

    def _start_task(
        self, attempts: Coroutine[Any, Any, _R], answer: asyncio.Future[_R]
    ) -> asyncio.Task[Any]:
        if self._forks not in (None, forks[0]):
            attempts.close()
            raise StoreError(
                f"The session store {self._target.name!r} was opened before this process was "
                "forked; make a new DatabaseSessionService in each process."
            )
        if self._closed:  # what has started continues, and `close` waits for it
            attempts.close()
            raise StoreError(
                f"The session store {self._target.name!r} has been closed; make a new "
                "DatabaseSessionService."
            )
        task = asyncio.create_task(_pass_result(attempts, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: attempts.close())  # where it was cancelled unstarted
        return task

    async def _run_with_retries(
        self,
        work: Work[_R],
        begin: str,
        repeatable: bool,
        bounded: bool = True,
        reconnects: bool = True,
    ) -> _R:
        seconds = self._answer_seconds if bounded else None
        retry: Retry | None = None
        while True:  # `Retry` bounds it, and each round pauses
            phase = Phase()
            try:
                return await self._run_transaction(work, begin, phase, seconds)
            except OstinatoError:
                raise
            except Exception as error:  # boundary: errors of drivers get their meaning here
                pause, retry = None, retry or Retry(self._reconnect_seconds)
                if is_retryable(error):
                    pause = retry.pause_after_conflict()
                elif reconnects and is_lost(error) and self._may_reconnect(phase, repeatable):
                    pause = retry.pause_after_loss()
                if pause is None:
                    meaning = meaning_of(error, self._target)
                    if meaning is None:
                        raise
                    # The driver's stack says no more than that the server is away.
                    raise meaning from (None if is_lost(error) else error)
            await asyncio.sleep(pause)

    def _may_reconnect(self, phase: Phase, repeatable: bool) -> bool:
        """Return whether to run a transaction again whose connection was lost.

        A server that never answered has the wrong address, more likely than not.
        """
        return self._has_connected and not self._closed and (repeatable or not phase.is_committing)

    async def _run_transaction(
        self, work: Work[_R], begin: str, phase: Phase, seconds: float | None
    ) -> _R:
        alone = self._turns is not None and (begin != "BEGIN" or self._target.in_memory)
        async with self._turns if self._turns is not None and alone else nullcontext():
            pool = await self._loop_pool()
            await pool.make_room()
            # The watch comes first: to give a connection back may ask the server, too.
            with AnswerWatch(seconds) as watch:
                async with pool.engine.connect() as connection:
                    self._has_connected = True
                    if self._turns is not None:
                        await connection.execution_options(begin=begin)
                    elif seconds is not None:
                        watch.watch_connection(await connection.get_raw_connection())
                    async with connection.begin():
                        answer = await work(connection)
                        phase.is_committing = True
                        return answer

    async def _loop_pool(self) -> Pool:
        self._forks = forks[0]
        if self._target.in_memory:  # its one connection holds the data and serves every loop
            if self._shared is None:
                self._shared = Pool(self._spare or self._make_engine())
            return self._shared
        loop = asyncio.get_running_loop()
        pool = self._open.get(loop)
        if pool is None:
            with self._lock:
                engine, self._spare = self._spare or self._make_engine(), None
                self._open[loop] = pool = Pool(engine)
            await pool.close_with_loop(owner=self)
        return pool

    def _make_engine(self) -> AsyncEngine:
        try:
            engine: AsyncEngine = need("sqlalchemy.ext.asyncio", extra="sql").create_async_engine(
                self._target.url, **self._settings
            )
        except (TypeError, ValueError) as error:
            raise InputValidationError(
                f"The database's engine cannot be made with {sorted(self._settings)}: {error}"
            ) from error
        event = need("sqlalchemy", extra="sql").event
        if self._target.dialect.name != "sqlite":
            close_firmly(engine)
            self._watch_server(engine, event)
        if self._target.dialect.name == "sqlite":
            if not self._target.in_memory:
                event.listen(engine.sync_engine, "do_connect", _create_sqlite_file)
            event.listen(engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return engine

    def _watch_server(self, engine: AsyncEngine, event: Any) -> None:
        """Have connections tried before use, and see when their statements begin."""
        seconds, is_postgres = self._answer_seconds, self._target.dialect.name == "postgresql"
        # Before the listeners of SQLAlchemy itself, which ask the server.
        event.listen(engine.sync_engine, "connect", keep_alive, insert=True)
        event.listen(engine.sync_engine, "connect", partial(watch_start, seconds), insert=True)
        if "pool_pre_ping" not in self._settings:
            fresh = FRESH_SECONDS if is_postgres else 0.0
            event.listen(engine.sync_engine, "checkin", note_use)
            event.listen(engine.sync_engine, "connect", note_use)
            event.listen(engine.sync_engine, "checkout", partial(try_first, engine, fresh, seconds))
        if seconds is not None:
            event.listen(engine.sync_engine, "before_cursor_execute", note_statement)
            event.listen(engine.sync_engine, "close", partial(bound_closing, seconds))
            if is_postgres and self.takes_singles:  # nothing between that shares connections
                event.listen(
                    engine.sync_engine, "connect", partial(_end_left_transactions, seconds)
                )
        event.listen(engine.sync_engine, "connect", note_start)

    async def wait_until_settled(self) -> None:
        """Wait for what was begun in this event loop until now."""
        loop = asyncio.get_running_loop()
        mine = [task for task in self._tasks if task.get_loop() is loop]
        if mine:
            await asyncio.wait(mine)

    async def close(self) -> None:
        """Wait for what is under way and close the pools; those of other loops with their loops."""
        self._closed = True
        await self.wait_until_settled()
        pool = self._shared or self._open.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()


async def _pass_result(attempts: Coroutine[Any, Any, _R], answer: asyncio.Future[_R]) -> None:
    """Pass a result to a caller that may be cancelled, one turn sooner than `asyncio.shield`."""
    try:
        given = await attempts
    except asyncio.CancelledError:
        answer.cancel()
        raise
    except Exception as error:  # boundary: the error belongs to the one who waits
        if not answer.done():
            answer.set_exception(error)
    else:
        if not answer.done():
            answer.set_result(given)


def _with_defaults(
    target: Target, settings: dict[str, Any], answer_seconds: float | None
) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "hide_parameters": True,
        **settings,
    }  # messages of users stay out of errors
    arguments: dict[str, Any] = chosen.get("connect_args") or {}
    if target.dialect.name != "sqlite":
        if not {"pool", "poolclass"} & chosen.keys():  # other pools than a queue do not wait
            chosen.setdefault("pool_timeout", 120)
        if target.dialect.name == "mysql":
            chosen.setdefault("isolation_level", "READ COMMITTED")  # no locks on gaps
        if answer_seconds is not None and not {"async_creator", "creator"} & chosen.keys():
            driver = need(target.url.drivername.partition("+")[2], extra=target.dialect.name)
            connects = connect_aiomysql if driver.__name__ == "aiomysql" else driver.connect
            connect = bound_connecting(connects, answer_seconds)
            chosen["connect_args"] = {"async_creator_fn": connect, **arguments}
        return chosen
    chosen["connect_args"] = {
        "check_same_thread": False,
        "timeout": _BUSY_SECONDS,
        **arguments,
    }
    if target.in_memory:
        chosen.setdefault("poolclass", need("sqlalchemy.pool", extra="sql").StaticPool)
    return chosen


def _end_left_transactions(seconds: float, connection: Any, _: Any) -> None:
    """Have PostgreSQL end a transaction whose client went away silently: its locks stop others."""
    statement = f"SET idle_in_transaction_session_timeout = {ceil(seconds * 1000)}"

    async def execute(driver: Any) -> None:
        await driver.execute(statement)

    connection.run_async(execute)


def _create_sqlite_file(_: Any, __: Any, arguments: Sequence[Any], ___: Any) -> None:
    """Create a database's file for the owner alone, before SQLite creates it for all."""
    path = str(arguments[0]) if arguments else ""
    if path and not path.startswith("file:"):
        with suppress(OSError):  # SQLite says what is wrong
            create_private_file(path)


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # `_begin_sqlite` says when a transaction begins
    cursor = connection.cursor()
    try:
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA journal_mode=WAL")
    finally:
        cursor.close()


def _begin_sqlite(connection: Any) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


class Turns:
    """A lock that tasks of several event loops take in the order in which they asked."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, turn))
        try:
            await turn
        except asyncio.CancelledError:
            with self._guard:
                if (loop, turn) in self._waiting:
                    self._waiting.remove((loop, turn))
                    raise
            self._pass_turn()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_turn()

    def _pass_turn(self) -> None:
        while True:
            with self._guard:
                if not self._waiting:
                    self._taken = False
                    return
                loop, turn = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(_grant_turn, turn)
            except RuntimeError:  # that loop is closed: no caller waits there
                continue
            return


def _grant_turn(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
