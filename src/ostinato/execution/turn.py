"""Turn: a request's exclusive hold on its session, from the first commit to the release.

In a shared store, the first commit claims the session's lease and every later one carries its
fence, so that a former owner cannot write. A turn can be stopped from any thread; it then ends like
a cancelled task, with the reason as the error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from .._log import get_logger
from .._shielded import is_loop_running, run_shielded
from ..context.run_state import RunState
from ..durable.inbox import Work
from ..durable.lease import LeaseKeeper, StoreOperation
from ..errors import (
    CallerError,
    LeaseLostError,
    RunCancelledError,
    RunHandedOverError,
    StoreError,
)
from ..events.event import Event
from ..sessions.log.event_log import EventRecord
from ..sessions.log.ordered_delta import OrderedDelta, order_writes
from ..sessions.session import Session, log_of, newest_of, revision_of
from ..sessions.store.durable_store import (
    CallAnswer,
    CallChanges,
    Claim,
    DurableStore,
    Fence,
    InboxMessage,
    JournalRow,
    Lease,
    Place,
)
from ..sessions.store.keyed_requests import check_repeated, digests_of_payload
from ..sessions.store.outside_writes import drop_overtaken
from ..telemetry.tracing import caller_headers
from .run_request import RunRequest
from .session_watch import SessionWatch
from .step import Step
from .store_access import StoreAccess

logger = get_logger(__name__)


class Turn:
    """One request's turn in a session.

    Args:
      store: the session's store.
      keeper: renews the lease; None if no other process reaches the store, or within a run of the
        same session.
      request: the request.
      digest: digest of the agent tree.
      over: the abandoned invocation or message that this turn runs.
      within: returns the session that the request works for, and its owner's fence.

    Attributes:
      session: the session as loaded last; set before the first commit.
      invocation_id: the invocation that it runs.
      fence: ownership of the session; None until the claim.
      digest: digest of the agent tree.
      step: the blocks in which a stop takes effect.
      watch: tells its session from a later one under its id.
      paused: whether the invocation waits for an answer from outside.
      is_nested: whether it is part of another run of the session.
      holds_session: whether it has the session among the turns of this process.
      has_interrupted: whether it has cancelled the run that it found in the session.
      kept: whether its message is still in the session's inbox.
      is_repeated: whether an earlier request under its key waits, runs or has ended.
      answers: the answers in its message, claimed when the message is stored.
      run_state: the state of its run, which has the order of the writes of parallel branches; None
        until the run is set up.
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
        self.paused = self.is_nested = self.holds_session = self.has_interrupted = False
        self._over, self._within = over, within
        self._queued = self._is_message_stored = self._answers_claimed = self.is_repeated = False
        self.answers: Sequence[CallAnswer] = ()
        self._dropped: list[str] = []
        self.run_state: RunState | None = None
        self.kept = over is not None and request.message is not None
        self._runner: tuple[asyncio.Task[object], int] | None = None
        self._owns_message = True
        self._given_away = self._ended = False
        self._lost: LeaseLostError | None = None
        self._failure: StoreError | None = None
        self.step, self.watch = Step(), SessionWatch(store, request.place)

    @property
    def unclaimed(self) -> bool:
        """Whether the session has yet to be claimed."""
        return self._keeper is not None and self.fence is None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._ended

    def join(self) -> None:
        """Join the run that already holds the session: its lease covers this turn too."""
        self._keeper = None
        self.is_nested = True

    @property
    def takes_over(self) -> bool:
        """Whether it recovers abandoned work."""
        return self._over is not None

    def detach_caller(self) -> None:
        """Mark the turn as one without a caller, run by the current task."""
        task = asyncio.current_task()
        assert task is not None
        self._runner = task, task.cancelling()

    @property
    def handed_over(self) -> bool:
        """Whether another process is to resume the invocation, so that this one writes no more.

        Either `hand_over` was called, or the task of a turn without a caller was cancelled.
        """
        if self._given_away or self._runner is None or self.stopped is not None:
            return self._given_away
        task, before = self._runner
        return task.cancelling() > before

    def _has_earlier_results(self, events: Sequence[Event]) -> bool:
        """Whether events may hold results of an earlier process, or of a parked run."""
        resumed = self.run_state is not None and self.run_state.is_resumed
        return resumed or any(event.invocation_id != self.invocation_id for event in events)

    async def commit(
        self,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        changes: CallChanges | None = None,
    ) -> None:
        """Store events and rows; the first commit claims the session.

        Of a state key that parallel writers wrote, only the value written last in time is stored,
        whichever event comes last.

        Args:
          changes: what the events change of the calls that wait for an answer.

        Raises:
          CallAlreadyAnsweredError: another message has answered one of these calls.
          SessionBusyError: another owner holds it.
          StaleSessionError: it changed since it was loaded.
          LeaseLostError: it was taken over, is handed over, or was stopped and has ended.
          StoreError: this or an earlier write failed: the turn's copy of the session may be wrong,
            so it writes no more, and the next owner resumes from the store.
        """
        assert self.session is not None
        step = self.step
        if self._failure or self._ended or step.is_loop_stalled or step.reason or self.handed_over:
            self._check_open()
        deltas: Sequence[OrderedDelta] = ()
        for event in events:  # inlined: a turn that writes no state should not pay for a call
            if event.actions.state_delta:
                order = None if self.run_state is None else self.run_state.write_order
                deltas = order_writes(events, order)
                if deltas and self._has_earlier_results(events):
                    drop_overtaken(self.session, events)
                break
        keeper = self._keeper
        try:
            # A message stays in the inbox until its own event is stored, in the same transaction.
            if keeper is None or (self.fence is not None and not (self.kept and events)):
                await self._store.commit(self.session, events, rows, self.fence, None, changes)
            else:
                await self._commit_with_claim(keeper, events, rows, changes)
        except StoreError as error:
            if keeper is not None:
                self._failure = error
            raise
        except asyncio.CancelledError:
            if events and keeper is not None and self.fence is not None:
                await run_shielded(self._await_commit(events[-1], deltas))
            raise
        for delta in deltas:
            delta.note_commit()

    def _check_open(self) -> None:
        """Refuse a commit of a turn that has failed, ended, was lost, or is handed over."""
        step = self.step
        if self._lost is not None:
            raise self._lost
        if self._failure is not None:
            raise self._failure
        if (self._ended and self.stopped is not None) or (
            step.is_loop_stalled and step.is_ended_elsewhere
        ):
            raise LeaseLostError("The run was stopped, and its session was released.")
        if self.handed_over:
            self._given_away = True  # for good: events that should be stored were not
            raise RunHandedOverError("The run is handed over; another process resumes it.")

    async def _commit_with_claim(
        self,
        keeper: LeaseKeeper,
        events: Sequence[Event],
        rows: Sequence[JournalRow],
        changes: CallChanges | None,
    ) -> None:
        """Store events and rows with a claim of the session."""
        assert self.session is not None
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
            request=None if self.takes_over else self.request.digests,
            within=None if self._within is None else self._within(),
        )
        try:
            self.fence = await self._store.commit(
                self.session, events, rows, claim=claim, changes=changes
            )
        except asyncio.CancelledError:
            # The claim may have committed; find it so that it can be released.
            try:
                await run_shielded(self._find_claim(keeper))
            except StoreError as error:
                self._failure = error
            raise
        assert self.fence is not None
        self.kept = self.kept and not events
        place = self.request.place
        # Before `hold`: its stop could hit the set-up. Here, the next block raises the reason.
        if isinstance(self._over, Lease) and await keeper.is_cancelled(place, self.fence):
            self.step.reason = keeper.cancel_reason(place)
        keeper.hold(place, self.fence, self)

    async def _await_commit(self, event: Event, deltas: Sequence[OrderedDelta]) -> None:
        """Wait for the commit of a cancelled caller, so that sealing sees its events, and puts back
        no older value of a key.

        If its outcome stays unknown, the turn writes no more.
        """
        session = self.session
        assert session is not None
        await self._store.flush()
        if any(record.id == event.id for record in reversed(log_of(session).records)):
            for delta in deltas:
                delta.note_commit()
            return
        try:  # it may never have reached the store
            stored = await self._store.load(self.request.place)
        except StoreError as error:
            self._failure = error
            return
        if revision_of(stored) != revision_of(session):
            self._failure = StoreError(
                f"The stored events of session {session.id!r} are unknown: the run was cancelled "
                "while the store failed."
            )

    async def _find_claim(self, keeper: LeaseKeeper) -> None:
        """Check whether a cancelled claim was committed."""
        assert self._durable is not None
        await self._store.flush()
        lease = await self._durable.lease(self.request.place)
        if lease is not None and (lease.owner, lease.invocation_id) == (
            keeper.owner,
            self.invocation_id,
        ):
            self.fence = Fence(lease.owner, lease.token)
            keeper.hold(self.request.place, self.fence, self)

    def record_event_number(self, event: Event | EventRecord) -> None:
        """Record the number of the event stored last, if the request asks for numbers."""
        numbers, session = self.request.numbers, self.session
        if numbers is None or session is None or (isinstance(event, Event) and event.partial):
            return
        number = newest_of(session)
        if number:
            numbers[event.id] = number

    async def claim(self) -> None:
        """Claim the session without events, before a side effect.

        A message under an idempotency key is stored first: from then on, the key is taken.
        """
        if self.unclaimed:
            if self.request.once and not self.takes_over:
                await self.queue()
            await self.commit(())

    async def queue(self) -> None:
        """Enqueue the message in the session's inbox.

        Raises:
          IdempotencyKeyReusedError: its key was used for another request.
          CallAlreadyAnsweredError: another message has answered one of the calls it answers.
          StaleSessionError: its answers are to be checked again; it may be enqueued after that.
        """
        keeper, durable, request = self._keeper, self._durable, self.request
        if keeper is None or durable is None:
            await self._wait_in_process()
            return
        if self._queued or request.message is None:
            return
        work = Work(
            request.place,
            request.id,
            request.message,
            request.state_delta,
            request.config.custom_metadata,
            request.once,
            caller_headers(),
        )
        message = InboxMessage(request.id, keeper.owner, keeper.process, work.payload())
        # Set first: a cancelled call may have stored it anyway.
        self._queued = self.kept = True
        keeper.keep_waiting(request.place, request.id, self)
        try:
            is_new = await durable.put_message(request.place, message, keeper.seconds, self.answers)
        except CallerError:  # nothing was written
            keeper.end_waiting(request.place, request.id, self)
            self._queued = self.kept = False
            raise
        if not is_new:  # left to the request that stored it
            keeper.end_waiting(request.place, request.id, self)
            self._owns_message = False
        self.is_repeated = self.is_repeated or not is_new
        self._is_message_stored = is_new
        request.accept()

    async def adopt_waiting_message(self) -> bool:
        """Run the message that waits under its key, if there is one.

        The same request may have been read as another message when it was stored.

        Returns:
          Whether a message waits.

        Raises:
          IdempotencyKeyReusedError: it is of another request.
        """
        request = self.request
        if not request.once or self._durable is None or self.takes_over:
            return False
        for one in await self._durable.messages(request.place):
            if one.invocation_id == request.id:
                stored = digests_of_payload(request.id, one.payload)
                check_repeated(stored, request.digests)
                work = Work.read(request.place, request.id, one.payload)
                request.message, request.state_delta = work.message, work.state_delta
                request.digests, self.kept = stored, True
                return True
        return False

    def replace_answers(self, answers: Sequence[CallAnswer]) -> None:
        """Replace the answers in its message, which a plugin has changed.

        A call that it answers no more is open again, if the message had claimed it.
        """
        if self.kept or self._answers_claimed:
            left = {one.call_id for one in answers}
            self._dropped += [one.call_id for one in self.answers if one.call_id not in left]
        self.answers = answers

    async def _wait_in_process(self) -> None:
        """Accept a message that waits in this process only."""
        # The first request under a repeated key has claimed them, and stands before it.
        claims = not (self.is_repeated or self._answers_claimed)
        if claims and self._durable is not None and self.answers:
            # Set first: a cancelled call may have claimed them anyway.
            self._answers_claimed = True
            try:
                await self._durable.claim_answers(self.request.place, self.answers)
            except CallerError:  # nothing was written
                self._answers_claimed = False
                raise
        if self._durable is not None or not self.request.answers_calls:
            self.request.accept()

    async def commit_message(self, events: Sequence[Event]) -> None:
        """Store the user's event and claim the calls that it answers in one transaction.

        Args:
          events: the event, after events that precede it.

        Raises:
          CallAlreadyAnsweredError: another message has answered one of the calls.
        """
        changes = None
        if self.answers or self._dropped:
            changes = CallChanges(answers=self.answers, reopened=self._dropped)
        await self.commit(events, (), changes)
        self._answers_claimed = False  # the event holds them now
        self.request.accept()

    async def is_message_claimed(self) -> bool:
        """Return whether another process has claimed its message: it considered this process dead,
        or was faster to recover it."""
        if not self.kept or self._durable is None:
            return False
        waiting = await self._durable.messages(self.request.place)
        return all(message.invocation_id != self.request.id for message in waiting)

    async def park(self, reason: str) -> None:
        """Release the session with its invocation marked as stuck."""
        keeper, durable, fence = self._keeper, self._durable, self.fence
        assert keeper is not None and durable is not None and fence is not None
        keeper.drop(self.request.place, fence)
        await durable.park(self.request.place, fence, reason)

    async def end(self, error: BaseException | None) -> None:
        """Release the session or hand it over, and leave its inbox; idempotent.

        Store operations that fail are retried in the background; until then the lease is not
        renewed and expires.

        Args:
          error: the error that ended the turn, or None.
        """
        keeper, durable, fence = self._keeper, self._durable, self.fence
        if self._ended:
            return
        self._ended = True
        if durable is not None and self._answers_claimed:  # its message never started
            self._answers_claimed = False
            await durable.release_answers(self.request.place, self.request.id)
        if keeper is None or durable is None:
            return
        if not is_loop_running():
            return  # its loop is closed, so the keeper hands over its lease and its message
        await self._leave_inbox(keeper, error)
        if fence is None:
            if self._failure is not None:  # a claim with an unknown outcome
                keeper.retry(self._hand_over_claim)
            return
        keeper.drop(self.request.place, fence)
        if self.step.is_abandoned:
            return  # the keeper has handed it over
        if self._failure is not None:
            logger.warning(
                "Handing over invocation %s in session %s, because the store failed: %s",
                self.invocation_id,
                self.request.place.session_id,
                self._failure,
            )
            keeper.retry(partial(self._hand_over_lease, fence, True))
        elif self.handed_over:
            await self._run_operation(keeper, partial(self._hand_over_lease, fence, False))
        elif self._lost is None:
            await self._release_lease(keeper, durable, fence)
        elif self.stopped is not self._lost:  # its caller has cancelled it, and it is not sealed
            keeper.retry(self._pass_on_cancellation)

    async def _leave_inbox(self, keeper: LeaseKeeper, error: BaseException | None) -> None:
        """Take its own message out of the inbox, or leave it to another process."""
        if not (self._queued and self._owns_message):
            return
        keeper.end_waiting(self.request.place, self.request.id, self)
        if self.kept:
            keep = self._is_message_left(error)
            await self._run_operation(keeper, partial(self._leave_message, keep))

    def _is_message_left(self, error: BaseException | None) -> bool:
        """Return whether its message is left to another process.

        It is if the caller just went away, if the store failed after it had accepted the message,
        or if the session was lost or handed over.
        """
        if self._lost is not None or isinstance(error, LeaseLostError):
            return True
        gone = isinstance(error, asyncio.CancelledError | GeneratorExit)
        gone = gone or (self._is_message_stored and isinstance(error, StoreError))
        return gone and self.stopped is None

    async def _run_operation(self, keeper: LeaseKeeper, operation: StoreOperation) -> None:
        """Run a store operation; let the keeper retry it if the store does not answer."""
        assert self._durable is not None
        try:
            await operation(self._durable)
        except StoreError:
            keeper.retry(operation)
        except asyncio.CancelledError:
            keeper.retry(operation)
            raise

    async def _release_lease(
        self, keeper: LeaseKeeper, durable: DurableStore, fence: Fence
    ) -> None:
        """Release the lease; a store with its own threads commits it with the next write."""
        place, keep_rows = self.request.place, self.paused

        async def release(store: DurableStore) -> None:
            await store.release(place, fence, keep_rows=keep_rows)

        def retry(_: Exception) -> None:
            keeper.retry(release)

        try:
            await durable.release(place, fence, keep_rows=keep_rows, wait=False, on_error=retry)
        except StoreError:
            keeper.retry(release)
        except asyncio.CancelledError:
            keeper.retry(release)
            raise

    async def _leave_message(self, keep: bool, store: DurableStore) -> None:
        # Another process's message under the same key stays unchanged.
        owner = None if self._keeper is None else self._keeper.owner
        await store.leave_message(self.request.place, self.request.id, keep=keep, owner=owner)

    async def _pass_on_cancellation(self, store: DurableStore) -> None:
        """Have the next owner cancel the invocation."""
        await store.request_cancel(self.request.place, self.invocation_id)

    async def _hand_over_lease(self, fence: Fence, failed: bool, store: DurableStore) -> None:
        if isinstance(self.stopped, RunCancelledError):
            await self._pass_on_cancellation(store)
        await store.hand_over(self.request.place, fence, failed=failed)

    async def _hand_over_claim(self, store: DurableStore) -> None:
        """Hand over the lease of a claim that committed although its answer was lost."""
        keeper, place = self._keeper, self.request.place
        assert keeper is not None
        lease = await store.lease(place)
        ours = keeper.owner, self.invocation_id
        if lease is None or (lease.owner, lease.invocation_id) != ours:
            return
        if not keeper.holds(place, lease.token):  # else a later turn of this process resumes it
            await store.hand_over(place, Fence(lease.owner, lease.token), failed=True)

    def hand_over(self) -> None:
        """Stop all writes, so that another process resumes the invocation, if the store is shared.

        The caller then cancels the turn's task.
        """
        self._given_away = self._keeper is not None

    @property
    def is_orphaned(self) -> bool:
        """Whether its event loop is closed or blocked, so that it can neither continue nor end."""
        return self.step.is_orphaned

    @property
    def is_lost(self) -> bool:
        """Whether another owner may have its session, so that it writes nothing more."""
        return self._lost is not None

    @property
    def stopped(self) -> CallerError | None:
        """The reason why the turn was stopped, or None."""
        return self.step.reason

    async def raise_cause(self, error: BaseException) -> None:
        """Raise why the turn was stopped, or that its session was deleted, in place of its loss."""
        if error is self._lost and self.stopped not in (None, error):
            raise self.stopped from None
        await self.watch.explain_loss(error, self.session)

    def stop(self, reason: CallerError, *, end_here: bool = False) -> None:
        """End the run with `reason`; idempotent and thread-safe.

        Args:
          reason: the error for its caller.
          end_here: whether the current event loop seals a run whose own loop does not run;
            otherwise such a run is handed over.
        """
        if isinstance(reason, LeaseLostError):
            self._lost = reason  # for good, also where a caller has cancelled the run before
        self.step.stop(reason, end_here=end_here)
