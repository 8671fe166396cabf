"""EventDraft: identity and effects of the event that a model response becomes."""

from __future__ import annotations

from .... import _clock
from ....context.invocation import InvocationContext
from ....events.event_actions import ACTIONS_TEMPLATE, EventActions


class EventDraft:
    """Identity and effects of the event that the next response becomes; an Event can replace it.

    Id, time and effects are created on first access.

    Args:
      ctx: the run.

    Attributes:
      invocation_id, author, branch: those of the event.
    """

    __slots__ = ("_actions", "_id", "_timestamp", "author", "branch", "invocation_id")

    def __init__(self, ctx: InvocationContext) -> None:
        self.invocation_id = ctx.invocation_id
        self.author: str = ctx.agent.name
        self.branch = ctx.branch
        self.start_next()

    def start_next(self) -> None:
        """Start the next event, with an id, a time and effects of its own."""
        self._id: str | None = None
        self._timestamp: float | None = None
        self._actions: EventActions | None = None

    @property
    def id(self) -> str:
        """Id of the event."""
        if self._id is None:
            self._id = _clock.new_id()
        return self._id

    @property
    def timestamp(self) -> float:
        """Time of the event, seconds since 1970."""
        if self._timestamp is None:
            self._timestamp = _clock.now()
        return self._timestamp

    @property
    def actions(self) -> EventActions:
        """Effects of the event; hooks write to them before the event exists."""
        if self._actions is None:
            self._actions = ACTIONS_TEMPLATE.create()
        return self._actions
