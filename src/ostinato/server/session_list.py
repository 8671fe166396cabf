"""The endpoint that lists and searches the sessions of an app."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ..errors import SessionNotFoundError
from ..execution.store_access import durable_store
from ..sessions.base_session_service import (
    HIDDEN_PREFIX,
    BaseSessionService,
    ListSessionsResponse,
)
from ..sessions.session import Session
from ..sessions.store.durable_store import Place
from ..sessions.store.session_search import TITLE_KEY, FoundSessions, SessionSearch, title_of
from .agents import ServedApp
from .app_graph import name_models
from .endpoint import Call, Endpoint
from .host import Host
from .names import LONGEST_QUERY, Id
from .place import list_page, load_outline, load_records
from .runs import StrictRecord, WireRecord
from .session_details import ModelUsage, SessionDetail, place_of
from .session_hits import SessionHit, find_hits

_SCAN = 1000  # sessions that one search reads, at most
_STATES = 1000  # open leases and requests that one list looks at
_SIZE = 50
_FILTERED = 20  # sessions that a filtered list reads at once
_SECONDS = 0.25  # for details and hits of one list; later ones are left out


class ListQuery(StrictRecord):
    """Which sessions, and what of them.

    Attributes:
      user_id: those of one user.
      search: those that hold these words; see `SessionSearch`.
      agent: those in which this agent wrote an event.
      tool: those in which this tool was called.
      state: those in this state; see `SessionSummary`. `error`: those with an error anywhere.
      since: those changed at this time or later, in seconds since 1970.
      until: those changed before this time.
      details: fill in the fields of `SessionSummary` that come from the log.
      hits: so many events with the words of `search` for each session.
      page_size: so many at most.
      page_token: where the page before ended.
    """

    user_id: Id | None = None
    search: str | None = Field(default=None, max_length=LONGEST_QUERY)
    agent: Id | None = None
    tool: Id | None = None
    state: Literal["running", "waiting", "failed", "stuck", "idle", "error"] | None = None
    since: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    until: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    details: bool = False
    hits: int = Field(default=0, ge=0, le=10)
    page_size: int = Field(default=_SIZE, ge=1, le=500)
    page_token: str | None = Field(default=None, max_length=2000)

    @property
    def is_filtered(self) -> bool:
        """Whether sessions are left out by what their logs and times say."""
        return any(
            one is not None for one in (self.agent, self.tool, self.state, self.since, self.until)
        )


class SessionSummary(WireRecord):
    """A session in a list. The fields after `last_update_time` come on request only.

    Attributes:
      title: what a person called it.
      last_update_time: seconds since 1970.
      first_message: the beginning of the user's first text.
      state: `running`; `waiting` for a person; `failed`, if its newest turn ended with an error;
        `stuck`, if no process resumes its run automatically; or `idle`.
      agents: who wrote in it besides the user.
      tools: which tools were called.
      event_count: the number of its events.
      error_count: those of them with an error.
      usage: tokens by model.
      hits: events that hold words of the search, those with most of them first.
    """

    id: str
    user_id: str
    title: str | None = None
    last_update_time: float
    first_message: str | None = None
    state: str | None = None
    agents: list[str] | None = None
    tools: list[str] | None = None
    event_count: int | None = None
    error_count: int | None = None
    usage: list[ModelUsage] | None = None
    hits: list[SessionHit] | None = None


class SessionPage(WireRecord):
    """A page of sessions, the one changed last first.

    Attributes:
      sessions: the sessions.
      next_page_token: where the next page begins; None if this is the last.
      complete: whether the search saw every event; false while the index catches up.
      unindexed: how many sessions have events that it did not see, counted up to 1,000.
      undetailed: how many sessions lack details because reading them took too long; the next
        request has more of them.
    """

    sessions: list[SessionSummary]
    next_page_token: str | None = None
    complete: bool = True
    unindexed: int = 0
    undetailed: int = 0


@dataclass(frozen=True, slots=True)
class SessionStates:
    """Which sessions of an app run, wait for a person, or are stuck."""

    running: Collection[Place]
    waiting: Collection[Place]
    stuck: Collection[Place]

    def state_of(self, place: Place, detail: SessionDetail | None) -> str:
        """Return `stuck`, `waiting`, `running`, `failed` or `idle`."""
        if place in self.stuck:
            return "stuck"
        if place in self.waiting:
            return "waiting"
        if place in self.running:
            return "running"
        return "failed" if detail is not None and detail.failed else "idle"


async def load_states(host: Host, app: str) -> SessionStates:
    """Load the states of an app's sessions with one query for each."""
    running = {place for place in host.runs.running_places() if place.app_name == app}
    durable = durable_store(host.services.sessions)
    if durable is None:
        return SessionStates(running, (), ())
    leases = await durable.open_leases(app, limit=_STATES)
    running |= {one.place for one in leases}
    stuck = {one.place for one in await durable.open_leases(app, stuck=True, limit=_STATES)}
    asked = await durable.open_requests(app, limit=_STATES)
    return SessionStates(running, {one.place for one in asked.requests}, stuck)


async def list_sessions(call: Call) -> SessionPage:
    """List or search the sessions of an app, page by page."""
    app = await call.host.agents.get_app(call.path["app"])
    query: ListQuery = call.query
    lister = _SessionLister(call.host, app, query)
    page = await (lister.read_filtered() if query.is_filtered else lister.read_plain())
    if not page.complete and isinstance(call.host.services.sessions, SessionSearch):
        call.host.indexer.start(call.host.services.sessions)
    return page


class _SessionLister:
    """Reads one page of a list.

    Args:
      host: the server's host.
      app: the app.
      query: what was asked for.
    """

    def __init__(self, host: Host, app: ServedApp, query: ListQuery) -> None:
        self._host = host
        self._app = app.name
        self._models = name_models(app)
        self._query = query
        self._end = time.monotonic() + _SECONDS
        self._undetailed = 0

    async def read_plain(self) -> SessionPage:
        """Read one page as the store has it."""
        query = self._query
        found = await self._read_sessions(query.page_size, query.page_token)
        states = await load_states(self._host, self._app) if query.details else None
        rows = [await self._summarize(one, states) for one in found.sessions]
        return self._make_page(rows, found)

    async def read_filtered(self) -> SessionPage:
        """Read pages and leave out sessions until the page is full or the time is over."""
        query, states = self._query, await load_states(self._host, self._app)
        places = getattr(states, query.state or "", None)
        if places is not None and len(places) <= query.page_size and not query.search:
            return await self._read_places(places, states)
        rows: list[SessionSummary] = []
        token = query.page_token
        while True:
            size = min(_FILTERED, query.page_size - len(rows))
            found = await self._read_sessions(size, token)
            for one in found.sessions:
                detail = await self._host.details.load(one)
                if self._is_wanted(one, detail, states):
                    rows.append(await self._summarize(one, states))
            token = found.next_page_token
            last = found.sessions[-1].last_update_time if found.sessions else None
            if query.since is not None and last is not None and last < query.since:
                found.next_page_token = token = None  # all others are older
            full = len(rows) >= query.page_size
            if token is None or full or time.monotonic() > self._end:
                return self._make_page(rows, found)

    async def _read_places(self, places: Collection[Place], states: SessionStates) -> SessionPage:
        """Read the few sessions that are in a state which the store knows; all on one page."""
        service, user = self._host.services.sessions, self._query.user_id
        wanted = [
            one
            for one in places
            if user in (None, one.user_id) and not one.session_id.startswith(HIDDEN_PREFIX)
        ]
        loaded = [await load_outline(service, one) for one in wanted]
        found = sorted(
            (one for one in loaded if one is not None),
            key=lambda one: one.last_update_time,
            reverse=True,
        )
        rows = [
            await self._summarize(one, states)
            for one in found
            if self._is_wanted(one, await self._host.details.load(one), states)
        ]
        return self._make_page(rows, ListSessionsResponse())

    def _make_page(self, rows: list[SessionSummary], found: ListSessionsResponse) -> SessionPage:
        page = SessionPage(
            sessions=rows, next_page_token=found.next_page_token, undetailed=self._undetailed
        )
        if isinstance(found, FoundSessions):
            page.complete, page.unindexed = found.complete, found.unindexed
        return page

    async def _read_sessions(self, size: int, token: str | None) -> ListSessionsResponse:
        """Read a page of the sessions, or of those with the words and the tool."""
        query, service = self._query, self._host.services.sessions
        words = query.search or ""
        if not isinstance(service, SessionSearch):
            if words:
                return await _scan_sessions(service, self._app, query, size, token)
            return await list_page(service, self._app, query.user_id, size, token)
        if not words and query.tool is None:
            return await list_page(service, self._app, query.user_id, size, token)
        # The name of a tool is among the words of the index, so the index finds its sessions.
        text = " ".join(one for one in (query.tool, words) if one)
        return await service.search_sessions(
            app_name=self._app,
            text=text,
            user_id=query.user_id,
            page_size=size,
            page_token=token,
        )

    def _is_wanted(self, session: Session, detail: SessionDetail, states: SessionStates) -> bool:
        query, updated = self._query, session.last_update_time
        if query.since is not None and updated < query.since:
            return False
        if query.until is not None and updated >= query.until:
            return False
        if query.agent is not None and query.agent not in detail.agents:
            return False
        if query.tool is not None and query.tool not in detail.tools:
            return False
        if query.state is None:
            return True
        if query.state == "error":
            return detail.errors > 0
        place = place_of(session)
        return states.state_of(place, detail) == query.state

    async def _summarize(self, session: Session, states: SessionStates | None) -> SessionSummary:
        summary = summarize_session(session)
        query, details = self._query, self._host.details
        in_time = time.monotonic() <= self._end
        place = place_of(session)
        if query.hits and query.search and in_time:
            summary.hits = await self._find_hits(place, query.search)
        if states is None or not query.details:
            return summary
        detail = await details.load(session) if in_time else details.find_cached(session)
        summary.state = states.state_of(place, detail)
        if detail is None:
            self._undetailed += 1
            return summary
        summary.first_message = detail.first_message or None
        summary.agents = list(detail.agents)
        summary.tools = list(detail.tools)
        summary.event_count = detail.events
        summary.error_count = detail.errors
        summary.usage = detail.list_usage(self._models)
        return summary

    async def _find_hits(self, place: Place, text: str) -> list[SessionHit]:
        try:
            first, records = await load_records(self._host.services.sessions, place)
        except SessionNotFoundError:  # deleted in the meantime
            return []
        return find_hits(records, first, text, self._query.hits)


async def _scan_sessions(
    service: BaseSessionService, app: str, query: ListQuery, size: int, token: str | None
) -> ListSessionsResponse:
    """Search the ids and titles of sessions in a service without an index."""
    wanted = (query.search or "").casefold()
    found: list[Session] = []
    seen = 0
    while len(found) < size and seen < _SCAN:
        part = await list_page(service, app, query.user_id, min(200, size), token)
        seen += len(part.sessions)
        token = part.next_page_token
        found += [one for one in part.sessions if _has_text(one, wanted)]
        if token is None:
            break
    return ListSessionsResponse(sessions=found, next_page_token=token)


def summarize_session(session: Session) -> SessionSummary:
    """Return what a list shows of a session without reading its log."""
    return SessionSummary(
        id=session.id,
        user_id=session.user_id,
        title=title_of(session.state.get(TITLE_KEY)),
        last_update_time=session.last_update_time,
    )


def _has_text(session: Session, text: str) -> bool:
    title = title_of(session.state.get(TITLE_KEY)) or ""
    return text in session.id.casefold() or text in title.casefold()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/apps/{app}/sessions",
        "List or search an app's sessions, page by page",
        list_sessions,
        query=ListQuery,
        answer=SessionPage,
    ),
)
