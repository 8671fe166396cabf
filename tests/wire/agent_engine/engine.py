"""Agent Engine of Vertex AI in this process, as far as sessions and memories need it: the REST
resources over HTTP, with paging, long-running operations and faults on request. It refuses fields
that the documentation does not have, as the service does.

google-adk's own client spoke to it, too: `record_agent_engine.py` beside it wrote down what that
sends.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.wire.fake_server import Answer, FakeServer, Received

PAGE = 100
_ROUTE = re.compile(
    r"/v1beta1/(?P<engine>(?:projects/[^/]+/locations/[^/]+/)?reasoningEngines/[^/:]+)"
    r"/(?P<rest>.+)"
)
_EVENT_FIELDS = frozenset(
    "author content invocationId actions timestamp errorCode errorMessage eventMetadata "
    "rawEvent".split()
)
_ACTION_FIELDS = frozenset(
    "skipSummarization stateDelta artifactDelta transferAgent escalate requestedAuthConfigs".split()
)
_METADATA_FIELDS = frozenset(
    "groundingMetadata partial turnComplete interrupted longRunningToolIds branch customMetadata "
    "inputTranscription outputTranscription".split()
)
_SESSION_FIELDS = frozenset("userId sessionState displayName labels expireTime ttl".split())
_GENERATE_FIELDS = frozenset(
    "directContentsSource directMemoriesSource vertexSessionSource scope disableConsolidation "
    "disableMemoryRevisions metadata metadataMergeStrategy revisionExpireTime revisionLabels "
    "revisionTtl allowedTopics config".split()
)
_INGEST_FIELDS = frozenset(
    "directContentsSource scope streamId forceFlush generationTriggerConfig "
    "disableMemoryRevisions metadata metadataMergeStrategy revisionExpireTime revisionLabels "
    "revisionTtl".split()
)
_MEMORY_FIELDS = frozenset(
    "fact scope displayName description metadata ttl expireTime revisionExpireTime revisionTtl "
    "revisionLabels disableMemoryRevisions topics".split()
)


# Values of these fields are the caller's own JSON, or maps whose keys are.
_FREE = frozenset(
    "rawEvent customMetadata stateDelta args response sessionState metadata scope labels "
    "artifactDelta requestedAuthConfigs revisionLabels".split()
)


class Refused(Exception):
    """What the service answers with an error status."""

    def __init__(self, code: int, status: str, message: str) -> None:
        super().__init__(message)
        self.answer = Answer(
            {"error": {"code": code, "message": message, "status": status}}, status=code
        )


@dataclass
class AgentEngine:
    """The state of one engine, and what was asked of it.

    Attributes:
      polls: how often an operation is asked for before it is done.
      failing: what operations end with in place of a response; a code and a message of RPC.
      page: how many a page has at most, whatever is asked for.
      faults: answers to give in place of what is asked for, as pairs of a part of the path and the
        answer; each is given once.
      lost: the same for answers in place of those to what was done.
    """

    polls: int = 0
    failing: dict[str, Any] | None = None
    page: int = PAGE
    faults: list[tuple[str, Answer]] = field(default_factory=list[tuple[str, Answer]])
    lost: list[tuple[str, Answer]] = field(default_factory=list[tuple[str, Answer]])
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    memories: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ingested: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    asked: list[Received] = field(default_factory=list[Received])
    _operations: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    _ids: Any = field(default_factory=lambda: itertools.count(1))

    def answer(self, request: Received) -> Answer:
        """Answer a request as the service would, or with the next fault that is meant for it."""
        self.asked.append(request)
        fault = _taken(self.faults, request)
        if fault is not None:
            return fault
        try:
            answer = Answer(self._route(request))
        except Refused as refused:
            return refused.answer
        return _taken(self.lost, request) or answer

    def requests(self) -> list[dict[str, Any]]:
        """What was asked so far, as data: login, method, path, query and JSON, in which fields
        are named as the service names them and empty ones are left out.
        """
        return [
            {
                "login": one.headers.get("x-goog-api-key", one.headers.get("authorization")),
                "method": one.method,
                "path": unquote(urlsplit(one.path).path),
                "query": dict(parse_qsl(urlsplit(one.path).query)),
                "json": _camel(json.loads(one.body)) if one.body else None,
            }
            for one in self.asked
        ]

    def _route(self, request: Received) -> dict[str, Any]:
        url = urlsplit(request.path)
        found = _ROUTE.fullmatch(unquote(url.path))
        if found is None:
            raise Refused(404, "NOT_FOUND", f"no such resource: {url.path}")
        engine, rest = found["engine"], found["rest"]
        query = dict(parse_qsl(url.query))
        body: dict[str, Any] = _camel(request.json) if request.body else {}
        if "/operations/" in rest:
            return self._operation(f"{engine}/{rest}")
        if rest.startswith("memories"):
            return self._memories(request.method, engine, rest, body)
        return self._sessions(request.method, engine, rest, query, body)

    def _sessions(
        self, method: str, engine: str, rest: str, query: dict[str, str], body: dict[str, Any]
    ) -> dict[str, Any]:
        match (method, rest.split("/")):
            case ("POST", ["sessions"]):
                return self._create(engine, query.get("sessionId"), body)
            case ("GET", ["sessions"]):
                return self._list(query)
            case ("GET", ["sessions", name]):
                return self._session(name)
            case ("DELETE", ["sessions", name]):
                session = self._session(name)
                del self.sessions[name], self.events[name]
                return self._started(session["name"], {})
            case ("GET", ["sessions", name, "events"]):
                self._session(name)
                return self._list_events(name, query)
            case ("POST", ["sessions", call]) if call.endswith(":appendEvent"):
                return self._append(call.removesuffix(":appendEvent"), body)
            case _:
                raise Refused(404, "NOT_FOUND", f"no such method: {method} {rest}")

    def _create(self, engine: str, name: str | None, body: dict[str, Any]) -> dict[str, Any]:
        _known(body, _SESSION_FIELDS, "session")
        if not body.get("userId"):
            raise Refused(400, "INVALID_ARGUMENT", "user_id is required")
        name = name or str(7_000_000_000 + next(self._ids))
        if name in self.sessions:
            raise Refused(409, "ALREADY_EXISTS", f"Session {name} already exists.")
        now = _time(1_700_000_000 + next(self._ids))
        session = {
            "name": f"{_full(engine)}/sessions/{name}",
            "createTime": now,
            "updateTime": now,
            **body,
        }
        self.sessions[name], self.events[name] = session, []
        return self._started(session["name"], session)

    def _session(self, name: str) -> dict[str, Any]:
        if name not in self.sessions:
            raise Refused(404, "NOT_FOUND", f"Session {name} not found.")
        return self.sessions[name]

    def _list(self, query: dict[str, str]) -> dict[str, Any]:
        wanted = re.fullmatch(
            r'user_?[iI]d ?= ?("(?:[^"\\]|\\.)*"|\'[^\']*\')', query.get("filter", "")
        )
        if "filter" in query and wanted is None:
            raise Refused(400, "INVALID_ARGUMENT", f"bad filter: {query['filter']}")
        user = json.loads(wanted[1]) if wanted else None
        found = [one for one in self.sessions.values() if user in (None, one["userId"])]
        if query.get("orderBy") == "updateTime desc":
            found.sort(key=lambda one: one["updateTime"], reverse=True)
        return self._paged("sessions", found, query)

    def _list_events(self, name: str, query: dict[str, str]) -> dict[str, Any]:
        found = self.events[name]
        if "filter" in query:
            after = re.fullmatch(r'timestamp ?>= ?"([^"]+)"', query["filter"])
            if after is None:
                raise Refused(400, "INVALID_ARGUMENT", f"bad filter: {query['filter']}")
            found = [e for e in found if e["timestamp"] >= _normal(after[1])]
        found = sorted(found, key=lambda e: e["timestamp"])
        if query.get("orderBy") == "timestamp desc":
            found.reverse()
        return self._paged("sessionEvents", found, query)

    def _append(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        session = self._session(name)
        _known(body, _EVENT_FIELDS, "event")
        _known(body.get("actions", {}), _ACTION_FIELDS, "event.actions")
        _known(body.get("eventMetadata", {}), _METADATA_FIELDS, "event.event_metadata")
        for required in ("author", "invocationId", "timestamp"):
            if not body.get(required):
                raise Refused(400, "INVALID_ARGUMENT", f"{required} is required")
        stored = json.loads(json.dumps(body))
        stored["timestamp"] = _normal(stored["timestamp"])
        stored["name"] = f"{session['name']}/events/{8_000_000_000 + next(self._ids)}"
        self.events[name].append(stored)
        delta = stored.get("actions", {}).get("stateDelta")
        if delta:
            state = session.setdefault("sessionState", {})
            state.update(delta)
        session["updateTime"] = _time(1_700_000_000 + next(self._ids))
        return {}

    def _paged(self, key: str, found: list[dict[str, Any]], query: dict[str, str]) -> Any:
        size = min(int(query.get("pageSize", self.page)), self.page)
        start = int(query.get("pageToken", 0))
        page: dict[str, Any] = {key: found[start : start + size]} if found[start:] else {}
        if start + size < len(found):
            page["nextPageToken"] = str(start + size)
        return page

    def _memories(
        self, method: str, engine: str, rest: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        match (method, rest):
            case ("POST", "memories:generate"):
                _known(body, _GENERATE_FIELDS, "request")
                self.ingested.append({"by": "generate", **body})
                return self._started(f"{_full(engine)}/memories/1", {"generatedMemories": []})
            case ("POST", "memories:ingestEvents"):
                _known(body, _INGEST_FIELDS, "request")
                self.ingested.append({"by": "ingest", **body})
                return self._started(f"{_full(engine)}/memories/1", {})
            case ("POST", "memories"):
                _known(body, _MEMORY_FIELDS, "memory")
                now = _time(1_700_000_000 + next(self._ids))
                name = f"{_full(engine)}/memories/{next(self._ids)}"
                memory = {"name": name, "createTime": now, "updateTime": now, **body}
                self.memories.append(memory)
                return self._started(name, memory)
            case ("GET", _) if rest.startswith("memories/"):
                name = f"{_full(engine)}/{rest}"
                return next(one for one in self.memories if one["name"] == name)
            case ("POST", "memories:retrieve"):
                found = [
                    {"memory": one, "distance": 0.5}
                    for one in self.memories
                    if one["scope"] == body["scope"]
                ]
                size = str(body.get("similaritySearchParams", {}).get("topK") or self.page)
                asked = body.get("simpleRetrievalParams", {})
                return self._paged("retrievedMemories", found, {"pageSize": size, **asked})
            case _:
                raise Refused(404, "NOT_FOUND", f"no such method: {method} {rest}")

    def _started(self, resource: str, response: dict[str, Any]) -> dict[str, Any]:
        name = f"{resource}/operations/{next(self._ids)}"
        self._operations[name] = {"left": self.polls, "response": response}
        return self._seen(name)

    def _operation(self, name: str) -> dict[str, Any]:
        full = next((one for one in self._operations if one.endswith(name)), None)
        if full is None:
            raise Refused(404, "NOT_FOUND", f"no such operation: {name}")
        self._operations[full]["left"] -= 1
        return self._seen(full)

    def _seen(self, name: str) -> dict[str, Any]:
        operation = self._operations[name]
        if operation["left"] > 0:
            return {"name": name}
        if self.failing is not None:
            return {"name": name, "done": True, "error": self.failing}
        return {"name": name, "done": True, "response": operation["response"]}


@asynccontextmanager
async def served(engine: AgentEngine) -> AsyncIterator[str]:
    """Serve an engine on loopback for the length of an `async with` block; gives the address."""
    async with FakeServer(otherwise=engine.answer) as server:
        yield server.url


def _taken(faults: list[tuple[str, Answer]], request: Received) -> Answer | None:
    for fault in faults:
        if fault[0] in f"{request.method} {request.path}":
            faults.remove(fault)
            return fault[1]
    return None


def _known(body: dict[str, Any], fields: frozenset[str], where: str) -> None:
    unknown = sorted(body.keys() - fields)
    if unknown:
        raise Refused(
            400, "INVALID_ARGUMENT", f'Unknown name "{unknown[0]}" at "{where}": Cannot find field.'
        )


def _camel(value: Any) -> Any:
    """Return a message with its fields' names as the service gives them back; it takes both."""
    if isinstance(value, list):
        return [_camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub(r"(?<=.)_([a-z])", lambda m: m[1].upper(), k): v for k, v in value.items()}
    told = {k: v if k in _FREE else _camel(v) for k, v in named.items()}
    if isinstance(told.get("metadata"), dict):
        told["metadata"] = {k: _camel(v) for k, v in told["metadata"].items()}
    return {k: v for k, v in told.items() if v not in ({}, [], "", None)}


def _full(engine: str) -> str:
    """The name under which the service knows an engine that express mode names in short."""
    return engine if engine.startswith("projects/") else f"projects/1/locations/x/{engine}"


def _normal(text: str) -> str:
    """Return RFC 3339 text in UTC and to the nanosecond, so that texts compare as times do."""
    whole, dot, rest = text.partition(".")
    digits = re.match(r"\d*", rest)
    assert digits is not None
    moment = datetime.fromisoformat(whole + rest[digits.end() :] if dot else text)
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{digits[0].ljust(9, '0')}Z"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
