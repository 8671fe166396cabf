"""SessionIndexer: the background task that brings the search index up to date."""

from __future__ import annotations

import asyncio

from .._log import get_logger
from ..errors import StoreError
from ..sessions.store.session_search import SessionSearch

logger = get_logger(__name__)

_PAUSE = 0.01  # seconds between two steps, so that requests are not delayed


class SessionIndexer:
    """Indexes sessions in the background after a search found the index incomplete."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, service: SessionSearch) -> None:
        """Start, unless it runs already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(_index_all(service), name="ostinato-indexing")

    async def stop(self) -> None:
        """Stop; the next search continues."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})


async def _index_all(service: SessionSearch) -> None:
    try:
        left = await service.index_sessions()
        while left:
            await asyncio.sleep(_PAUSE)
            left = await service.index_sessions()
    except StoreError as error:
        logger.warning("Indexing of sessions stopped until the next search: %s", error)
