"""ParallelWorker: runs a node once for each item of its input, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

from pydantic import SkipValidation

from ..context.context import Context
from ..context.node import BaseNode


class ParallelWorker(BaseNode):
    """Runs `worker` for each item of a list; its output is the list of theirs, in that order.

    An input that is no list counts as a list of one.

    Attributes:
      worker: the node to run; its retries and time-out count for each item by itself.
      max_concurrency: how many run at once; all where None.
    """

    rerun_on_resume: bool = True
    worker: SkipValidation[Any] = None
    max_concurrency: int | None = None

    @property
    def nodes_within(self) -> list[BaseNode]:
        """The worker."""
        return [self.worker]

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        yield await run_each(ctx, self.worker, node_input, self.max_concurrency)


async def run_each(
    ctx: Context, worker: BaseNode, node_input: Any, limit: int | None = None
) -> list[Any]:
    """Run a node for each item of an input side by side; return their outputs in that order."""
    items = cast(list[Any], node_input) if isinstance(node_input, list) else [node_input]
    if limit is None:
        runs = (ctx.run_node(worker, item, use_sub_branch=True) for item in items)
        return list(await asyncio.gather(*runs))
    gate = asyncio.Semaphore(limit)

    async def run(number: int, item: Any) -> Any:
        async with gate:
            return await ctx.run_node(worker, item, use_sub_branch=True)

    return list(await asyncio.gather(*(run(n, item) for n, item in enumerate(items, 1))))
