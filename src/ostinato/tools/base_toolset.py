"""BaseToolset: a group of tools that is listed, filtered, renamed and closed together."""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from operator import is_
from typing import TYPE_CHECKING, Protocol, Self, final, runtime_checkable

from .._log import get_logger
from ..agent_files.file_reading import FieldFault
from ..context.context import Context as ToolContext
from ..context.readonly import ReadonlyContext
from ..models.llm_request import LlmRequest
from .base_tool import BaseTool, is_reserved_name
from .tool_configs import ToolArgsConfig

if TYPE_CHECKING:
    from ..auth.auth_tool import AuthConfig
    from ..events.tool_origin import ToolOrigin
    from .policy.policy import Policy

_log = get_logger(__name__)
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


@runtime_checkable
class ToolPredicate(Protocol):
    """Decides whether a toolset offers one of its tools in a run."""

    def __call__(self, tool: BaseTool, readonly_context: ReadonlyContext | None = None) -> bool: ...


class BaseToolset(ABC):
    """A group of tools (Spec 1 §10, FEATURES row 130).

    Args:
      tool_filter: names of the tools to offer, with or without the prefix, or a predicate; all
        where None. `get_tools` of a subclass asks `_is_tool_selected`.
      tool_name_prefix: put before each tool's name, with an underscore between. Characters that no
        model accepts in a name become `_`. A tool whose name would be the runtime's is left out.
      defer: tell the model of each tool only once it has searched for it with `search_tools`.

    Attributes:
      restricts_calls: whether `get_call_policies` is asked before each call of the agent's tools.
      restricting_key: it is asked, too, while the session's state holds this key with the agent's
        name behind it; none if empty.
      uses_computer: whether its tools act on a computer.
    """

    defer: bool = False
    uses_computer: bool = False
    restricts_calls: bool = False
    restricting_key: str = ""

    def __init__(
        self,
        *,
        tool_filter: ToolPredicate | list[str] | None = None,
        tool_name_prefix: str | None = None,
        defer: bool = False,
    ) -> None:
        self.tool_filter = tool_filter
        self.tool_name_prefix = tool_name_prefix
        if defer:
            self.defer = True

    # The last listing and its invocation and agent; a default, as subclasses may skip `__init__`.
    _listed: tuple[tuple[str, str], list[BaseTool]] | None = None
    # The tools that were deferred last, and their copies.
    _deferred: tuple[list[BaseTool], list[BaseTool]] | None = None

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make a toolset of the `args` in a file; a class that files may name overrides this.

        Args:
          config: the arguments.
          config_abs_path: the file that they are from.

        Raises:
          ValueError: the class does not say how.
        """
        raise FieldFault(
            f"toolsets of {cls.__name__} cannot be made of settings: its from_config() is not "
            "written. Make the toolset in Python, and name that object."
        )

    @abstractmethod
    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools offered in the run that `readonly_context` shows."""

    @final
    async def get_tools_with_prefix(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[BaseTool]:
        """Return the tools of `get_tools` under the names that the model is told.

        With a prefix, or if they are deferred, they are copies: the toolset's own tools keep their
        names, and another agent may be told of them at once. An agent's tools
        are listed once per invocation; further calls return the same objects.
        """
        place = _listing_key(readonly_context)
        listed = self._listed  # another thread may replace it
        if place is not None and listed is not None and listed[0] == place:
            return listed[1]
        tools = await self.get_tools(readonly_context)
        if self.tool_name_prefix:
            tools = self._copy_prefixed(tools)
        if self.defer is True:
            tools = self._defer(tools)
        if place is not None:
            self._listed = (place, tools)
        return tools

    def _add_prefix(self, name: str) -> str:
        """Return the name that the model is told for one of the toolset's tools."""
        prefix = self.tool_name_prefix
        return f"{_UNFIT.sub('_', prefix)}_{name}" if prefix else name

    def _copy_prefixed(self, tools: Iterable[BaseTool]) -> list[BaseTool]:
        copies: list[BaseTool] = []
        for tool in tools:
            name = self._add_prefix(tool.name)
            if is_reserved_name(name):
                _log.warning(
                    "%s: its tool %.200r is left out: with the prefix %r it has a name that the "
                    "runtime reserves.",
                    type(self).__name__,
                    tool.name,
                    self.tool_name_prefix,
                )
                continue
            copies.append(tool.copy_as(name))
        return copies

    def _defer(self, tools: list[BaseTool]) -> list[BaseTool]:
        """Return deferred copies of the tools, the same ones for the same tools."""
        made = self._deferred
        if made is None or len(made[0]) != len(tools) or not all(map(is_, made[0], tools)):
            made = self._deferred = ([*tools], [_copy_deferred(tool) for tool in tools])
        return made[1]

    async def close(self) -> None:
        """Release what the toolset holds, such as connections; the runner calls it at its end."""
        return

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Change a request before the toolset's tools are added to it (Spec 2 §3.9)."""
        return

    def get_auth_config(self) -> AuthConfig | None:
        """Return the credential that the toolset needs before it can list its tools, or None."""
        return None

    def is_source_of(self, origin: ToolOrigin) -> bool:
        """Return whether a tool with this origin is one of the toolset's server.

        Args:
          origin: as recorded with a call, maybe by an earlier process.
        """
        return False

    async def get_call_policies(self, context: ReadonlyContext) -> Sequence[Policy]:
        """Return policies on all calls of the agent that has the toolset, for one call.

        Args:
          context: the run.
        """
        return ()

    def _is_tool_selected(self, tool: BaseTool, readonly_context: ReadonlyContext | None) -> bool:
        """Return whether `tool_filter` lets a tool through."""
        if not self.tool_filter:
            return True
        if isinstance(self.tool_filter, list):
            names = self._names_of(tool)
            return any(name in self.tool_filter for name in names)
        return self.tool_filter(tool, readonly_context)

    def _names_of(self, tool: BaseTool) -> Iterable[str]:
        """Return the names by which settings may name a tool: its own, and the one with prefix."""
        return tool.name, self._add_prefix(tool.name)

    def _warn_of_unknown(
        self, setting: str, given: Iterable[str], tools: Iterable[BaseTool]
    ) -> None:
        """Warn of names in a setting that no tool has, as a misspelt one would have no effect."""
        known = {name for tool in tools for name in self._names_of(tool)}
        unknown = [name for name in given if name not in known]
        if unknown:
            label = getattr(self, "label", "")
            _log.warning(
                "%s%s: %s names %s, but there is no such tool. There are: %s.",
                type(self).__name__,
                f" {label}" if label else "",
                setting,
                ", ".join(map(repr, unknown[:20])),
                ", ".join(sorted({tool.name for tool in tools})[:50]) or "none",
            )


def _copy_deferred(tool: BaseTool) -> BaseTool:
    other = copy.copy(tool)
    other.defer, other.copied_from = True, tool
    return other


def _listing_key(context: ReadonlyContext | None) -> tuple[str, str] | None:
    """Return the invocation and the agent that a context belongs to, or None without a context."""
    if context is None:
        return None
    agent = getattr(context, "agent_name", "")
    return context.invocation_id, agent if isinstance(agent, str) else ""
