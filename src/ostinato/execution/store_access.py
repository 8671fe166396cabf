"""StoreAccess: the runner's access to a session service.

It uses `DurableStore` if the service implements it, else the public port.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from .._log import get_logger
from ..errors import (
    AgentConfigError,
    AlreadyExistsError,
    SessionNotFoundError,
    StaleSessionError,
    StoreError,
)
from ..events.event import Event
from ..events.pending import ENDED
from ..sessions.base_session_service import (
    HIDDEN_PREFIX,
    PORT_METHODS,
    BaseSessionService,
    GetSessionConfig,
    check_name,
    read_port,
)
from ..sessions.log.call_requests import is_node_failure, note_requests
from ..sessions.log.history import mark_imported
from ..sessions.log.resume import SEALED
from ..sessions.session import Session, log_of
from ..sessions.store.durable_store import LOCAL_FENCE, CallChanges

if TYPE_CHECKING:
    from ..sessions.store.durable_store import (
        Claim,
        DurableStore,
        Fence,
        JournalRow,
        Place,
    )

_LONGEST_PLAIN_ID = 200

_STALE_TRIES = 20  # how often answers are checked against a session that keeps changing

logger = get_logger(__name__)


def durable_store(service: BaseSessionService) -> DurableStore | None:
    """Return the service as a DurableStore, or None.

    None too if a subclass or a mock overrides a public method, which DurableStore would bypass.

    Raises:
      AgentConfigError: it is not a session service.
    """
    if isinstance(service, type) or not hasattr(service, "append_event"):
        raise AgentConfigError(
            f"session_service takes a BaseSessionService object; got {service!r:.80}. Give for "
            "instance InMemorySessionService()."
        )
    if not vars(service).keys().isdisjoint(PORT_METHODS):  # patched on the object
        return None
    for kind in type(service).__mro__:
        if "open_session" in vars(kind) and "append" in vars(kind):
            same = read_port(type(service)) == vars(kind).get("_defined_port")
            return cast("DurableStore", service) if same else None
    return None


async def import_events(
    service: BaseSessionService, session: Session, events: Sequence[Event]
) -> None:
    """Store imported events as the history of a new session, with answers that close their calls.

    A DurableStore takes them in one transaction, so that no call stays open.

    Args:
      service: the store of the session.
      session: the session, without events.
      events: the events, oldest first.

    Raises:
      InputValidationError: an event cannot be stored.
    """
    marked, durable = mark_imported(events), durable_store(service)
    if durable is None:
        for event in marked:
            await service.append_event(session, event)
    elif marked:
        await durable.append(session, marked)


async def withdraw_lost_requests(
    service: BaseSessionService, session: Session, call_ids: Iterable[str | None]
) -> None:
    """Withdraw requests whose events are deleted from the store, so that no answer can reach them.

    Args:
      service: the store of the session.
      session: the session.
      call_ids: the calls of answers that are refused. One whose event is stored stays.
    """
    log, durable = log_of(session), durable_store(service)
    lost = [one for one in call_ids if one and log.find_call(one) is None]
    if durable is not None and lost:
        await durable.append(session, (), changes=CallChanges(lost=lost))


async def store_checked_answers(
    store: Callable[[], Awaitable[object]], check: Callable[[], Awaitable[None]]
) -> None:
    """Store a message whose answers were checked; check again if the session changed since.

    Args:
      store: stores the message, and claims the calls that it answers.
      check: reloads the session and checks the answers.

    Raises:
      StaleSessionError: the session changed before each attempt.
    """
    for left in reversed(range(_STALE_TRIES)):
        try:
            await store()
            return
        except StaleSessionError:
            if not left:
                raise
        await check()


class StoreAccess:
    """Loads sessions for runs and commits their events.

    Attributes:
      service: the service.
      durable: the service as a DurableStore, or None.
    """

    def __init__(self, service: BaseSessionService) -> None:
        self.service = service
        self.durable = durable_store(service)
        self._port: tuple[Any, ...] = read_port(service)

    def notice_patches(self) -> None:
        """Detect methods that were patched or restored on the service or its class."""
        port = read_port(self.service)
        if port != self._port:
            self._port, self.durable = port, durable_store(self.service)

    async def load(
        self,
        place: Place,
        *,
        config: GetSessionConfig | None = None,
        create: bool = False,
        complete: bool = True,
        asks: bool = True,
    ) -> Session:
        """Load a session for a run; create a missing one if `create` is set.

        Without `complete`, summarized events may be left out; without `asks`, the session may come
        from a cache, and the claim of the first commit detects a stale one.

        Raises:
          SessionNotFoundError: it is missing, and `create` is not set.
          InputValidationError: its id is invalid.
        """
        session = await self._open_session(place, config, complete, asks)
        if session is None and create:
            # A service would replace an empty id by a new one that the caller does not know.
            check_name("session id", place.session_id)
            try:
                session = await self.service.create_session(**place._asdict())
            except AlreadyExistsError:  # another request created it
                session = await self._open_session(place, config, complete)
        if session is None:
            raise SessionNotFoundError(
                f"Session not found: {place.session_id} (app {place.app_name!r}, user "
                f"{place.user_id!r}). Create it "
                "with session_service.create_session, or give the Runner auto_create_session=True."
            )
        return session

    async def _open_session(
        self, place: Place, config: GetSessionConfig | None, complete: bool, asks: bool = True
    ) -> Session | None:
        names = place._asdict()
        if self.durable is not None:
            return await self.durable.open_session(
                **names, config=config, complete=complete, asks=asks
            )
        if config is None:
            return await self.service.get_session(**names)
        return await self.service.get_session(**names, config=config)

    async def commit(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
        changes: CallChanges | None = None,
    ) -> Fence | None:
        """Store events and rows, together where the store can; see `DurableStore.append`.

        Requests in the events, and calls that they close, are stored with them.
        """
        if self.durable is not None:
            for event in events:  # inlined: an ordinary turn should not pay for a call
                if (
                    event.long_running_tool_ids
                    or (event.author == "user" and event.node_info.path)
                    or (
                        event.custom_metadata is not None
                        and (SEALED in event.custom_metadata or ENDED in event.custom_metadata)
                    )
                    or (changes is not None and event.author == "user")
                    or (event.error_code is not None and is_node_failure(event))
                ):
                    if not session.id.startswith(HIDDEN_PREFIX):  # no caller answers there
                        changes = note_requests(changes, events, log_of(session))
                    break
            if fence is None and claim is None and not self.durable.shared:
                fence = LOCAL_FENCE
            return await self.durable.append(session, events, rows, fence, claim, changes)
        for event in events:
            await self.service.append_event(session=session, event=event)
        return None

    async def flush(self) -> None:
        """Wait for background commits of the store, such as released leases."""
        if self.durable is not None and self.durable.shared:
            with suppress(StoreError):  # it is closed, so nothing is pending
                await self.service.flush()

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the initial state of a session; empty if the service does not store it."""
        return {} if self.durable is None else await self.durable.initial_state(session)

    def hidden_id(self, parent: Session, call_id: str | None) -> str:
        """Return the id of the hidden session of a tool call's own run."""
        session_id = f"{HIDDEN_PREFIX}{parent.id}:{call_id}"
        if len(session_id) > _LONGEST_PLAIN_ID:
            session_id = HIDDEN_PREFIX + str(uuid.uuid5(uuid.NAMESPACE_URL, session_id))
        return session_id

    async def open_hidden(self, parent: Session, session_id: str) -> Session | None:
        """Return a hidden session, or None."""
        return await self.service.get_session(
            app_name=parent.app_name, user_id=parent.user_id, session_id=session_id
        )

    async def create_hidden(self, parent: Session, session_id: str, state: dict[str, Any]) -> None:
        """Create a hidden session.

        Raises:
          AlreadyExistsError: there is one.
        """
        await self.service.create_session(
            app_name=parent.app_name, user_id=parent.user_id, session_id=session_id, state=state
        )

    async def delete_hidden(self, parent: Session, session_id: str) -> None:
        """Delete a hidden session."""
        await self.service.delete_session(
            app_name=parent.app_name, user_id=parent.user_id, session_id=session_id
        )

    async def delete_hidden_of_answered(self, parent: Session, invocation_id: str) -> None:
        """Delete the hidden sessions of answered calls, whose owner died before it did so."""
        for record in log_of(parent).invocation(invocation_id):
            for call_id, _ in record.responses:
                session_id = self.hidden_id(parent, call_id)
                if await self.open_hidden(parent, session_id) is not None:
                    await self.delete_hidden(parent, session_id)
