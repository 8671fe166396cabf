"""ToolNode: a tool as a node; its input is the tool's arguments, the tool's result its output."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

from pydantic import SkipValidation

from ..context.context import Context
from ..context.node import BaseNode
from ..errors import NodeError
from .node_run import Last, plain_model


class ToolNode(BaseNode):
    """Calls a tool (FEATURES A.25).

    Attributes:
      tool: the tool.
    """

    tool: SkipValidation[Any] = None

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        args = plain_model(node_input)
        if args is None:
            args = {}
        if not isinstance(args, Mapping):
            raise NodeError(
                f"Node {ctx.node_path} calls tool {self.tool.name!r} and takes its arguments as a "
                f"dict; it got {type(args).__name__}."
            )
        context = Context(
            ctx.get_invocation_context(),
            event_actions=ctx.actions,
            function_call_id=f"{ctx.get_invocation_context().invocation_id}:{ctx.node_path}",
        )
        arguments = dict(cast(Mapping[str, Any], args))
        yield Last(await self.tool.run_async(args=arguments, tool_context=context))
