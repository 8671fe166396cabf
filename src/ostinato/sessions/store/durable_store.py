"""The port of Ostinato's stores beyond the session service: rows beside events, one owner per
session at a time, and queued messages.

The runner looks for `DurableStore` by shape. A user's own session service need not have it; the
runner then appends one event at a time and keeps no journal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from ...events.event import Event
from ..session import GetSessionConfig, Session
from .keyed_requests import RequestDigests


class Place(NamedTuple):
    """Where a session is kept."""

    app_name: str
    user_id: str
    session_id: str


@dataclass(frozen=True, slots=True)
class JournalRow:
    """What an invocation has done that its events do not tell, written in an event's transaction.

    A row is replaced by a later one of the same invocation and key; a `started` row never replaces
    a `finished` one.

    Attributes:
      invocation_id: the run.
      call_id: the stored function call id, also the source of the idempotency key; or `agent:` and
        the agent's path for the checkpoint of an agent.
      status: `started` before the tool runs, `finished` when its result is known; a checkpoint is
        `state`. An `effect` is a row of the effects ledger, not of the journal.
      tool: name of the tool, or of the agent.
      result: response and effects, or the checkpoint, as JSON text; of a started call the number
        of attempts, None for the first one.
      session_id: of an effect, the session whose ledger keeps it; '' for the session of the append.
    """

    invocation_id: str
    call_id: str
    status: Literal["started", "finished", "state", "effect"]
    tool: str
    result: str | None = None
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class Fence:
    """Ownership of a session: an append with another token than the stored one is refused.

    Attributes:
      owner: who holds the lease.
      token: number that rises with every acquisition.
    """

    owner: str
    token: int


LOCAL_FENCE = Fence("", -1)
"""The fence of a run in a store that no other process reaches: the run holds the session's lock,
and its appends are not checked as those from outside are."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A wish to own a session for one invocation; rides with the first append of that invocation.

    Attributes:
      owner: who wants it, unlike any other runner's store in any process.
      process: identity of the owner's process, for others on its host.
      seconds: length of the lease, by the store's clock.
      invocation_id: what is to run.
      digest: digest of the agent tree that runs it.
      revision: number of the newest event the owner has seen (`revision_of`); None for any.
      over: token of a lease whose owner is known to be dead; that one is taken before its end.
      jump: whether messages of others that wait are overtaken: for resuming what had begun.
      message: the message in the inbox that it begins with, by its invocation id.
      keep_message: leave it there: its events come with a later claim of the same owner.
      request: digests of the request, if it has an idempotency key and is not read from the inbox:
        a message that waits under this key has to be the same.
      within: the session that the invocation works for and the fence of its owner, who has to have
        it still; None if it works for no other session.
    """

    owner: str
    process: str
    seconds: float
    invocation_id: str
    digest: str
    revision: int | None = None
    over: int | None = None
    jump: bool = False
    message: str | None = None
    keep_message: bool = False
    request: RequestDigests | None = None
    within: tuple[Place, Fence] | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The stored ownership of a session.

    Attributes:
      place: the session.
      owner: who holds or held it; '' if it was released.
      process: identity of the owner's process.
      token: number of the last acquisition.
      left: seconds until it ends, by the store's clock; not positive where it has ended.
      invocation_id: the invocation that was begun and not released, or ''.
      digest: digest of the agent tree that began it.
      attempts: how many owners began it, one after the other; without those that handed it over.
      stuck: why it is not begun again; '' where it may be.
    """

    place: Place
    owner: str
    process: str
    token: int
    left: float
    invocation_id: str
    digest: str
    attempts: int
    stuck: str = ""


@dataclass(frozen=True, slots=True)
class Renewal:
    """The outcome of a lease renewal.

    Attributes:
      place: the session.
      token: number of the acquisition.
      lost: whether another owner has it now, it was released, or the session is gone.
      cancelled: whether another caller asked to cancel its invocation.
    """

    place: Place
    token: int
    lost: bool
    cancelled: bool


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A user's message that waits for its turn.

    Attributes:
      invocation_id: names the message, and the invocation that it will begin unless it answers a
        call of an earlier one; unique in its session.
      owner: the owner that waits for its result; '' for a detached message.
      process: identity of that owner's process.
      payload: message, state delta and metadata as JSON text.
      left: seconds for which the owner is believed to be alive, by the store's clock.
    """

    invocation_id: str
    owner: str
    process: str
    payload: str
    left: float = 0.0


RequestKind = Literal["approval", "credential", "input", "result"]


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call that waits for an answer from outside, kept beside the event that asks.

    Attributes:
      call_id: the call to answer; unique in its session.
      kind: what it waits for; `result` for a long-running tool.
      name: name of the called function.
      invocation_id: the invocation that asks.
      event_id: the event that holds the call.
      author: the agent that asks.
      asked: when it was asked, in seconds since 1970.
      question: the call and the tool's call behind it as JSON text; see `call_requests`.
    """

    call_id: str
    kind: RequestKind
    name: str
    invocation_id: str
    event_id: str
    author: str
    asked: float
    question: str


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """An answer to a call that waits, claimed by the id of the call.

    Attributes:
      call_id: the call.
      answer: the answer as JSON text, without secrets.
      message_id: the message that brings it; the same message may claim a call again.
      once: whether a call that another message has answered refuses it.
      request: the request, for a session whose log has it while the store has no row of it; None
        if no row is to be made.
      seen: number of the newest event of the log in which the request was found. A call without a
        row is refused if there are newer ones: they may have answered or withdrawn it.
    """

    call_id: str
    answer: str
    message_id: str
    once: bool = True
    request: CallRequest | None = None
    seen: int = 0


@dataclass(frozen=True, slots=True)
class CallChanges:
    """What an append changes of the calls that wait; written in its transaction.

    Attributes:
      asked: new requests; one that has a row of the same event is left alone.
      answers: claims, all or none.
      withdrawn: ids of calls that no longer exist, for a rewind hides them.
      reopened: ids of calls whose answer a rewind hides.
      lost: ids of calls that the log does not have: they no longer exist unless their event is
        stored, for events may be deleted from a database by SQL.
    """

    asked: Sequence[CallRequest] = ()
    answers: Sequence[CallAnswer] = ()
    withdrawn: Sequence[str] = ()
    reopened: Sequence[str] = ()
    lost: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request without an answer, and its session."""

    place: Place
    request: CallRequest


@dataclass(frozen=True, slots=True)
class OpenRequests:
    """A page of open requests.

    Attributes:
      requests: the requests.
      next: where the next page begins; None after the last page.
    """

    requests: Sequence[OpenRequest]
    next: int | None = None


@runtime_checkable
class DurableStore(Protocol):
    """A session store that commits several events and their rows in one transaction.

    Its coroutines may be awaited in any event loop of any thread.
    """

    @property
    def shared(self) -> bool:
        """Whether other processes reach the sessions, or a later one does: only then are leases,
        journal and inbox worth their rows."""
        ...

    async def open_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
        complete: bool = True,
        asks: bool = True,
    ) -> Session | None:
        """Load a session for a run: its log is shared with the store, no events are built.

        Args:
          config: which events to load.
          complete: all of them; otherwise what was made into a summary may be left out, so that the
            log holds the summaries in force and the tail: the newest turn, invocations with a call
            that waits, and all that no summary stands for. Every request is the same then. What
            reads further back needs the complete log: a rewind, the resume of an invocation from
            before the newest turn, the overlap of a sliding window.
          asks: look whether others have changed it; otherwise what this process remembers will do,
            and the first append, which has to claim the session, refuses what is out of date.
        """
        ...

    async def append(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
        changes: CallChanges | None = None,
    ) -> Fence | None:
        """Commit events and rows together, then show them in `session`.

        What was committed shows there even if the caller was cancelled while it waited.

        An event whose id is already stored is skipped. Without fence and claim, the append
        comes from outside of any run, and goes behind what other writers have appended.

        Args:
          claim: take the lease first, in the same transaction; its message leaves the inbox.
          changes: what the events change of the calls that wait for an answer.

        Returns:
          The fence that a claim gave, otherwise None.

        Raises:
          LeaseLostError: the token of the fence, or that within the claim, is no longer the stored
            one.
          SessionBusyError: the claim found another owner's lease; an invocation that an owner,
            the claim's own included, began and did not release, even where its lease has ended,
            unless the claim is `over` it or for the same invocation; or another owner's message
            first in the inbox, unless it is the claim's own. Nothing was written.
          StaleSessionError: the claim's revision is not the stored one, or the session was loaded
            without asking and has changed; or an append without fence and claim writes a key of the
            session's own state that others have given another value since `session` was loaded.
          IdempotencyKeyReusedError: another request waits under the key of the claim.
          SessionNotFoundError: the session does not exist.
        """
        ...

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the state with which the session was created, without keys of other scopes.

        Raises:
          SessionNotFoundError: the session does not exist.
        """
        ...

    async def journal(self, place: Place, invocation_id: str) -> list[JournalRow]:
        """Return the rows of an invocation."""
        ...

    async def lease(self, place: Place) -> Lease | None:
        """Return a session's lease, or None if it never had one."""
        ...

    async def renew(self, held: Sequence[tuple[Place, Fence]], seconds: float) -> Sequence[Renewal]:
        """Prolong leases."""
        ...

    async def release(
        self,
        place: Place,
        fence: Fence,
        *,
        keep_rows: bool = False,
        wait: bool = True,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Release a lease and delete its invocation's rows; do nothing if it was lost.

        Args:
          keep_rows: keep them, because the invocation has paused and will be resumed.
          wait: until it is committed. Otherwise a store that commits in a thread of its own may
            return before: it commits with what comes next, `flush` waits for it, and the end of
            the event loop does not lose it.
          on_error: called, in any thread, if a release that was not waited for fails.
        """
        ...

    async def park(self, place: Place, fence: Fence, reason: str) -> None:
        """Release a lease and mark its invocation as stuck: no process resumes it by itself."""
        ...

    async def hand_over(self, place: Place, fence: Fence, *, failed: bool = False) -> None:
        """End a lease whose invocation stays open, so that another owner resumes it at once;
        nothing if the lease was lost. The holder of this fence can write nothing more.

        Args:
          failed: the owner could not store its work, so its attempt counts; otherwise it does not.
        """
        ...

    async def request_cancel(self, place: Place, invocation_id: str | None = None) -> bool:
        """Ask the owner of a session to cancel its invocation; it hears of it when it renews.

        Args:
          invocation_id: only if it is this one.

        Returns:
          Whether an owner holds the session with such an invocation.
        """
        ...

    async def open_leases(
        self, app_name: str | None = None, *, stuck: bool = False, limit: int = 1000
    ) -> Sequence[Lease]:
        """Return leases with an invocation that was begun and not released, oldest first.

        Args:
          app_name: those of one app.
          stuck: those that are stuck instead.
        """
        ...

    async def put_message(
        self,
        place: Place,
        message: InboxMessage,
        seconds: float,
        answers: Sequence[CallAnswer] = (),
    ) -> bool:
        """Store a message at the end of a session's inbox; nothing where its id is there already,
        or where the invocation of its idempotency key has begun.

        Args:
          seconds: for how long its owner is believed to be alive without being renewed.
          answers: the calls that it answers, claimed in the same transaction.

        Returns:
          Whether it was stored.

        Raises:
          SessionNotFoundError: the session does not exist.
          IdempotencyKeyReusedError: its key was first used for another request. Nothing was
            written.
          CallAlreadyAnsweredError: another message has answered one of the calls. Nothing was
            written.
          StaleSessionError: a call has no row, and the session has newer events than its answer
            was checked against. Nothing was written: check the answer again.
        """
        ...

    async def messages(self, place: Place) -> Sequence[InboxMessage]:
        """Return the messages that wait in a session, first come first."""
        ...

    async def take_messages(
        self, app_name: str, owner: str, process: str, seconds: float, limit: int
    ) -> Sequence[tuple[Place, str]]:
        """Claim messages that no caller waits for any more: the first of each session that no
        invocation holds, longest waiting first.

        Two that ask at once are given different messages.

        Args:
          app_name: the app.
          owner: who takes them.
          process: identity of that owner's process.
          seconds: for how long the owner is believed to be alive without being renewed.
          limit: how many at most.

        Returns:
          The sessions, each with the message's invocation id.
        """
        ...

    async def renew_messages(self, owner: str, seconds: float) -> None:
        """Prolong the belief that an owner's callers still wait for their messages."""
        ...

    async def leave_message(
        self, place: Place, invocation_id: str, *, keep: bool, owner: str | None = None
    ) -> None:
        """Note that a message's caller is gone.

        Args:
          keep: it stays, for the session's next owner; otherwise it is taken out, and the
            calls that it answered are open again, unless its invocation has begun.
          owner: change it only if this owner stored it; another owner may have stored the same
            message under the same idempotency key. None for any owner.
        """
        ...

    async def claim_answers(self, place: Place, answers: Sequence[CallAnswer]) -> None:
        """Claim calls for a message that waits in this process only.

        Raises:
          SessionNotFoundError: the session does not exist.
          CallAlreadyAnsweredError: another message has answered one of the calls. Nothing was
            written.
          StaleSessionError: a call has no row, and the session has newer events than its answer
            was checked against. Nothing was written: check the answer again.
        """
        ...

    async def release_answers(self, place: Place, message_id: str) -> None:
        """Open the calls again that a message had answered, unless its invocation has begun."""
        ...

    async def open_requests(
        self,
        app_name: str,
        user_id: str | None = None,
        *,
        limit: int = 100,
        after: int | None = None,
    ) -> OpenRequests:
        """Return a page of the requests of an app that have no answer, newest first.

        Args:
          app_name: the app.
          user_id: those of one user.
          limit: the size of the page.
          after: `next` of the page before; None for the first page.
        """
        ...

    async def waiting_places(
        self, app_name: str | None = None, *, limit: int = 1000
    ) -> Sequence[Place]:
        """Return the sessions whose inbox holds messages, longest waiting first."""
        ...
