"""Backlog: an app's queued requests and abandoned invocations, which workers take and run."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...durable.inbox import Work
from ...durable.lease import LeaseKeeper
from ...errors import InputValidationError
from ...sessions.store.durable_store import CallAnswer, InboxMessage, Place
from ...telemetry.tracing import caller_headers
from ..run_request import RunRequest, as_content
from ..store_access import StoreAccess, store_checked_answers
from .recovery import Recovered, Recovery

if TYPE_CHECKING:
    from ..context_factory import ContextFactory


class Backlog:
    """The pending work of an app.

    Attributes:
      app_name: the app.
      store: its sessions.

    Args:
      app_name: the app.
      store: its sessions.
      keeper: the leases of this process.
      recovery: runs queued and abandoned work.
      create: whether to create a session that does not exist.
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
        self.store = self._durable = store.durable
        self._keeper = keeper
        self._recovery = recovery
        self._create = create

    async def put(self, work: Work, answers: Sequence[CallAnswer] = ()) -> str:
        """Enqueue a request in its session's inbox; do not wait for the result.

        Args:
          work: the request.
          answers: the calls that its message answers, claimed in the same transaction.

        Returns:
          Its invocation id.

        Raises:
          CallAlreadyAnsweredError: another message has answered one of the calls.
          StaleSessionError: the answers are to be checked again.
          SessionNotFoundError: there is no such session.
          InputValidationError: its message is empty, or JSON cannot carry it.
        """
        if work.message is None or not work.message.parts:
            raise InputValidationError("No parts in the new_message.")
        payload = replace(work, trace=caller_headers()).payload()
        if self._create:
            await self._store.load(work.place, create=True)
        message = InboxMessage(work.invocation_id, "", "", payload)
        await self._durable.put_message(work.place, message, 0.0, answers)
        return work.invocation_id

    async def submit(self, request: RunRequest, contexts: ContextFactory) -> str:
        """Enqueue a caller's request, whose answers are checked first; see `put`.

        Args:
          request: the request.
          contexts: makes its turn, and knows the agents.

        Raises:
          IdempotencyKeyReusedError: its key was first used for another request.
          CallNotOpenError, InvalidAnswerError: it answers a call that does not wait, or wrongly.
        """
        request.message = as_content(request.message)
        place, turn = request.place, contexts.make_turn(request)
        work = Work(place, request.id, request.message, request.state_delta, once=request.once)

        async def check() -> None:
            await contexts.check_answers_of(await self._store.load(place), turn)

        if request.answers_calls:
            if await turn.adopt_waiting_message():
                return request.id
            await check()
        await store_checked_answers(lambda: self.put(work, turn.answers), check)
        return request.id

    async def take(self, limit: int) -> list[tuple[Place, str]]:
        """Dequeue messages without a waiting caller: one per free session, each leased.

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
        """Return a dequeued message that was not started to the inbox."""
        await self._durable.leave_message(place, invocation_id, keep=True)

    async def find_abandoned(self, without: Container[Place] = ()) -> list[tuple[Place, str, int]]:
        """Return abandoned invocations, oldest first, then dequeued messages of dead processes.

        Args:
          without: sessions to skip.

        Returns:
          Sessions, invocation ids for `ensure`, and lease tokens; 0 for a message.
        """
        leases = await self._recovery.find_abandoned(self.app_name)
        found = [(lease.place, lease.invocation_id, lease.token) for lease in leases]
        messages = await self._recovery.find_abandoned_messages(self.app_name)
        found += [(place, invocation_id, 0) for place, invocation_id in messages]
        return [each for each in found if each[0] not in without]

    async def ensure(self, place: Place, invocation_id: str) -> list[Recovered]:
        """Run an invocation and its predecessors, unless it is done or another owner runs it.

        A task that is cancelled meanwhile hands over its invocation and returns.

        Returns:
          The outcome of each invocation that ran.
        """
        self._keeper.wait(1)  # renews the lease of a dequeued message while it waits
        try:
            done = await self._recovery.ensure(place, invocation_id)
            await self._store.flush()  # so that the next reader finds the session free
            return done
        finally:
            self._keeper.wait(-1)

    async def is_open(self, place: Place, invocation_id: str) -> bool:
        """Return whether an invocation is queued or running."""
        return await self._recovery.is_open(place, invocation_id)
