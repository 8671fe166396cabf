"""Connections to a SQL database: one pool for each event loop, transactions, and turns on SQLite.

A connection belongs to the loop that opened it, and a pool is closed with its loop. What runs in a
transaction is not cut short by the cancelling of whoever waits for it.
"""

from __future__ import annotations

import asyncio
import random
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._log import get_logger
from .._optional import need
from ..errors import InputValidationError, OstinatoError, StoreError
from ._sql_errors import meaning_of, passes
from ._sql_pool import Pool, note_use, try_first
from ._sql_url import Target

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

logger = get_logger(__name__)

_R = TypeVar("_R")
Work = Callable[["AsyncConnection"], Awaitable[_R]]

_TRIES = 12  # of a transaction that met another one
_PAUSE = 0.05  # seconds at most before the second of them; longer before each later one
_BUSY_SECONDS = 10  # how long SQLite waits for another process
# Settings of whoever has something between this program and its database, or wants to see or to
# change each transaction: then there are no statements that commit by themselves.
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
      settings: what the caller wants `create_async_engine` to be told.

    Raises:
      InputValidationError: SQLAlchemy refuses the settings.
    """

    def __init__(self, target: Target, settings: dict[str, Any]) -> None:
        self._target = target
        self._settings = _with_defaults(target, settings)
        self._lock = threading.Lock()
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = (
            weakref.WeakKeyDictionary()
        )
        # SQLite has one writer at a time, and one connection where it keeps all in memory.
        self._turns = Turns() if target.dialect.name == "sqlite" else None
        self._shared: Pool | None = None
        self._spare: AsyncEngine | None = self._make()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        arguments: dict[str, Any] = settings.get("connect_args") or {}
        given = {name for name, value in settings.items() if value}
        self.takes_singles = target.dialect.name == "postgresql" and _CAREFUL.isdisjoint(
            given.union(arguments, target.url.query)
        )

    async def read(self, work: Work[_R]) -> _R:
        """Run `work` in a transaction that writes nothing; see `write` for errors."""
        return await self._run(self._attempts(work, "BEGIN"))

    async def write(
        self,
        work: Work[_R],
        show: Callable[[_R], None] | None = None,
        turns: Turns | None = None,
        single: Callable[[], Single[_R] | None] | None = None,
    ) -> _R:
        """Run `work` in a transaction, again from its start where another one got in its way.

        Args:
          show: called with the answer once it is committed, even if nobody waits for it any more.
          turns: a lock to hold meanwhile.
          single: gives, within the lock, a statement to try before. `work` has to find out whether
            that was done all the same, where its answer was lost.

        Raises:
          StoreError: the database cannot be reached or written.
          InputValidationError: the database cannot hold what was to be written.
          OstinatoError: what `work` raised; nothing was written.
        """
        return await self._run(self._in_turn(work, show, turns or Turns(), single))

    async def _in_turn(
        self,
        work: Work[_R],
        show: Callable[[_R], None] | None,
        turns: Turns,
        single: Callable[[], Single[_R] | None] | None,
    ) -> _R:
        async with turns:
            first = single() if single is not None and self.takes_singles else None
            row = await self._at_once(first) if first is not None else None
            if first is not None and row is not None:
                answer = first.answer(row)
            else:
                answer = await self._attempts(work, "BEGIN IMMEDIATE")
            if show is not None:
                show(answer)
            return answer

    async def _at_once(self, single: Single[Any]) -> Any:
        """Execute a statement that commits by itself; return its row.

        None where it has done nothing, or the connection was lost and nobody knows.
        """
        try:
            pool = await self._pool()
            connection = await pool.take()
            try:
                return await connection.driver.fetchrow(single.sql, *single.values)
            finally:
                await pool.put(connection)
        except Exception:  # boundary: what is wrong is told by the transaction that follows
            return None

    def post(
        self,
        work: Work[None],
        turns: Turns,
        single: Callable[[], Single[None] | None] | None = None,
    ) -> None:
        """Run `work` in a transaction that nobody waits for; what goes wrong with it is logged.

        Args:
          turns: a lock to hold meanwhile.
          single: as in `write`.
        """
        posted = self._start(self._in_turn(work, None, turns, single))
        posted.add_done_callback(_log_failure)

    async def _run(self, attempts: Coroutine[Any, Any, _R]) -> _R:
        answer: asyncio.Future[_R] = asyncio.get_running_loop().create_future()
        self._start(attempts, answer)
        return await answer

    def _start(
        self, attempts: Coroutine[Any, Any, _R], answer: asyncio.Future[_R] | None = None
    ) -> asyncio.Task[Any]:
        if self._closed:  # what was begun before goes on, and `close` waits for it
            attempts.close()
            raise StoreError(
                f"The session store {self._target.name!r} has been closed; make a new "
                "DatabaseSessionService."
            )
        task = asyncio.create_task(attempts if answer is None else _answering(attempts, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _attempts(self, work: Work[_R], begin: str) -> _R:
        for attempt in range(1, _TRIES + 1):
            try:
                return await self._transaction(work, begin)
            except OstinatoError:
                raise
            except Exception as error:  # boundary: errors of drivers get their meaning here
                if not passes(error) or attempt == _TRIES:
                    meaning = meaning_of(error, self._target)
                    if meaning is None:
                        raise
                    raise meaning from error
            await asyncio.sleep(random.random() * _PAUSE * attempt)
        raise AssertionError("unreachable")

    async def _transaction(self, work: Work[_R], begin: str) -> _R:
        alone = self._turns is not None and (begin != "BEGIN" or self._target.in_memory)
        async with self._turns if self._turns is not None and alone else nullcontext():
            pool = await self._pool()
            await pool.make_room()
            async with pool.engine.connect() as connection:
                if self._turns is not None:
                    await connection.execution_options(begin=begin)
                async with connection.begin():
                    return await work(connection)

    async def _pool(self) -> Pool:
        if self._target.in_memory:  # its one connection holds the data and serves every loop
            if self._shared is None:
                self._shared = Pool(self._spare or self._make())
            return self._shared
        loop = asyncio.get_running_loop()
        pool = self._open.get(loop)
        if pool is None:
            with self._lock:
                engine, self._spare = self._spare or self._make(), None
                self._open[loop] = pool = Pool(engine)
            await pool.close_with_loop()
        return pool

    def _make(self) -> AsyncEngine:
        try:
            engine: AsyncEngine = need("sqlalchemy.ext.asyncio", extra="sql").create_async_engine(
                self._target.url, **self._settings
            )
        except (TypeError, ValueError) as error:
            raise InputValidationError(
                f"The database's engine cannot be made with {sorted(self._settings)}: {error}"
            ) from error
        event = need("sqlalchemy", extra="sql").event
        if self._target.dialect.name == "postgresql" and "pool_pre_ping" not in self._settings:
            event.listen(engine.sync_engine, "checkin", note_use)
            event.listen(engine.sync_engine, "connect", note_use)
            event.listen(engine.sync_engine, "checkout", partial(try_first, engine))
        if self._target.dialect.name == "sqlite":
            event.listen(engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return engine

    async def settled(self) -> None:
        """Wait for what is under way in this event loop."""
        loop = asyncio.get_running_loop()
        while mine := [t for t in self._tasks if t.get_loop() is loop]:
            await asyncio.wait(mine)

    async def close(self) -> None:
        """Wait for what is under way and close the pools; those of other loops with their loops."""
        self._closed = True
        await self.settled()
        pool = self._shared or self._open.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()


async def _answering(attempts: Coroutine[Any, Any, _R], answer: asyncio.Future[_R]) -> None:
    """Answer whoever waits, and may go away: as `asyncio.shield`, but a turn of the loop sooner."""
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


def _log_failure(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        logger.warning("What nobody waited for was not stored: %s", error)


def _with_defaults(target: Target, settings: dict[str, Any]) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "hide_parameters": True,
        **settings,
    }  # messages of users stay out of errors
    if target.dialect.name != "sqlite":
        if not {"pool", "poolclass"} & chosen.keys():  # other pools than a queue do not wait
            chosen.setdefault("pool_timeout", 120)
        if target.dialect.name == "mysql":
            chosen.setdefault("pool_pre_ping", True)  # PostgreSQL has `try_first`
            chosen.setdefault("isolation_level", "READ COMMITTED")  # no locks on gaps
        return chosen
    arguments: dict[str, Any] = chosen.get("connect_args") or {}
    chosen["connect_args"] = {
        "check_same_thread": False,
        "timeout": _BUSY_SECONDS,
        **arguments,
    }
    if target.in_memory:
        chosen.setdefault("poolclass", need("sqlalchemy.pool", extra="sql").StaticPool)
    return chosen


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
            self._give()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._give()

    def _give(self) -> None:
        while True:
            with self._guard:
                if not self._waiting:
                    self._taken = False
                    return
                loop, turn = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(_grant, turn)
            except RuntimeError:  # that loop is closed: nobody waits there any more
                continue
            return


def _grant(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
