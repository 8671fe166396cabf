"""A2A's tasks: invocations of sessions, read from the event log. There is no task store."""

from __future__ import annotations

from datetime import UTC, datetime

from ... import types
from ...a2a.wire import Json, parts_json
from ...events.event import Event
from ...events.pending import Pending
from ...execution.stream_items import Closed, Opened, Said, Shown, StreamItem, StreamItems
from ...sessions.store.durable_store import Place
from ..client_conversations import pack_id, question_of, unpack_id
from ..host import Host
from ..place import load_records
from ..problems import public_message, public_name
from ..runs import read_run_status

TERMINAL = frozenset(
    {"TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "TASK_STATE_FAILED", "TASK_STATE_REJECTED"}
)
WORKING = "TASK_STATE_WORKING"
INPUT, AUTH = "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"

_ID = "task_"
_USER = "A2A_USER_"  # as in google-adk's server: each context has a user of its own


def place_of(app: str, context: str) -> Place:
    """Return the session of a context."""
    return Place(app, _USER + context, context)


def task_id(place: Place, invocation: str) -> str:
    """Return the task id of an invocation."""
    return pack_id(_ID, place.session_id, invocation)


def invocation_of(app: str, task: str) -> tuple[Place, str] | None:
    """Return the session and the invocation of a task id, or None if the id is not valid."""
    names = unpack_id(_ID, task, 2)
    return None if names is None else (place_of(app, names[0]), names[1])


def format_time(seconds: float) -> str:
    """Return a time in the protocol's format."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


class Artifacts:
    """Converts the answers of an invocation to numbered artifacts, whole or in chunks."""

    def __init__(self, place: Place, invocation: str) -> None:
        self._ids = {"taskId": task_id(place, invocation), "contextId": place.session_id}
        self._open: dict[str, tuple[str, bool]] = {}
        self._count = 0
        self.pieces = StreamItems()

    def take_event(self, event: Event) -> list[Json]:
        """Return the artifact updates of an event."""
        return [
            update
            for piece in self.pieces.of(event)
            for update in self._convert_piece(piece, event)
        ]

    def _convert_piece(self, piece: StreamItem, event: Event) -> list[Json]:
        author = event.author
        match piece:
            case Opened(message, _, False):
                self._open[message] = (self._next_id(), False)
            case Said(message, text, False) if event.partial:
                artifact, begun = self._open[message]
                self._open[message] = (artifact, True)
                return [self._make_update(artifact, author, [{"text": text}], append=begun)]
            case Closed(message, text, False):  # the whole text replaces its chunks
                artifact, _ = self._open.pop(message)
                return [self._make_update(artifact, author, [{"text": text}], last=True)]
            case Shown(part, _):
                return [self._make_update(self._next_id(), author, parts_json([part]), last=True)]
            case _:
                pass
        return []

    def _next_id(self) -> str:
        self._count += 1
        return f"answer-{self._count}"

    def _make_update(
        self,
        artifact: str,
        author: str,
        parts: list[Json],
        *,
        append: bool = False,
        last: bool = False,
    ) -> Json:
        artifact_json = {"artifactId": artifact, "name": author, "parts": parts}
        return {**self._ids, "artifact": artifact_json, "append": append, "lastChunk": last}

    def list_artifacts(self, events: list[Event]) -> list[Json]:
        """Return the complete artifacts of stored events."""
        updates = [one for event in events for one in self.take_event(event)]
        return [one["artifact"] for one in updates if one["lastChunk"]]


async def load_task(
    host: Host,
    place: Place,
    invocation: str,
    *,
    running: bool | None = None,
    answered: list[Event] | None = None,
) -> Json | None:
    """Return an invocation as a task, or None if the session has no such invocation.

    Args:
      host: the server's host.
      place: the session.
      invocation: the invocation.
      running: whether it runs; None looks it up.
      answered: the events of its answers; None for all stored ones.
    """
    events = await _load_events(host, place, invocation)
    if not events:
        return None
    if running is None:
        status = await read_run_status(host, place)
        running = status.state in ("running", "left") and status.invocation_id == invocation
    artifacts = Artifacts(place, invocation)
    if answered is None:
        answered = [one for one in events if one.author != "user"]
    answers = artifacts.list_artifacts(answered)
    ids = {"taskId": task_id(place, invocation), "contextId": place.session_id}
    history = [
        {**ids, "messageId": one.id, "role": "ROLE_USER", "parts": parts_json(one.content.parts)}
        for one in events
        if one.author == "user" and one.content is not None
    ]
    pending = [] if running else await load_pending(host, place, invocation)
    status = status_of(artifacts.pieces, pending, events[-1], ids, running=running)
    return {
        "id": ids["taskId"],
        "contextId": ids["contextId"],
        "status": status,
        "artifacts": answers,
        "history": [one for one in history if one["parts"]],
    }


async def _load_events(host: Host, place: Place, invocation: str) -> list[Event]:
    """Return the stored events of an invocation.

    Raises:
      SessionNotFoundError: there is no such session.
    """
    _, records = await load_records(host.services.sessions, place)
    return [one.event() for one in records if one.invocation_id == invocation]


async def load_pending(host: Host, place: Place, invocation: str) -> list[Pending]:
    """Return the calls of an invocation that wait for an external answer."""
    found = await host.waiting.load_calls(place)
    return [one.pending for one in found if one.event.invocation_id == invocation]


def status_of(
    pieces: StreamItems, pending: list[Pending], last: Event, ids: Json, *, running: bool
) -> Json:
    """Return the status of a task from its stream items, its open calls and its last event."""
    found: Json = {"timestamp": format_time(last.timestamp)}
    if running:
        return {**found, "state": WORKING}
    if pending:
        state = AUTH if all(one.kind == "credential" for one in pending) else INPUT
        return {**found, "state": state, "message": _question_message(pending, last, ids)}
    if pieces.failure is None:
        # A cancelled run leaves no event of its own; the final answer is just missing.
        ended = last.author != "user" and last.is_final_response()
        return {**found, "state": "TASK_STATE_COMPLETED" if ended else "TASK_STATE_CANCELED"}
    code, text = pieces.failure
    state = "TASK_STATE_REJECTED" if pieces.refused else "TASK_STATE_FAILED"
    parts = [{"text": public_message(code, text, last.invocation_id) or public_name(code)}]
    message = {**ids, "messageId": f"{last.id}-status", "role": "ROLE_AGENT", "parts": parts}
    return {**found, "state": state, "message": message}


def _question_message(pending: list[Pending], last: Event, ids: Json) -> Json:
    """Return the message that asks for the open calls' answers: as text and as the calls."""
    parts: list[Json] = []
    for one in pending:
        words = question_of(one) or f"{one.tool} needs an answer ({one.kind})."
        parts.append({"text": words})
        parts += parts_json([types.Part(function_call=one.call)], [one.call.id or ""])
    return {**ids, "messageId": f"{last.id}-asks", "role": "ROLE_AGENT", "parts": parts}
