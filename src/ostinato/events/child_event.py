"""Child events: what an agent that runs as a tool does, shown live in the stream of who called it.

They are partial events on a branch of their own, so they are not stored a second time, no model
sees them, none is a final response, and they carry no effects. `ParentCall.of(event)` tells them
apart.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, cast

from .event import Event
from .event_actions import EventActions

PARENT_CALL = "ostinato:parent_call"
"""Key in the custom metadata of a child event: the fields of its `ParentCall`, as JSON."""


@dataclass(frozen=True, slots=True)
class ParentCall:
    """Where a child event belongs.

    Attributes:
      call_id: id of the call that the agent runs for.
      tool: name of the tool.
      path: ids of the calls from the outermost one to this, where agents as tools call each other.
      complete: False for a streamed piece, True for an event that the agent's session holds.
    """

    call_id: str
    tool: str
    path: list[str]
    complete: bool

    @classmethod
    def of(cls, event: Event) -> ParentCall | None:
        """Return where a child event belongs; None for any other event."""
        fields = (event.custom_metadata or {}).get(PARENT_CALL)
        return cls(**cast(dict[str, Any], fields)) if isinstance(fields, dict) else None


def child_event(
    event: Event, *, call_id: str, tool: str, invocation_id: str, branch: str | None
) -> Event:
    """Return an event of an agent that runs as a tool, as its caller's stream shows it.

    Args:
      event: the event, in the agent's own run.
      call_id: the call that the agent runs for.
      tool: name of the tool.
      invocation_id: the caller's invocation.
      branch: the caller's branch.
    """
    inner = ParentCall.of(event)
    if inner is None:
        place = ParentCall(call_id, tool, [call_id], not event.partial)
    else:
        place = ParentCall(inner.call_id, inner.tool, [call_id, *inner.path], inner.complete)
    own_branch = ".".join(filter(None, (branch, f"{tool}@{call_id}", event.branch)))
    return event.model_copy(
        update={
            "partial": True,
            "invocation_id": invocation_id,
            "branch": own_branch,
            "actions": EventActions(),
            "long_running_tool_ids": None,
            "output": None,
            "custom_metadata": {**(event.custom_metadata or {}), PARENT_CALL: asdict(place)},
        }
    )
