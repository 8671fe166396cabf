"""NodeCallRecord: the call of a tool by a workflow node, as the node's event records it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel

from .event import NODE_CALL, Event

_RESULT = "result"


@dataclass(frozen=True, slots=True)
class NodeCallRecord:
    """A tool call that no model asked for, so that the log has no function call for it.

    Attributes:
      path: the path of the node: segments `name@run_id`, joined by `/`.
      tool: the tool's name.
      args: the arguments, as JSON.
      response: the result as a function response would hold it; see `wrap_result`.
    """

    path: str
    tool: str
    args: dict[str, Any]
    response: dict[str, Any]

    @property
    def place(self) -> str:
        """The path without the ids of the runs, such as `flow/pay`."""
        return name_path(self.path)

    @classmethod
    def of(cls, event: Event) -> NodeCallRecord | None:
        """Return the call that an event records; None for any other event.

        Args:
          event: an event of a session.
        """
        fields: Any = (event.custom_metadata or {}).get(NODE_CALL)
        if not isinstance(fields, dict):
            return None
        given = cast("dict[str, Any]", fields)
        args: Any = given.get("args")
        return cls(
            event.node_info.path,
            str(given.get("tool") or ""),
            cast("dict[str, Any]", args) if isinstance(args, dict) else {},
            wrap_result(event.output),
        )


def record_node_call(event: Event, tool: str, args: dict[str, Any]) -> None:
    """Let a node's event record the tool call that the node made.

    Args:
      event: the event.
      tool: the tool's name.
      args: the arguments, as JSON.
    """
    fields = {"tool": tool, "args": args}
    event.custom_metadata = {**(event.custom_metadata or {}), NODE_CALL: fields}


def wrap_result(result: Any) -> dict[str, Any]:
    """Return a tool's result as a function response: a dict, or another value as `result`.

    A dict whose only key is `result` is wrapped as well, so that `unwrap_result` returns it.

    Args:
      result: what the tool returned.
    """
    plain: Any = result.model_dump() if isinstance(result, BaseModel) else result
    if isinstance(plain, dict) and plain.keys() != {_RESULT}:
        return cast("dict[str, Any]", plain)
    return {_RESULT: plain}


def unwrap_result(response: Any) -> Any:
    """Return the result that a function response stands for; see `wrap_result`.

    Args:
      response: the response.
    """
    if isinstance(response, dict) and cast("dict[str, Any]", response).keys() == {_RESULT}:
        return cast("dict[str, Any]", response)[_RESULT]
    return cast(Any, response)


def name_path(path: str) -> str:
    """Return a path of nodes or agents without the ids of the runs.

    Args:
      path: segments `name@run_id`, joined by `/`.
    """
    return "/".join(one.partition("@")[0] for one in path.split("/"))
