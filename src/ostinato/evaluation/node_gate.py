"""PluginNodeGate: lets plugins of an evaluation see the tool calls of workflow nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..context.context import Context
from ..events.node_call import unwrap_result, wrap_result
from ..plugins.base_plugin import BasePlugin
from ..tools.base_tool import BaseTool


class PluginNodeGate:
    """Puts each tool call of a node to plugins, as the runtime does with the calls of agents.

    The plugins of an app do not see the calls of nodes; an evaluation's have to.

    Args:
      plugins: the plugins, in order.
    """

    def __init__(self, plugins: Sequence[BasePlugin]) -> None:
        self._plugins = tuple(plugins)

    async def run_call(
        self,
        tool: BaseTool,
        args: dict[str, Any],
        context: Context,
        path: str,
        run: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Return the result of a call: that of the first plugin with an answer, or of the tool.

        Args:
          tool: the tool.
          args: the arguments.
          context: the call's context.
          path: the path of the node.
          run: runs the tool.
        """
        given: Any = {"tool": tool, "tool_args": args, "tool_context": context}
        for plugin in self._plugins:
            answer = await plugin.before_tool_callback(**given)
            if answer is not None:
                result = unwrap_result(answer)
                break
        else:
            result = await run()
            if context.function_call_id in context.actions.requested_tool_confirmations:
                return result  # the tool did not run: a person has to decide first
        for plugin in self._plugins:
            await plugin.after_tool_callback(**given, result=wrap_result(result))
        return result
