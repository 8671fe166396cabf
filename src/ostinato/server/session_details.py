"""Details of sessions in a list: title, state, agents, tools and tokens, folded from their logs."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SessionNotFoundError
from ..sessions.base_session_service import BaseSessionService
from ..sessions.log.event_log import EventRecord
from ..sessions.session import Session
from ..sessions.store.durable_store import Place
from .place import load_records

_CACHED = 5000  # sessions
_MANY = 200  # events above which a thread folds them
_REQUEST = "adk_request_"  # begins the calls that the runtime itself writes
_CANCELLED = "RunCancelledError"  # a person stopped the run, which is no failure
_TITLE = 120  # characters of a first message


@dataclass(slots=True)
class ModelUsage:
    """Tokens that one model used in a session.

    Attributes:
      model: the model as it names itself, else that of the agent; empty if neither is known.
      prompt: tokens of the requests, cached ones included.
      cached: those that the provider had in its cache.
      output: tokens of the responses, thoughts included.
    """

    model: str
    prompt: int = 0
    cached: int = 0
    output: int = 0

    def add(self, prompt: int, cached: int, output: int) -> None:
        """Add the tokens of a response."""
        self.prompt += prompt
        self.cached += cached
        self.output += output


@dataclass(slots=True)
class SessionDetail:
    """What a list shows of a session's log.

    Attributes:
      first_message: the beginning of the user's first text.
      agents: the authors other than the user, in order of their first event.
      tools: the names of called tools, in order of their first call.
      events: the number of folded events.
      errors: the number of events with an error.
      failed: whether the newest turn ended with an error.
      usage: the tokens by model, and by author where a response names no model.
      last_id: the id of the last folded event.
    """

    first_message: str = ""
    agents: dict[str, None] = field(default_factory=dict[str, None])
    tools: dict[str, None] = field(default_factory=dict[str, None])
    events: int = 0
    errors: int = 0
    failed: bool = False
    usage: dict[tuple[str, str], ModelUsage] = field(
        default_factory=dict[tuple[str, str], ModelUsage]
    )
    last_id: str = ""

    def fold(self, records: Sequence[EventRecord]) -> None:
        """Add events that follow those folded before."""
        for record in records:
            self._add(record)
        if records:
            self.events += len(records)
            self.last_id = records[-1].id

    def _add(self, record: EventRecord) -> None:
        data = record.data
        if record.author == "user":
            text = _first_text(data) if '"text"' in data else ""
            self.first_message = self.first_message or text
            self.failed = self.failed and not text
        else:
            self.agents.setdefault(record.author)
        for _, name in record.calls:
            if not name.startswith(_REQUEST):
                self.tools.setdefault(name)
        error = _read_fields(data).get("errorCode") if '"errorCode"' in data else None
        if error and error != _CANCELLED:
            self.errors += 1
            self.failed = True
        if '"usageMetadata"' in data:
            self._add_usage(record.author, _read_fields(data))

    def list_usage(self, models: Mapping[str, str]) -> list[ModelUsage]:
        """Return the tokens by model.

        Args:
          models: the model names of agents, for responses that name none.
        """
        found: dict[str, ModelUsage] = {}
        for (model, author), one in self.usage.items():
            name = model or models.get(author, "")
            found.setdefault(name, ModelUsage(name)).add(one.prompt, one.cached, one.output)
        return list(found.values())

    def _add_usage(self, author: str, fields: dict[str, Any]) -> None:
        given = fields.get("usageMetadata")
        if not isinstance(given, dict):
            return
        counts: dict[str, Any] = {**given}  # pyright: ignore[reportUnknownArgumentType]
        model = str(fields.get("modelVersion") or "")
        made = counts.get("candidatesTokenCount") or 0, counts.get("thoughtsTokenCount") or 0
        self.usage.setdefault((model, "" if model else author), ModelUsage(model)).add(
            counts.get("promptTokenCount") or 0,
            counts.get("cachedContentTokenCount") or 0,
            sum(made),
        )


def _read_fields(data: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(data)
    except ValueError:  # loading the session raises the error
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _first_text(data: str) -> str:
    content = _read_fields(data).get("content")
    parts: Any = content.get("parts") if isinstance(content, dict) else None  # pyright: ignore
    texts = [part.get("text") for part in parts or () if isinstance(part, dict)]  # pyright: ignore
    words = " ".join(text for text in texts if isinstance(text, str)).split()  # pyright: ignore
    text = " ".join(words)
    return text if len(text) <= _TITLE else f"{text[: _TITLE - 1].rstrip()}…"


class SessionDetails:
    """A cache of details that reads only the events which are new since the last list.

    Args:
      service: the session service.
    """

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service
        self._known: OrderedDict[Place, tuple[float, SessionDetail]] = OrderedDict()
        self._folding = asyncio.Lock()  # two lists at once would count events twice

    def find_cached(self, session: Session) -> SessionDetail | None:
        """Return the details of a session of a list if they are up to date."""
        known = self._known.get(place_of(session))
        return known[1] if known is not None and known[0] == session.last_update_time else None

    async def load(self, session: Session) -> SessionDetail:
        """Return the details of a session of a list; empty ones if it is deleted meanwhile."""
        async with self._folding:
            found = self.find_cached(session)
            return await self._fold_new(session) if found is None else found

    async def _fold_new(self, session: Session) -> SessionDetail:
        place = place_of(session)
        try:
            first, records = await load_records(self._service, place)
        except SessionNotFoundError:
            return SessionDetail()
        _, known = self._known.get(place, (0.0, SessionDetail()))
        start = known.events - first + 1
        same = known.events and 0 < start <= len(records) and records[start - 1].id == known.last_id
        detail = known if same else SessionDetail()
        new = records[start:] if same else records
        if len(new) < _MANY:
            detail.fold(new)
        else:
            await asyncio.to_thread(detail.fold, list(new))
        self._known[place] = (session.last_update_time, detail)
        self._known.move_to_end(place)
        if len(self._known) > _CACHED:
            self._known.popitem(last=False)
        return detail


def place_of(session: Session) -> Place:
    """Return where a session of a list is kept."""
    return Place(session.app_name, session.user_id, session.id)
