"""The time limit of a node or an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from .._aclosing import Aclosing
from .failure import NodeTimeoutError

_Item = TypeVar("_Item")
_END: Any = object()


async def limit_time(
    items: AsyncGenerator[_Item, None], seconds: float, name: str
) -> AsyncGenerator[_Item, None]:
    """Yield the items of a run until its time is over.

    Args:
      items: the run; it is closed in any case.
      seconds: the limit, from the first item that is asked for.
      name: the node or agent, for the error.

    Raises:
      NodeTimeoutError: the run took longer.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    async with Aclosing(items):
        while True:
            limit = asyncio.timeout_at(deadline)
            try:
                async with limit:
                    item = await anext(items, _END)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise NodeTimeoutError(node_name=name, timeout=seconds) from None
            if item is _END:
                return
            yield item
