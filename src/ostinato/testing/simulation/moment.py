"""What invariants and actions of the user see of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ...events.event import Event
from ...sessions.session import Session
from ...sessions.store.durable_store import Place
from .process import Effect, SimulatedProcess, World

T = TypeVar("T")


class Moment:
    """What an invariant of the user sees.

    Attributes:
      time: virtual seconds since the start.
      session_id: the session that has changed, or that is looked at in the end.
      events: its stored events.
      effects: the tool bodies that have begun in it, in order.
    """

    def __init__(self, world: World, place: Place) -> None:
        self._world, self._place = world, place
        self.time, self.session_id = world.loop.now, place.session_id

    @property
    def events(self) -> Sequence[Event]:
        """The events of the session, in order."""
        return self._world.history.read_stored(self._place)

    @property
    def state(self) -> dict[str, Any]:
        """The session's stored state."""
        return dict(self.session.state)

    @property
    def session(self) -> Session:
        """The session as the store has it."""
        found = self._world.store.get_session_sync(**self._place._asdict())
        assert found is not None
        return found

    @property
    def effects(self) -> list[Effect]:
        """The tool bodies that have begun."""
        return [one for one in self._world.effects if one.session_id == self.session_id]


class Host(Moment):
    """What an action of the host works with, besides what a `Moment` has.

    Attributes:
      runner: the runner of the process in which it happens; its `session_service` is the store.
      app_name, user_id: with `session_id` the session's name.
      amount: a number from 0 to 1 that the plan drew for this action.
    """

    def __init__(
        self, world: World, place: Place, process: SimulatedProcess, amount: float
    ) -> None:
        super().__init__(world, place)
        self.app_name, self.user_id, _ = place
        self.runner, self.amount = process.runner, amount

    def choose(self, items: Sequence[T]) -> T:
        """Return one of some items, by the amount."""
        return items[min(int(self.amount * len(items)), len(items) - 1)]

    def prune(self, part: float = 1.0) -> int:
        """Delete the session's oldest invocations, as a job for retention does; return how many
        events.

        Args:
          part: how many of those before the first one that unfinished work needs, from 0 to 1.
        """
        return self._world.store.prune(self._place, part)
