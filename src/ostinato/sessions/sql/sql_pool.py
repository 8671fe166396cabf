"""Connections of one event loop to a SQL database: those of a pool and those kept beside it.

`sql_engines.py` has one for each loop.
"""

from __future__ import annotations

import asyncio
import socket
import time
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..._optional import need

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

_USED = "ostinato used"
_WATCH = "ostinato watch"
FRESH_SECONDS = 1.0  # a connection of PostgreSQL that was used just now is not tried first
# Seconds without an answer before a connection is probed, between probes, and how many fail; then,
# in milliseconds, how long what was sent may stay unacknowledged. Not every system has them all.
_KEEP_ALIVE = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 60_000,
}
_LATE_SECONDS = 0.5  # a timer that fires so much later tells that the event loop was blocked


def note_use(_: Any, record: Any) -> None:
    """Note when a connection was opened or returned."""
    record.info[_USED] = time.monotonic()


def try_first(
    engine: AsyncEngine,
    fresh_seconds: float,
    answer_seconds: float | None,
    connection: Any,
    record: Any,
    _: Any,
) -> None:
    """Check with a ping that a connection which has rested is alive.

    Args:
      engine: its engine.
      fresh_seconds: a connection that was used within these seconds is not pinged.
      answer_seconds: how long the ping may take; None does not bound it.
    """
    if not _is_closed(connection.driver_connection):
        if time.monotonic() - record.info[_USED] < fresh_seconds:
            return
        try:
            with AnswerWatch(answer_seconds, connection.driver_connection):
                engine.dialect.do_ping(connection)
            return
        except Exception:  # boundary: whatever it is, another connection is made
            pass
    raise need("sqlalchemy.exc", extra="sql").InvalidatePoolError()


def _is_closed(driver: Any) -> bool:
    """Return whether a connection of asyncpg, aiomysql or asyncmy is closed."""
    return driver.is_closed() if hasattr(driver, "is_closed") else bool(driver.closed)


class AnswerWatch:
    """Closes a connection whose server leaves a statement unanswered, such as after a failover.

    Nothing reports such a loss: the operating system waits for many minutes. Closing the
    connection fails the statement as any other loss of the connection does.

    Args:
      seconds: how long the server may take for each statement; None does not bound it.
      driver: the driver's connection; `watch_connection` gives it otherwise.
    """

    __slots__ = ("_driver", "_due", "_loop", "_seconds", "_timer")

    def __init__(self, seconds: float | None, driver: Any = None) -> None:
        self._driver = driver
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> AnswerWatch:
        self.restart_clock()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Watch no longer."""
        self._driver = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def watch_connection(self, connection: Any) -> None:
        """Watch a transaction on a connection that the pool gave, from now on.

        Args:
          connection: the `PoolProxiedConnection`.
        """
        connection.info[_WATCH] = self
        self._driver = connection.driver_connection
        self.restart_clock()

    def restart_clock(self) -> None:
        """Count the time from now on, since the server has answered."""
        if self._seconds is None or self._driver is None:
            return
        self._due = self._loop.time() + self._seconds
        if self._timer is None:  # a running timer looks at the due time when it fires
            self._timer = self._loop.call_at(self._due, self._check_time)

    def _check_time(self) -> None:
        assert self._seconds is not None
        planned = self._timer.when() if self._timer is not None else self._due
        now = self._loop.time()
        if now - planned > _LATE_SECONDS:  # a blocked loop may not have read the answer yet
            self._due = now + self._seconds
        if self._due > now:
            self._timer = self._loop.call_at(self._due, self._check_time)
            return
        self._timer = None
        _drop_connection(self._driver)


def _drop_connection(driver: Any) -> None:
    """Close a connection without a word to its server; harmless when repeated."""
    getattr(driver, "terminate", driver.close)()


def bound_closing(seconds: float, connection: Any, _: Any) -> None:
    """Drop a connection whose server does not answer its orderly closing in time."""
    with suppress(RuntimeError):  # there is no loop when a forgotten connection is collected
        asyncio.get_running_loop().call_later(
            seconds, _drop_connection, connection.driver_connection
        )


def close_firmly(engine: AsyncEngine) -> None:
    """Have an engine cut the connections whose orderly closing fails.

    SQLAlchemy does so for a connection that it terminates only; aiomysql leaves one open whose
    goodbye does not reach the server.
    """
    dialect: Any = engine.sync_engine.dialect
    if dialect.has_terminate:
        dialect.do_close = dialect.do_terminate


def note_statement(connection: Any, *_: Any) -> None:
    """Restart the watch of a connection because its next statement begins."""
    watch: AnswerWatch | None = connection.info.get(_WATCH)
    if watch is not None:
        watch.restart_clock()


def watch_start(seconds: float | None, connection: Any, record: Any) -> None:
    """Watch a new connection while SQLAlchemy asks its server for its version and settings."""
    watch = record.info[_WATCH] = AnswerWatch(seconds, connection.driver_connection)
    watch.restart_clock()


def note_start(_: Any, record: Any) -> None:
    """End the watch of a new connection, which can be given to a caller now."""
    record.info.pop(_WATCH).stop()


def keep_alive(connection: Any, _: Any) -> None:
    """Have the operating system notice a server that is silently gone, also while no statement
    runs or none is bounded.
    """
    driver = connection.driver_connection
    # asyncpg has a transport, aiomysql and asyncmy have a stream; none has a public name for it.
    transport = getattr(driver, "_transport", None) or getattr(driver, "_writer", None)
    found = transport and transport.get_extra_info("socket")
    if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def bound_connecting(
    connect: Callable[..., Awaitable[Any]], seconds: float
) -> Callable[..., Awaitable[Any]]:
    """Return a driver's `connect` that fails if the server has not let it in after `seconds`."""

    async def connect_in_time(*args: Any, **kwargs: Any) -> Any:
        async with asyncio.timeout(seconds):
            return await connect(*args, **kwargs)

    return connect_in_time


async def connect_aiomysql(*args: Any, **kwargs: Any) -> Any:
    """Connect as `aiomysql.connect` does, and leave no socket open if it is cancelled meanwhile.

    aiomysql closes it for errors only, and a time limit cancels.
    """
    connection = need("aiomysql", extra="mysql").Connection(*args, **kwargs)
    try:
        await connection.ping(reconnect=True)  # the public way to connect one
    except BaseException:  # boundary: a cancel, too, must not leave the socket open
        connection.close()
        raise
    return connection


class CheckedOutConnection:
    """A connection that was taken out of its pool for statements that commit by themselves.

    Args:
      connection: what the pool gave.
    """

    __slots__ = ("_connection", "driver", "taken")

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.driver: Any = connection.driver_connection
        self.taken = time.monotonic()

    async def give_back(self) -> None:
        """Give it back to its pool."""
        await need("sqlalchemy.util", extra="sql").greenlet_spawn(self._connection.close)


class Pool:
    """An engine that is closed when its event loop ends.

    Checking a connection out of SQLAlchemy's pool and returning it costs as much as half of an
    append, so the next statement uses the last one's connection: for at most a second, so that
    the pool's own rules hold, and while the pool has connections for others.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._kept: list[CheckedOutConnection] = []
        self._guard: AsyncGenerator[None] | None = None
        self._dropping: weakref.finalize[..., Any] | None = None
        self._closing = asyncio.Lock()
        self._is_closed = False

    async def take(self) -> CheckedOutConnection:
        """Return a connection for a statement that commits by itself."""
        if self._kept:
            found = self._kept.pop()
            if time.monotonic() - found.taken < FRESH_SECONDS and not found.driver.is_closed():
                return found
            await found.give_back()
        return CheckedOutConnection(await self.engine.raw_connection())

    async def put(self, connection: CheckedOutConnection) -> None:
        """Keep a connection for the next statement, unless others may wait for it."""
        if self._is_full():
            await connection.give_back()
        else:
            self._kept.append(connection)

    async def make_room(self) -> None:
        """Return kept connections to the pool if a transaction would otherwise wait for one."""
        while self._kept and self._is_full():
            await self._kept.pop().give_back()

    def _is_full(self) -> bool:
        """Return whether all connections that the pool keeps are taken; True for other pools."""
        pool: Any = self.engine.sync_engine.pool
        size = getattr(pool, "size", None)
        return size is None or pool.checkedout() >= size()

    async def close_with_loop(self, owner: object) -> None:
        """Have the running loop close the engine when it shuts down its generators, or before,
        when the owner is dropped.

        A pool that is collected together with its owner would leave open sockets to the collector.
        """
        self._guard = self._close_at_shutdown()
        await anext(self._guard)
        loop = asyncio.get_running_loop()
        self._dropping = weakref.finalize(owner, _close_in_loop, loop, self)
        self._dropping.atexit = False

    async def close(self) -> None:
        """Close the engine now."""
        await self._close_once()
        if self._guard is not None:
            with suppress(RuntimeError):  # the loop shuts down at this moment, and closes it
                await self._guard.aclose()

    async def _close_at_shutdown(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await self._close_once()

    async def _close_once(self) -> None:
        """Close the engine; who comes meanwhile waits until it is closed."""
        async with self._closing:
            if self._is_closed:
                return
            if self._dropping is not None:
                self._dropping.detach()
            while self._kept:
                await self._kept.pop().give_back()
            await self.engine.dispose()
            self._is_closed = True


def _close_in_loop(loop: asyncio.AbstractEventLoop, pool: Pool) -> None:
    """Close a pool in its loop, from any thread."""
    with suppress(RuntimeError):  # the loop has closed, and the pool with it
        loop.call_soon_threadsafe(lambda: loop.create_task(pool.close()))
