"""Skeleton: what the events made of one response of a model begin with."""

from __future__ import annotations

from ... import _clock
from ...context.invocation import InvocationContext
from ...events.event_actions import NO_ACTIONS, EventActions


class Skeleton:
    """Identity and effects of the event that the next response becomes; an Event can stand for it.

    Id, time and effects are made when they are asked for: most responses are the only one.

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
        self.renew()

    def renew(self) -> None:
        """Begin another event: no two share an id, a time or effects."""
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
        """Effects of the event; hooks note some before there is one."""
        if self._actions is None:
            self._actions = NO_ACTIONS.fill()
        return self._actions
