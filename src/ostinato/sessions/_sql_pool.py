"""Connections of one event loop to a SQL database: those of a pool, and those at hand beside it.

`_sql_engines.py` has one for each loop.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from .._optional import need

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

_USED = "ostinato used"
_FRESH_SECONDS = 1.0  # a connection that was used just now is not tried first


def note_use(_: Any, record: Any) -> None:
    """Note when a connection was made, or given back."""
    record.info[_USED] = time.monotonic()


def try_first(engine: AsyncEngine, connection: Any, record: Any, _: Any) -> None:
    """See that a connection is alive, by three round trips where it has rested."""
    if not connection.driver_connection.is_closed():
        if time.monotonic() - record.info[_USED] < _FRESH_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
            return
        except Exception:  # boundary: whatever it is, another connection is made
            pass
    raise need("sqlalchemy.exc", extra="sql").InvalidatePoolError()


class _AtHand:
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

    To take a connection out of SQLAlchemy's pool and to put it back costs as much as half of an
    append, so the next statement finds the last one's at hand: for a second at most, so that the
    pool's own rules hold, and as long as others find one in the pool.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._at_hand: list[_AtHand] = []
        self._guard: AsyncGenerator[None] | None = None

    async def take(self) -> _AtHand:
        """Return a connection for a statement that commits by itself."""
        if self._at_hand:
            found = self._at_hand.pop()
            if time.monotonic() - found.taken < _FRESH_SECONDS and not found.driver.is_closed():
                return found
            await found.give_back()
        return _AtHand(await self.engine.raw_connection())

    async def put(self, connection: _AtHand) -> None:
        """Keep a connection at hand, unless others may wait for it."""
        if self._is_full():
            await connection.give_back()
        else:
            self._at_hand.append(connection)

    async def make_room(self) -> None:
        """Give back what is at hand, where a transaction would else have to wait for it."""
        while self._at_hand and self._is_full():
            await self._at_hand.pop().give_back()

    def _is_full(self) -> bool:
        """Tell whether all connections that the pool keeps are taken; any pool but a queue is."""
        pool: Any = self.engine.sync_engine.pool
        size = getattr(pool, "size", None)
        return size is None or pool.checkedout() >= size()

    async def close_with_loop(self) -> None:
        """Have the running loop close the engine when it shuts down its generators."""
        self._guard = self._closing()
        await anext(self._guard)

    async def close(self) -> None:
        """Close the engine now."""
        if self._guard is not None:
            await self._guard.aclose()
        else:
            await self.engine.dispose()

    async def _closing(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            while self._at_hand:
                await self._at_hand.pop().give_back()
            await self.engine.dispose()
