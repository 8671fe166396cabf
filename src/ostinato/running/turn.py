"""Turn: a request's hold on its session, from the first commit to the release.

Where processes share the store, the first commit takes the session's lease and every later one
carries its fence, so that an owner who was taken over can write nothing more. A turn can be stopped
from any thread; it then ends as if its task had been cancelled, with the reason as the error.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

from .._shielded import shielded
from ..durable.inbox import Work
from ..durable.lease import LeaseKeeper
from ..errors import CallerError, LeaseLostError
from ..events.event import Event
from ..sessions._durable_store import Claim, Fence, InboxMessage, JournalRow, Lease, Place
from ..sessions.event_log import EventRecord
from ..sessions.session import Session, newest_of, revision_of
from .request import RunRequest
from .store_access import StoreAccess


class Turn:
    """One request's turn in a session.

    Args:
      store: where the session is.
      keeper: keeps the lease; None where no other process reaches the store, or within a run of
        the same session.
      request: what is asked for.
      digest: digest of the agent tree.
      over: the invocation or the message that a dead owner left behind, which this turn runs.
      within: tells the session that the request works for, and its owner's fence.

    Attributes:
      session: the session as loaded last; set before the first commit.
      invocation_id: the invocation it runs, once that is known.
      fence: ownership of the session; None until it was claimed.
      digest: digest of the agent tree.
      step: marks the blocks in which a stop may cut in.
      paused: whether the invocation waits for an answer from outside and will go on.
      kept: whether its message is still in the session's inbox.
    """

    def __init__(
        self,
        store: StoreAccess,
        keeper: LeaseKeeper | None,
        request: RunRequest,
        digest: str,
        *,
        over: Lease | InboxMessage | None = None,
        within: Callable[[], tuple[Place, Fence] | None] | None = None,
    ) -> None:
        self.request = request
        self.session: Session | None = None
        self.invocation_id = request.invocation_id or request.id
        self.fence: Fence | None = None
        self._store = store
        self._durable = store.durable
        self._keeper = keeper
        self.digest = digest
        self.paused = False
        self._over = over
        self._within = within
        self._queued = False
        self.kept = over is not None and request.message is not None
        self._runner: tuple[asyncio.Task[object], int] | None = None
        self._given_away = False
        self.step = Step()

    @property
    def unclaimed(self) -> bool:
        """Whether the session is still to be claimed."""
        return self._keeper is not None and self.fence is None

    def join(self) -> None:
        """Be part of a run that holds the session already: its lease covers this turn too."""
        self._keeper = None

    @property
    def takes_over(self) -> bool:
        """Whether it goes on with what a dead owner left behind."""
        return self._over is not None

    def run_for_nobody(self) -> None:
        """Note that the current task runs it for an owner who is gone, and for no caller."""
        task = asyncio.current_task()
        assert task is not None
        self._runner = task, task.cancelling()

    @property
    def handed_over(self) -> bool:
        """Whether another process is to go on: it writes nothing more then.

        Either it was handed over, or the task that ran it for nobody was cancelled and the turn
        itself was not stopped.
        """
        if self._given_away:
            return True
        if self._runner is None or self.stopped is not None:
            return False
        task, before = self._runner
        return task.cancelling() > before

    async def commit(self, events: Sequence[Event], rows: Sequence[JournalRow] = ()) -> None:
        """Store events and rows; the first commit claims the session.

        Raises:
          SessionBusyError: somebody else has it.
          StaleSessionError: it moved on since it was loaded.
          LeaseLostError: it was taken over, or is handed over.
        """
        assert self.session is not None
        if self.handed_over:
            self._given_away = True  # whatever comes now: what had to be stored was not
            raise LeaseLostError("The run is handed over; another process goes on with it.")
        keeper = self._keeper
        # A message stays in the inbox until its own event is stored, in the same transaction.
        if keeper is None or (self.fence is not None and not (self.kept and events)):
            await self._store.commit(self.session, events, rows, self.fence)
            return
        if self.fence is not None:
            keeper.drop(self.request.place, self.fence)
        claim = Claim(
            owner=keeper.owner,
            process=keeper.process,
            seconds=keeper.seconds,
            invocation_id=self.invocation_id,
            digest=self.digest,
            revision=revision_of(self.session) if self.fence is None else None,
            over=self._over.token if isinstance(self._over, Lease) else None,
            jump=isinstance(self._over, Lease),
            message=self.request.id,
            keep_message=not events,
            within=None if self._within is None else self._within(),
        )
        try:
            self.fence = await self._store.commit(self.session, events, rows, claim=claim)
        except asyncio.CancelledError:
            # It may have been made all the same, and has to be known to be given back.
            await shielded(self._find_claim(keeper))
            raise
        assert self.fence is not None
        self.kept = self.kept and not events
        keeper.hold(self.request.place, self.fence, self)

    async def _find_claim(self, keeper: LeaseKeeper) -> None:
        """See whether a claim was made whose answer nobody waited for."""
        assert self._durable is not None
        await self._store.flush()
        lease = await self._durable.lease(self.request.place)
        if lease is not None and (lease.owner, lease.invocation_id) == (
            keeper.owner,
            self.invocation_id,
        ):
            self.fence = Fence(lease.owner, lease.token)
            keeper.hold(self.request.place, self.fence, self)

    def number(self, event: Event | EventRecord) -> None:
        """Note the number of an event that was stored just now, where the request asks for it."""
        numbers, session = self.request.numbers, self.session
        if numbers is None or session is None or (isinstance(event, Event) and event.partial):
            return
        number = newest_of(session)
        if number:
            numbers[event.id] = number

    async def claim(self) -> None:
        """Claim the session by itself, before something that may be done once only."""
        if self.unclaimed:
            await self.commit(())

    async def queue(self) -> None:
        """Store the message in the session's inbox, where it waits for its turn."""
        keeper, durable, request = self._keeper, self._durable, self.request
        if keeper is None or durable is None or self._queued or request.message is None:
            return
        work = Work(
            request.place,
            request.id,
            request.message,
            request.state_delta,
            request.config.custom_metadata,
            request.once,
        )
        message = InboxMessage(request.id, keeper.owner, keeper.process, work.payload())
        # Before it is: who is cancelled now may have stored it all the same.
        self._queued = self.kept = True
        keeper.wait(1)
        await durable.put_message(request.place, message, keeper.seconds)

    async def was_taken(self) -> bool:
        """Tell whether somebody else has begun with its message: they believed this process dead,
        or were faster in going on with what a dead one had left.
        """
        if not self.kept or self._durable is None:
            return False
        waiting = await self._durable.messages(self.request.place)
        return all(message.invocation_id != self.request.id for message in waiting)

    async def park(self, reason: str) -> None:
        """Give the session back with its invocation marked as stuck."""
        keeper, durable, fence = self._keeper, self._durable, self.fence
        assert keeper is not None and durable is not None and fence is not None
        keeper.drop(self.request.place, fence)
        await durable.park(self.request.place, fence, reason)

    async def end(self, error: BaseException | None) -> None:
        """Give the session back or hand it over, and give up the place in its inbox.

        Nobody waits for the release: where it is lost, the next owner finds the invocation
        finished.

        Args:
          error: what ended the turn; None where it ran to its end.
        """
        keeper, durable, fence = self._keeper, self._durable, self.fence
        if keeper is None or durable is None:
            return
        if self._queued:
            self._queued = False
            keeper.wait(-1)
            if self.kept:
                # Where the caller just went away, somebody will run the message for it.
                gone = isinstance(error, asyncio.CancelledError | GeneratorExit)
                keep = gone and self.stopped is None
                await durable.leave_message(self.request.place, self.request.id, keep=keep)
        if fence is not None:
            keeper.drop(self.request.place, fence)
            if self.handed_over:
                await self._store.hand_over(self.request.place, fence)
            elif not isinstance(self.stopped, LeaseLostError):
                await self._store.release(self.request.place, fence, keep_rows=self.paused)

    def hand_over(self) -> None:
        """Have another process go on with it, where there can be one: it writes nothing more.

        Its task is then to be cancelled.
        """
        self._given_away = self._keeper is not None

    @property
    def stopped(self) -> CallerError | None:
        """Why the turn was stopped; None where it was not."""
        return self.step.reason

    def stop(self, reason: CallerError) -> None:
        """End the run with `reason`; harmless when repeated, and from any thread."""
        self.step.stop(reason)


class Step:
    """A block in which a stop may cut in; it then raises the reason of the stop.

    One object marks any number of blocks of its turn, one after another.

    Attributes:
      reason: why it was stopped; None where it was not.
    """

    __slots__ = ("_before", "_cut", "_cutting", "_loop", "_mutex", "_task", "reason")

    def __init__(self) -> None:
        self.reason: CallerError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        self._cut = self._cutting = False
        self._mutex = threading.Lock()

    def stop(self, reason: CallerError) -> None:
        """Cancel the task that is in the block, now or when it comes to the next one."""
        with self._mutex:
            if self.reason is not None:
                return
            self.reason = reason
            loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._cut_in)
            except RuntimeError:  # that loop was closed, and the run with it
                return

    def _cut_in(self) -> None:
        """Cancel the task, once; within its event loop."""
        if self._task is not None and not self._cut:
            self._cut = self._cutting = True
            self._before = self._task.cancelling()
            self._task.cancel()

    def __enter__(self) -> None:
        if self.reason is not None:
            # To cancel the task here would hit what comes after a block that never waits.
            raise self.reason
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(self._loop)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        task, self._task = self._task, None
        if not self._cutting or task is None:
            return
        self._cutting = False
        others = task.uncancel() > self._before  # somebody else cancelled the task meanwhile
        if isinstance(error, asyncio.CancelledError) and self.reason is not None and not others:
            raise self.reason from None
