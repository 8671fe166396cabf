"""Errors of nodes that google-adk's programs know by name, and the time limit that raises one.

Other errors are in `errors`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from .._aclosing import Aclosing
from ..errors import NodeError

_Item = TypeVar("_Item")
_END: Any = object()


class NodeTimeoutError(Exception):
    """A node ran longer than its `timeout`.

    Args:
      node_name: the node.
      timeout: its limit, in seconds.
    """

    cuts_call = True  # of the agent or tool that is the node

    def __init__(self, *, node_name: str, timeout: float) -> None:
        super().__init__(f"Node {node_name!r} timed out after {timeout} seconds.")
        self.node_name = node_name
        self.timeout = timeout


class DynamicNodeFailError(Exception):
    """A node that another one ran with `ctx.run_node` failed.

    Args:
      node_name: the node.
      error: what it raised.
      error_node_path: where: segments `name@run_id`, joined by `/`.
    """

    def __init__(self, node_name: str, error: Exception, error_node_path: str) -> None:
        super().__init__(f"Dynamic node {node_name} failed at {error_node_path}: {error}")
        self.node_name = node_name
        self.error = error
        self.error_node_path = error_node_path


class ToolNotRunError(NodeError):
    """The tool of a node was not run: a person rejected the call. The node is not retried."""


class ToolInDoubtError(ToolNotRunError):
    """The tool of a node was not run again: it is unknown whether it took effect before a crash, a
    time-out or a lost connection, and its policy or a person forbids a second run. The node is not
    retried.
    """


class ToolOutcomeUnknownError(NodeError):
    """The tool of a node sent a request that may have been carried out, and got no answer. The node
    is retried: the tool's policy is to run again.
    """


class ToolUnreachableError(NodeError):
    """The tool of a node was not run: its server could not be reached, or refused the caller. The
    node is retried.
    """


class NodeInterruptedError(BaseException):
    """A node that this one ran waits for a person; raised out of `ctx.run_node`.

    Not an Exception, so that a node's own `except Exception` lets it pass: the node ends here, and
    is run again once the answer is there.
    """


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
