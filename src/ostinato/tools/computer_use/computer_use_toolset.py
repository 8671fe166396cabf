"""ComputerUseToolset: the actions of a computer for a computer-use model."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from ... import types
from ...context.context import Context as ToolContext
from ...context.readonly import ReadonlyContext
from ...models.llm_request import LlmRequest
from ..base_tool import BaseTool
from ..base_toolset import BaseToolset
from .base_computer import BaseComputer
from .computer_use_tool import ComputerUseTool

# Methods of BaseComputer that are no actions.
EXCLUDED_METHODS = frozenset({"close", "environment", "prepare", "screen_size"})
_log = logging.getLogger(__name__)


class ComputerUseToolset(BaseToolset):
    """Lets a computer-use model act on a computer.

    The computer is initialized at the first use and closed with the toolset. The model knows the
    actions by itself: requests name what it operates and which actions it has not.

    Args:
      computer: what the model acts on.
      excluded_predefined_functions: names of actions that the model must not use.
    """

    uses_computer = True

    def __init__(
        self,
        *,
        computer: BaseComputer,
        excluded_predefined_functions: list[str] | None = None,
    ) -> None:
        super().__init__()
        self._computer = computer
        self._excluded = excluded_predefined_functions
        self._tools: list[BaseTool] | None = None

    @staticmethod
    async def adapt_computer_use_tool(
        method_name: str,
        adapter_func: Callable[[Callable[..., Any]], Any],
        llm_request: LlmRequest,
    ) -> None:
        """Replace an action in a request by another; an unknown name is logged and ignored.

        Args:
          method_name: the action, such as `wait`.
          adapter_func: takes the action and returns the new one, plain or async. The new tool has
            that function's name.
          llm_request: the request, changed in place.
        """
        old = llm_request.tools_dict.get(method_name)
        if method_name not in _actions() or not isinstance(old, ComputerUseTool):
            _log.warning("The request has no action %r of a computer to adapt.", method_name)
            return
        made = adapter_func(old.func)
        new = old.wrap_function(await made if inspect.isawaitable(made) else made)
        del llm_request.tools_dict[method_name]
        llm_request.tools_dict[new.name] = new

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the actions that are not excluded."""
        if self._tools is None:
            await self._computer.initialize()
            size = await self._computer.screen_size()
            excluded = set(self._excluded or ())
            self._tools = [
                ComputerUseTool(func=_prepare_first(self._computer, name), screen_size=size)
                for name in _actions()
                if name not in excluded
            ]
        return self._tools

    async def close(self) -> None:
        """Close the computer."""
        self._tools = None
        await self._computer.close()

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the actions to a request, and tell the model's service what they act on."""
        for tool in await self.get_tools():
            llm_request.tools_dict[tool.name] = tool
        present: list[Any] = list(llm_request.config.tools or [])
        if any(getattr(tool, "computer_use", None) for tool in present):
            return
        where = types.Environment((await self._computer.environment()).value)
        use = types.ComputerUse(environment=where, excluded_predefined_functions=self._excluded)
        llm_request.config.tools = [*present, types.Tool(computer_use=use)]


@functools.cache
def _actions() -> tuple[str, ...]:
    """Return the names of a computer's actions, in order."""
    return tuple(
        sorted(
            name
            for name, member in vars(BaseComputer).items()
            if not name.startswith("_")
            and name not in EXCLUDED_METHODS
            and inspect.isfunction(member)
        )
    )


def _prepare_first(computer: BaseComputer, name: str) -> Callable[..., Any]:
    """Return an action that lets the computer get ready first."""
    method = getattr(computer, name)
    plain = inspect.signature(method)
    context = inspect.Parameter(
        "tool_context", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ToolContext
    )

    @functools.wraps(method)
    async def act(*args: Any, tool_context: ToolContext | None = None, **values: Any) -> Any:
        if tool_context is not None:
            await computer.prepare(tool_context)
        return await method(*args, **values)

    vars(act)["__signature__"] = plain.replace(parameters=[*plain.parameters.values(), context])
    return act
