"""Backlog: the requests of one app that wait in its store, and what dead processes left open there.

Engines deliver from it. It runs what they deliver, unless the store says that it has been done.
"""

from __future__ import annotations

from collections.abc import Container

from ..durable.inbox import Work
from ..durable.lease import LeaseKeeper
from ..errors import InputValidationError
from ..sessions._durable_store import InboxMessage, Place
from .recovery import Recovered, Recovery
from .store_access import StoreAccess


class Backlog:
    """What there is to run for an app.

    Args:
      app_name: the app.
      store: its sessions.
      keeper: the leases of this process.
      recovery: runs what was left.
      create: whether a message may come for a session that does not exist yet.
    """

    def __init__(
        self,
        app_name: str,
        store: StoreAccess,
        keeper: LeaseKeeper,
        recovery: Recovery,
        *,
        create: bool,
    ) -> None:
        assert store.durable is not None
        self.app_name = app_name
        self._store = store
        self._durable = store.durable
        self._keeper = keeper
        self._recovery = recovery
        self._create = create

    async def put(self, work: Work) -> str:
        """Store a request behind those that wait in its session; nobody waits for it.

        Returns:
          Its invocation id.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: its message is empty, or JSON cannot carry it.
        """
        if work.message is None or not work.message.parts:
            raise InputValidationError("No parts in the new_message.")
        payload = work.payload()
        if self._create:
            await self._store.load(work.place, create=True)
        message = InboxMessage(work.invocation_id, "", "", payload)
        await self._durable.put_message(work.place, message, 0.0)
        return work.invocation_id

    async def take(self, limit: int) -> list[tuple[Place, str]]:
        """Take messages that nobody waits for: one of each session that is free, for the length of
        a lease.

        Returns:
          Sessions and invocation ids, for `ensure`.
        """
        keeper = self._keeper
        return list(
            await self._durable.take_messages(
                self.app_name, keeper.owner, keeper.process, keeper.seconds, limit
            )
        )

    async def give_back(self, place: Place, invocation_id: str) -> None:
        """Leave a message that was taken and not begun to others."""
        await self._durable.leave_message(place, invocation_id, keep=True)

    async def left_open(self, without: Container[Place] = ()) -> list[tuple[Place, str, int]]:
        """Find invocations that were begun and that nobody runs any more, oldest first; then
        messages that a process took and did not begin before it died.

        Args:
          without: sessions to pass over.

        Returns:
          Sessions, invocation ids for `ensure`, and numbers that rise with each new owner; 0 for a
          message.
        """
        leases = await self._recovery.left_open(self.app_name)
        found = [(lease.place, lease.invocation_id, lease.token) for lease in leases]
        messages = await self._recovery.left_messages(self.app_name)
        found += [(place, invocation_id, 0) for place, invocation_id in messages]
        return [each for each in found if each[0] not in without]

    async def ensure(self, place: Place, invocation_id: str) -> list[Recovered]:
        """Run an invocation, unless that has been done or somebody is at it.

        A task that is cancelled meanwhile hands over what it runs, and returns.

        Returns:
          What was run, what came before it too.
        """
        self._keeper.wait(1)  # so that a message that was taken stays so while it waits
        try:
            done = await self._recovery.ensure(place, invocation_id)
            await self._store.flush()  # so that whoever looks next finds the session free
            return done
        finally:
            self._keeper.wait(-1)

    async def is_open(self, place: Place, invocation_id: str) -> bool:
        """Tell whether an invocation waits for its turn, or has begun and not ended."""
        return await self._recovery.is_open(place, invocation_id)
