"""JoinNode: waits for all ways into it."""

from collections.abc import AsyncGenerator
from typing import Any

from ..context.node import BaseNode


class JoinNode(BaseNode):
    """Runs once each node before it has ended; its output is a dict of theirs, by name.

    A node that is never reached, because another route was taken, is waited for all the same: join
    what always runs.
    """

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        yield node_input
