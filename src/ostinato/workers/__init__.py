"""Engines: they run the requests of one app from a shared store."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.durable.engine import Engine as Engine
    from ostinato.durable.inbox import Work as Work
    from ostinato.workers.dbos_engine import DBOSEngine as DBOSEngine
    from ostinato.workers.dbos_engine import Schedule as Schedule
    from ostinato.workers.pool import WorkerPool as WorkerPool

__getattr__, __dir__, __all__ = attach(__name__)
