"""TaskQuery: the filter and the pages of a client's task list."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from ..._aclosing import Aclosing
from ...a2a.wire import Json
from ...errors import InputValidationError, SessionNotFoundError
from ...sessions.store.durable_store import Place
from ..client_conversations import pack_id, unpack_id
from ..host import Host
from ..place import check_place, iterate_sessions, load_records
from .tasks import format_time, load_task, place_of

_TOKEN = "tasks_"
_SCAN = 500  # tasks and other sessions that one page examines at most


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """A filter over the tasks of an app.

    Attributes:
      size: the page size.
      token: the token of the previous page; empty for the first page.
      context: the context of the tasks; empty for all.
      state: the state of the tasks; None for all.
      after: the time of the oldest status, in seconds since 1970.
      artifacts: whether the tasks include their answers.
    """

    size: int
    token: str = ""
    context: str = ""
    state: str | None = None
    after: float | None = None
    artifacts: bool = False

    async def load_page(self, host: Host, app: str) -> tuple[list[Json], str]:
        """Return a page of tasks, the newest contexts and tasks first, and the next page's token.

        The store is read page by page, and the token names the store's page to start with. A
        context that changes between two requests may appear on two pages; a page may be short,
        even empty, if few of many tasks match.

        Raises:
          InputValidationError: a name breaks its rule, or this server did not issue the token.
          SessionNotFoundError: the context does not exist.
        """
        found: list[Json] = []
        last, seen = "", 0
        async with Aclosing(self._iterate_tasks(host, app)) as names:
            async for place, changed, invocation, page in names:
                if seen == _SCAN or (invocation and len(found) == self.size):
                    return found, last
                seen += 1
                task = await load_task(host, place, invocation) if invocation else None
                if task is not None and self._is_match(task):
                    found.append(task if self.artifacts else {**task, "artifacts": []})
                last = pack_id(_TOKEN, repr(changed), place.session_id, invocation, page)
        return found, ""

    def _is_match(self, task: Json) -> bool:
        status = task["status"]
        if self.state is not None and status["state"] != self.state:
            return False
        return self.after is None or status["timestamp"] >= format_time(self.after)

    async def _iterate_tasks(
        self, host: Host, app: str
    ) -> AsyncGenerator[tuple[Place, float, str, str], None]:
        """Yield the sessions and tasks after the token: session, last change, invocation, page.

        The invocation of a session that is not a context is empty.
        """
        changed, session, passed, page = self._parse_token()
        async with Aclosing(self._iterate_sessions(host, app, page)) as places:
            async for place, time, of_page, is_context in places:
                if session and place.session_id != session and time > changed:
                    continue
                names = await self._list_invocations(host, place) if is_context else [""]
                if place.session_id == session and passed in names:
                    names = names[names.index(passed) + 1 :]
                for name in names:
                    yield place, time, name, of_page

    async def _list_invocations(self, host: Host, place: Place) -> list[str]:
        """Return the invocations of a context, newest first."""
        try:
            _, records = await load_records(host.services.sessions, place)
        except SessionNotFoundError:
            if self.context:
                raise
            return []  # it was deleted just now
        return list(dict.fromkeys(one.invocation_id for one in reversed(records)))

    def _parse_token(self) -> tuple[float, str, str, str]:
        if not self.token:
            return 0.0, "", "", ""
        names = unpack_id(_TOKEN, self.token, 4) or [""]
        try:
            return float(names[0]), names[1], names[2], names[3]
        except ValueError as error:
            raise InputValidationError("pageToken was not issued by this server.") from error

    async def _iterate_sessions(
        self, host: Host, app: str, page: str
    ) -> AsyncGenerator[tuple[Place, float, str, bool], None]:
        """Yield sessions, last changed first, and whether each is a context."""
        if self.context:
            yield check_place(place_of(app, self.context)), 0.0, "", True
            return
        sessions = iterate_sessions(host.services.sessions, app, page or None)
        async with Aclosing(sessions) as found:
            async for one, token in found:
                place = place_of(app, one.id)
                yield place, one.last_update_time, token or "", place.user_id == one.user_id
