"""Kinds of nodes, and `node` and `as_node`, which make nodes of functions, tools and agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

from pydantic import SkipValidation, model_validator

from ..context.context import Context
from ..context.node import BaseNode, RetryConfig
from ..errors import GraphError
from ..tools.base_tool import BaseTool
from .function_node import FunctionNode
from .tool_node import ToolNode as ToolNode

DEFAULT_ROUTE = "__DEFAULT__"
"""The route of an edge that is taken where no other edge of its node is."""

START = BaseNode(name="__START__")
"""Where every graph begins; its input is the graph's."""


class Node(BaseNode):
    """Base of nodes that are classes: a subclass overrides `run_node_impl`.

    Attributes:
      parallel_worker: run the node for each item of its input, side by side.
    """

    parallel_worker: bool = False

    @model_validator(mode="after")
    def _rerun_workers(self) -> Node:
        if self.parallel_worker:
            self.rerun_on_resume = True
        return self

    async def run_node_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Do the node's work: yield events, requests, and the output."""
        raise NotImplementedError(f"{type(self).__name__} does not implement run_node_impl")
        yield

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        if self.parallel_worker:
            worker = self.model_copy(update={"parallel_worker": False})
            yield await run_each(ctx, worker, node_input)
            return
        async for item in self.run_node_impl(ctx=ctx, node_input=node_input):
            yield item


def as_node(node_like: Any, **options: Any) -> BaseNode:
    """Return a node, an agent, a tool or a function as a node.

    Args:
      node_like: what to make a node of; a node stays itself, and an agent with `parallel_worker`
        runs for each item of its input.
      options: fields of the node that is made.

    Raises:
      GraphError: `node_like` has another type.
    """
    if isinstance(node_like, BaseNode):
        return _as_worker(node_like)
    if isinstance(node_like, str) and node_like == "START":
        return START
    if isinstance(node_like, BaseTool):
        fields: dict[str, Any] = {"name": node_like.name, "description": node_like.description}
        fields |= options
        return ToolNode(tool=node_like, **fields)
    if callable(node_like) and not isinstance(node_like, type):
        return FunctionNode(func=node_like, **options)
    raise GraphError(
        f"{node_like!r:.80} is not a node: give a node, an agent, a tool, a function or START."
    )


def node(
    node_like: Any = None,
    *,
    name: str | None = None,
    rerun_on_resume: bool | None = None,
    retry_config: RetryConfig | None = None,
    timeout: float | None = None,
    parallel_worker: bool = False,
    auth_config: Any = None,
) -> Any:
    """Make a node of a function, a tool or an agent; as a decorator too, with options or without.

    Args:
      node_like: what to make a node of; of a node, a copy with the options is made.
      name, rerun_on_resume, retry_config, timeout: fields of the node; None leaves one unchanged.
      parallel_worker: run it for each item of its input, side by side.
      auth_config: credential that a function needs; see `FunctionNode`. Ignored for other nodes.

    Raises:
      GraphError: no node can be made of it.
    """
    if node_like is None:

        def decorate(func: Callable[..., Any]) -> Any:
            return node(
                func,
                name=name,
                rerun_on_resume=rerun_on_resume,
                retry_config=retry_config,
                timeout=timeout,
                parallel_worker=parallel_worker,
                auth_config=auth_config,
            )

        return decorate
    fields = {
        "name": name,
        "rerun_on_resume": rerun_on_resume,
        "retry_config": retry_config,
        "timeout": timeout,
    }
    options = {key: value for key, value in fields.items() if value is not None}
    if isinstance(node_like, BaseNode):
        made = _copy_with_options(node_like, options) if options else node_like
    else:
        if auth_config is not None:
            options["auth_config"] = auth_config
        made = as_node(node_like, **options)
    return ParallelWorker(name=made.name, worker=made) if parallel_worker else made


def _as_worker(one: BaseNode) -> BaseNode:
    """Return a ParallelWorker for an agent that asks for one; a `Node` is its own."""
    if isinstance(one, Node) or not getattr(one, "parallel_worker", None):
        return one
    return ParallelWorker(name=one.name, worker=_copy_with_options(one, {"parallel_worker": None}))


def _copy_with_options(old: BaseNode, options: dict[str, Any]) -> BaseNode:
    """Return a copy of a node with other fields; that of an agent has children of its own."""
    clone = cast(Callable[..., BaseNode] | None, getattr(old, "clone", None))
    return clone(update=options) if clone is not None else old.model_copy(update=options)


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


class JoinNode(BaseNode):
    """Runs once each node before it has ended; its output is a dict of theirs, by name.

    The join also waits for a node that is never reached because another route was taken, so join
    only nodes that always run.
    """

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        yield node_input
