"""ToolRequest: a tool call as rules see it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple


class ToolRequest(NamedTuple):
    """A tool call as rules see it.

    Attributes:
      tool: name of the tool.
      args: the arguments.
      agent: name of the agent that calls.
      source: where the tool comes from; see `Rule.source`.
      user: id of the user.
      state: the session's state, or a function that returns it.
      defaults: what the tool takes for arguments that are missing, by name.
      read: returns some arguments, by name, as the tool reads them: validated by its models. Those
        that it takes as given are left out. None if it takes all so.
    """

    tool: str
    args: Mapping[str, Any]
    agent: str = ""
    source: str = "function"
    user: str = ""
    state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = {}
    defaults: Callable[[], Mapping[str, Any]] = dict
    read: Callable[[Collection[str]], Mapping[str, Any]] | None = None
