"""TaskQuery: which tasks a client lists, and a page of them. The handler asks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from ..._aclosing import Aclosing
from ...a2a.wire import Json
from ...errors import InputValidationError, SessionNotFoundError
from ...sessions._durable_store import Place
from ..conversation import packed, unpacked
from ..host import Host
from ..place import checked, numbered
from .tasks import place_of, stamp, task_of

_TOKEN = "tasks_"
_SCAN = 500  # tasks that are looked at for a page


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which tasks of an app.

    Attributes:
      size: so many at most.
      token: where the page before ended; empty for the first.
      context: those of one context; empty for all.
      state: those in one state; None for all.
      after: those whose status is not older, in seconds since 1970.
      artifacts: whether answers come with them.
    """

    size: int
    token: str = ""
    context: str = ""
    state: str | None = None
    after: float | None = None
    artifacts: bool = False

    async def page(self, host: Host, app: str) -> tuple[list[Json], str]:
        """Return a page of tasks, the newest contexts and tasks first, and the next page's token.

        A context that changes while its app's pages are read may stand on two of them; a page may
        be short, even empty, where few of many tasks fit.

        Raises:
          InputValidationError: a name breaks its rule, or the token is none of ours.
          SessionNotFoundError: there is no such context.
        """
        found: list[Json] = []
        last, seen = "", 0
        async with Aclosing(self._names(host, app)) as names:
            async for place, changed, invocation in names:
                if len(found) == self.size or seen == _SCAN:
                    return found, last
                seen += 1
                task = await task_of(host, place, invocation)
                if task is not None and self._fits(task):
                    found.append(task if self.artifacts else {**task, "artifacts": []})
                last = packed(_TOKEN, repr(changed), place.session_id, invocation)
        return found, ""

    def _fits(self, task: Json) -> bool:
        status = task["status"]
        if self.state is not None and status["state"] != self.state:
            return False
        return self.after is None or status["timestamp"] >= stamp(self.after)

    async def _names(self, host: Host, app: str) -> AsyncGenerator[tuple[Place, float, str], None]:
        """Yield the tasks behind the token: session, time of its last change, invocation."""
        changed, session, passed = self._from()
        for place, time in await self._places(host, app):
            if session and place.session_id != session and time > changed:
                continue
            try:
                _, records = await numbered(host.services.sessions, place)
            except SessionNotFoundError:
                if self.context:
                    raise
                continue  # it was deleted just now
            names = list(dict.fromkeys(one.invocation_id for one in reversed(records)))
            if place.session_id == session and passed in names:
                names = names[names.index(passed) + 1 :]
            for name in names:
                yield place, time, name

    def _from(self) -> tuple[float, str, str]:
        if not self.token:
            return 0.0, "", ""
        changed, session, passed = unpacked(_TOKEN, self.token, 3) or ("", "", "")
        try:
            return float(changed), session, passed
        except ValueError as error:
            raise InputValidationError("pageToken is none that was given here.") from error

    async def _places(self, host: Host, app: str) -> list[tuple[Place, float]]:
        """Return the contexts, the one changed last first."""
        if self.context:
            return [(checked(place_of(app, self.context)), 0.0)]
        found = (await host.services.sessions.list_sessions(app_name=app)).sessions
        return [
            (place, one.last_update_time)
            for one in found
            if (place := place_of(app, one.id)).user_id == one.user_id
        ]
