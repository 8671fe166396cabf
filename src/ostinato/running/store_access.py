"""How the runner reaches a session service: a store of ours by its own door, any other by the
port.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from .._log import get_logger
from ..errors import AlreadyExistsError, SessionNotFoundError, StoreError
from ..events.event import Event
from ..sessions.base_session_service import (
    HIDDEN_PREFIX,
    BaseSessionService,
    GetSessionConfig,
    check_name,
)
from ..sessions.session import Session, log_of

if TYPE_CHECKING:
    from ..sessions._durable_store import Claim, DurableStore, Fence, JournalRow, Place

_LONGEST_PLAIN_ID = 200

logger = get_logger(__name__)


def durable_store(service: BaseSessionService) -> DurableStore | None:
    """Return the service as a store of ours; None for others, and for subclasses that override
    us.
    """
    for kind in type(service).__mro__:
        if "open_session" in vars(kind) and "append" in vars(kind):
            same = all(
                getattr(type(service), name) is getattr(kind, name)
                for name in ("append_event", "get_session")
            )
            return cast("DurableStore", service) if same else None
    return None


class StoreAccess:
    """Loads sessions for runs and commits their events.

    Attributes:
      durable: the service as a store of ours, or None.
    """

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service
        self.durable = durable_store(service)

    async def load(
        self,
        place: Place,
        *,
        config: GetSessionConfig | None = None,
        create: bool = False,
        complete: bool = True,
        asks: bool = True,
    ) -> Session:
        """Load a session for a run; create it where it is missing and `create` is set.

        Without `complete`, what was made into a summary may be left out; without `asks`, it may be
        out of date, which the first commit finds if it claims the session.

        Raises:
          SessionNotFoundError: it is missing otherwise.
          InputValidationError: it is to be created under an id that may not be one.
        """
        session = await self._open(place, config, complete, asks)
        if session is None and create:
            # A service would make up an id in place of an empty one, and nobody would know it.
            check_name("session id", place.session_id)
            try:
                session = await self._service.create_session(**place._asdict())
            except AlreadyExistsError:  # somebody was faster
                session = await self._open(place, config, complete)
        if session is None:
            raise SessionNotFoundError(
                f"Session not found: {place.session_id} (app {place.app_name!r}, user "
                f"{place.user_id!r}). Create it "
                "with session_service.create_session, or give the Runner auto_create_session=True."
            )
        return session

    async def _open(
        self, place: Place, config: GetSessionConfig | None, complete: bool, asks: bool = True
    ) -> Session | None:
        names = place._asdict()
        if self.durable is not None:
            return await self.durable.open_session(
                **names, config=config, complete=complete, asks=asks
            )
        if config is None:
            return await self._service.get_session(**names)
        return await self._service.get_session(**names, config=config)

    async def commit(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
    ) -> Fence | None:
        """Store events and rows, together where the store can; see `DurableStore.append`."""
        if self.durable is not None:
            return await self.durable.append(session, events, rows, fence, claim)
        for event in events:
            await self._service.append_event(session=session, event=event)
        return None

    async def release(self, place: Place, fence: Fence, *, keep_rows: bool) -> None:
        """Give a lease back; nobody waits for its commit but `flush`."""
        assert self.durable is not None
        try:
            await self.durable.release(place, fence, keep_rows=keep_rows, wait=False)
        except StoreError as error:
            logger.warning("A lease was not given back, it ends by itself: %s", error)

    async def hand_over(self, place: Place, fence: Fence) -> None:
        """End a lease whose invocation stays open."""
        assert self.durable is not None
        try:
            await self.durable.hand_over(place, fence)
        except StoreError as error:
            logger.warning("A lease was not handed over, it ends by itself: %s", error)

    async def flush(self) -> None:
        """Wait for what the store commits unwaited for, such as the release of leases."""
        if self.durable is not None and self.durable.shared:
            with suppress(StoreError):  # it has been closed, and has nothing left to do
                await self._service.flush()

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the state a session was created with; empty where the service does not keep it."""
        return {} if self.durable is None else await self.durable.initial_state(session)

    def hidden_id(self, parent: Session, call_id: str | None) -> str:
        """Return the id of the hidden session of a tool call's own run."""
        session_id = f"{HIDDEN_PREFIX}{parent.id}:{call_id}"
        if len(session_id) > _LONGEST_PLAIN_ID:
            session_id = HIDDEN_PREFIX + str(uuid.uuid5(uuid.NAMESPACE_URL, session_id))
        return session_id

    async def open_hidden(self, parent: Session, session_id: str) -> Session | None:
        """Return a hidden session; None where there is none."""
        return await self._service.get_session(
            app_name=parent.app_name, user_id=parent.user_id, session_id=session_id
        )

    async def create_hidden(self, parent: Session, session_id: str, state: dict[str, Any]) -> None:
        """Create a hidden session.

        Raises:
          AlreadyExistsError: there is one.
        """
        await self._service.create_session(
            app_name=parent.app_name, user_id=parent.user_id, session_id=session_id, state=state
        )

    async def delete_hidden(self, parent: Session, session_id: str) -> None:
        """Delete a hidden session."""
        await self._service.delete_session(
            app_name=parent.app_name, user_id=parent.user_id, session_id=session_id
        )

    async def delete_hidden_of_answered(self, parent: Session, invocation_id: str) -> None:
        """Delete the hidden sessions of calls that are answered: whoever answered them died before
        it came to that.
        """
        for record in log_of(parent).invocation(invocation_id):
            for call_id, _ in record.responses:
                session_id = self.hidden_id(parent, call_id)
                if await self.open_hidden(parent, session_id) is not None:
                    await self.delete_hidden(parent, session_id)
