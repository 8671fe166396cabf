"""Tasks: invocations of sessions as A2A's tasks, read from the log. No second store is kept."""

from __future__ import annotations

from datetime import UTC, datetime

from ... import types
from ...a2a.wire import Json, parts_json
from ...events.event import Event
from ...events.pending import Pending
from ...running.pieces import Closed, Opened, Piece, Pieces, Said, Shown
from ...sessions._durable_store import Place
from ..conversation import packed, unpacked
from ..host import Host
from ..place import numbered
from ..problems import public_text
from ..runs import run_status

TERMINAL = frozenset(
    {"TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "TASK_STATE_FAILED", "TASK_STATE_REJECTED"}
)
WORKING = "TASK_STATE_WORKING"
INPUT, AUTH = "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"

_ID = "task_"
_USER = "A2A_USER_"  # as google-adk's server has it: what is a user's is a context's


def place_of(app: str, context: str) -> Place:
    """Return the session of a context."""
    return Place(app, _USER + context, context)


def task_id(place: Place, invocation: str) -> str:
    """Return the id of an invocation as a task."""
    return packed(_ID, place.session_id, invocation)


def invocation_of(app: str, task: str) -> tuple[Place, str] | None:
    """Return the session and the invocation of a task; None where the id is none of ours."""
    names = unpacked(_ID, task, 2)
    return None if names is None else (place_of(app, names[0]), names[1])


def stamp(seconds: float) -> str:
    """Return a time as the protocol writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


class Artifacts:
    """Numbers the answers of an invocation, each an artifact, and tells them piece by piece.

    Args:
      place: the session.
      invocation: the invocation.
    """

    def __init__(self, place: Place, invocation: str) -> None:
        self._ids = {"taskId": task_id(place, invocation), "contextId": place.session_id}
        self._open: dict[str, tuple[str, bool]] = {}
        self._count = 0
        self.pieces = Pieces()

    def of(self, event: Event) -> list[Json]:
        """Return the updates that an event leads to."""
        return [told for piece in self.pieces.of(event) for told in self._told(piece, event)]

    def _told(self, piece: Piece, event: Event) -> list[Json]:
        author = event.author
        match piece:
            case Opened(message, _, False):
                self._open[message] = (self._next(), False)
            case Said(message, text, False) if event.partial:
                artifact, begun = self._open[message]
                self._open[message] = (artifact, True)
                return [self._update(artifact, author, [{"text": text}], append=begun)]
            case Closed(message, text, False):  # the whole takes the place of its parts
                artifact, _ = self._open.pop(message)
                return [self._update(artifact, author, [{"text": text}], last=True)]
            case Shown(part, _):
                return [self._update(self._next(), author, parts_json([part]), last=True)]
            case _:
                pass
        return []

    def _next(self) -> str:
        self._count += 1
        return f"answer-{self._count}"

    def _update(
        self,
        artifact: str,
        author: str,
        parts: list[Json],
        *,
        append: bool = False,
        last: bool = False,
    ) -> Json:
        told = {"artifactId": artifact, "name": author, "parts": parts}
        return {**self._ids, "artifact": told, "append": append, "lastChunk": last}

    def whole(self, events: list[Event]) -> list[Json]:
        """Return the artifacts of stored events."""
        told = [one for event in events for one in self.of(event)]
        return [one["artifact"] for one in told if one["lastChunk"]]


async def task_of(
    host: Host,
    place: Place,
    invocation: str,
    *,
    running: bool | None = None,
    answered: list[Event] | None = None,
) -> Json | None:
    """Return an invocation as a task; None where there is none.

    Args:
      host: the server's.
      place: the session.
      invocation: the invocation.
      running: whether it runs; looked up where None.
      answered: what it has answered; all that is stored where None.
    """
    events = await events_of(host, place, invocation)
    if not events:
        return None
    if running is None:
        status = await run_status(host, place)
        running = status.state in ("running", "left") and status.invocation_id == invocation
    artifacts = Artifacts(place, invocation)
    if answered is None:
        answered = [one for one in events if one.author != "user"]
    answers = artifacts.whole(answered)
    ids = {"taskId": task_id(place, invocation), "contextId": place.session_id}
    history = [
        {**ids, "messageId": one.id, "role": "ROLE_USER", "parts": parts_json(one.content.parts)}
        for one in events
        if one.author == "user" and one.content is not None
    ]
    pending = [] if running else await waiting_in(host, place, invocation)
    status = status_of(artifacts.pieces, pending, events[-1], ids, running=running)
    return {
        "id": ids["taskId"],
        "contextId": ids["contextId"],
        "status": status,
        "artifacts": answers,
        "history": [one for one in history if one["parts"]],
    }


async def events_of(host: Host, place: Place, invocation: str) -> list[Event]:
    """Return the stored events of an invocation.

    Raises:
      SessionNotFoundError: there is no such session.
    """
    _, records = await numbered(host.services.sessions, place)
    return [one.event() for one in records if one.invocation_id == invocation]


async def waiting_in(host: Host, place: Place, invocation: str) -> list[Pending]:
    """Return the calls of an invocation that wait for somebody outside."""
    found = await host.waiting.of(place)
    return [one.pending for one in found if one.event.invocation_id == invocation]


def status_of(
    pieces: Pieces, pending: list[Pending], last: Event, ids: Json, *, running: bool
) -> Json:
    """Return how a task stands.

    Args:
      pieces: has read its events.
      pending: its calls that wait.
      last: its last event.
      ids: names of task and context.
      running: whether it runs.
    """
    found: Json = {"timestamp": stamp(last.timestamp)}
    if running:
        return {**found, "state": WORKING}
    if pending:
        state = AUTH if all(one.kind == "credential" for one in pending) else INPUT
        return {**found, "state": state, "message": _asks(pending, last, ids)}
    if pieces.failure is None:
        # A run that was cancelled leaves no mark but that nobody has answered last.
        ended = last.author != "user" and last.is_final_response()
        return {**found, "state": "TASK_STATE_COMPLETED" if ended else "TASK_STATE_CANCELED"}
    code, text = pieces.failure
    state = "TASK_STATE_REJECTED" if pieces.refused else "TASK_STATE_FAILED"
    parts = [{"text": public_text(text) or code}]
    message = {**ids, "messageId": f"{last.id}-status", "role": "ROLE_AGENT", "parts": parts}
    return {**found, "state": state, "message": message}


def _asks(pending: list[Pending], last: Event, ids: Json) -> Json:
    """Return the message that tells what is waited for: in words, and as the calls themselves."""
    parts: list[Json] = []
    for one in pending:
        words = one.hint or f"{one.tool} needs an answer ({one.kind})."
        parts.append({"text": words})
        parts += parts_json([types.Part(function_call=one.call)], [one.call.id or ""])
    return {**ids, "messageId": f"{last.id}-asks", "role": "ROLE_AGENT", "parts": parts}
