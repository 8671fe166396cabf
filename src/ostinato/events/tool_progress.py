"""Progress of a tool's call, shown live in the stream of its run as partial events."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, cast

from .event import Event

TOOL_PROGRESS = "ostinato:progress"
"""Key in the custom metadata of a partial event: the fields of its `ToolProgress`, as JSON."""

MAX_MESSAGE = 500
_NAMES = frozenset(("call_id", "progress", "total", "message"))


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """How far a call has come.

    Attributes:
      call_id: id of the call.
      progress: how much is done, in the tool's own unit.
      total: how much there is to do, or None if that is unknown.
      message: what the tool says about it, at most 500 characters; it is not trusted.
    """

    call_id: str
    progress: float
    total: float | None = None
    message: str = ""

    @classmethod
    def of(cls, event: Event) -> ToolProgress | None:
        """Return the progress that an event reports; None for any other event."""
        fields: Any = (event.custom_metadata or {}).get(TOOL_PROGRESS)
        if not isinstance(fields, dict):
            return None
        known = cast("dict[str, Any]", fields)
        return cls(**{name: known[name] for name in _NAMES & known.keys()})


def make_progress_event(
    progress: ToolProgress, *, invocation_id: str, author: str, branch: str | None
) -> Event:
    """Return a partial event that reports progress; it is never stored.

    Args:
      progress: the progress; numbers that JSON cannot represent are left out.
      invocation_id: the invocation of the call.
      author: the agent that made the call.
      branch: its branch.
    """
    fields = asdict(progress) | {"message": progress.message[:MAX_MESSAGE]}
    if progress.total is not None and not math.isfinite(progress.total):
        fields["total"] = None
    if not math.isfinite(progress.progress):
        fields["progress"] = 0.0
    return Event(
        invocation_id=invocation_id,
        author=author,
        branch=branch,
        partial=True,
        custom_metadata={TOOL_PROGRESS: fields},
    )
