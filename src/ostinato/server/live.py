"""The WebSocket /run_live: LiveRequests come in as JSON, events go out, as in google-adk's server.

Whatever ends a conversation is told by the close code and by a reason that begins with its type.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from .. import types
from .._aclosing import Aclosing
from .._log import get_logger
from ..context.live_request_queue import LiveRequest, LiveRequestQueue
from ..context.run_config import RunConfig
from ..runners import Runner
from ..sessions._durable_store import Place
from .bodies import json_value, validated
from .host import Host
from .place import checked, no_session, outline
from .problems import Problem, problem_of, public_text
from .security import SUBPROTOCOL
from .wire import event_json

logger = get_logger(__name__)

ENDED = 1000
GOING_AWAY = 1001
NO_SESSION = 1002
NOT_TEXT = 1003
BAD_FRAME = 1007
REFUSED = 1008
FAILED = 1011
TRY_LATER = 1013

_LAST_WORD = 1.0  # seconds that a client may take for the close
_REASON = 123  # bytes that a close frame has for its reason


class LiveQuery(BaseModel):
    """The query of /run_live.

    Attributes:
      app_name, user_id, session_id: the session.
      modalities: what the model answers with; repeated for several.
      proactive_audio: the model may keep silent, or speak unasked.
      enable_affective_dialog: the model fits its tone to the user's.
      enable_session_resumption: a broken connection to the model is gone on with.
      save_live_blob: keep the sound of both sides as files.
      explicit_vad_signal: not offered.
    """

    model_config = ConfigDict(extra="ignore")

    app_name: str
    user_id: str
    session_id: str
    modalities: list[Literal["TEXT", "AUDIO"]] = Field(default=["AUDIO"], min_length=1)
    proactive_audio: bool | None = None
    enable_affective_dialog: bool | None = None
    enable_session_resumption: bool | None = None
    save_live_blob: bool = False
    explicit_vad_signal: bool | None = None

    def place(self) -> Place:
        """Return the session.

        Raises:
          InputValidationError: a name breaks its rule.
        """
        return checked(Place(self.app_name, self.user_id, self.session_id))

    def run_config(self) -> RunConfig:
        """Return the settings of the run."""
        proactive = self.proactive_audio
        return RunConfig(
            response_modalities=[*self.modalities],
            proactivity=None
            if proactive is None
            else types.ProactivityConfig(proactive_audio=proactive),
            enable_affective_dialog=self.enable_affective_dialog,
            session_resumption=types.SessionResumptionConfig(transparent=True)
            if self.enable_session_resumption
            else None,
            save_live_blob=self.save_live_blob,
        )


async def run_live(socket: WebSocket) -> None:
    """Hold a live conversation over a socket."""
    host: Host = socket.app.state.host
    try:
        query = _query_of(socket)
        place = query.place()
    except Exception as error:  # boundary: a handshake is refused, never left without an answer
        await _close(socket, error)
        return
    offered = socket.scope.get("subprotocols", ())
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
    try:
        app = await host.agents.get(place.app_name)
        if await outline(host.services.sessions, place) is None:
            raise no_session(place)
        talk = Talk(socket, host, place)
        task = host.runs.hold(place, talk.hold(app.runner, query.run_config()))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            await asyncio.wait({task})
        await _close(socket, _Going() if task.cancelled() else task.exception())
    except Exception as error:  # boundary: whatever it was, the client is told by a close code
        await _close(socket, error)


def _query_of(socket: WebSocket) -> LiveQuery:
    query = socket.query_params
    values: dict[str, object] = dict(query)
    if "modalities" in query:
        values["modalities"] = query.getlist("modalities")
    found = validated(LiveQuery, values, "query")
    if found.explicit_vad_signal:
        raise Problem(400, "InputValidationError", "explicit_vad_signal is not offered.")
    return found


class _Going(Exception):
    """The server ends."""


class _Frame(Problem):
    """A frame that is no request."""

    def __init__(self, code: int, kind: str, message: str) -> None:
        super().__init__(422, kind, message)
        self.code = code


class Talk:
    """One conversation: a task that reads the socket, and one that runs the agent.

    Args:
      socket: the socket, accepted.
      host: what the server works with.
      place: the session.
    """

    def __init__(self, socket: WebSocket, host: Host, place: Place) -> None:
        self._socket = socket
        self._host = host
        self._place = place
        self._queue = LiveRequestQueue(host.settings.live_backlog)

    async def hold(self, runner: Runner, config: RunConfig) -> None:
        """Converse until one of the two sides ends it.

        Raises:
          Problem: a frame is no request, or the client takes no events.
          Exception: what ended the run.
        """
        listening = asyncio.create_task(self._listen(), name="ostinato-live-listening")
        running = asyncio.create_task(self._run(runner, config), name="ostinato-live-running")
        tasks = {listening, running}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in (listening, running):
            error = None if task.cancelled() else task.exception()
            if error is not None and not isinstance(error, WebSocketDisconnect):
                raise error

    async def _listen(self) -> None:
        """Hand on what the client says; return when it is gone.

        Raises:
          Problem: a frame is no request, or the run takes none.
        """
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                raise _Frame(NOT_TEXT, "BinaryFrame", "Frames are JSON text, sound in base64.")
            request = _request(text)
            try:
                async with asyncio.timeout(self._host.settings.write_timeout):
                    await self._queue.put(request)  # meanwhile the client's frames wait
            except TimeoutError as error:
                raise Problem(503, "Backlog", "What is sent is not taken in time.") from error

    async def _run(self, runner: Runner, config: RunConfig) -> None:
        place, seconds = self._place, self._host.settings.write_timeout
        events = runner.run_live(
            user_id=place.user_id,
            session_id=place.session_id,
            live_request_queue=self._queue,
            run_config=config,
        )
        async with Aclosing(events) as run:
            async for event in run:
                try:
                    async with asyncio.timeout(seconds):
                        await self._socket.send_text(event_json(event).decode())
                except TimeoutError as error:
                    raise Problem(408, "SlowReader", "Events were not taken in time.") from error
                self._host.runs.stir(place)


def _request(text: str) -> LiveRequest:
    """Return a frame's request.

    Raises:
      _Frame: it is none.
    """
    try:
        return validated(LiveRequest, json_value(text), "frame")
    except Problem as problem:
        raise _Frame(BAD_FRAME, problem.kind, problem.message) from problem


def _close_of(error: BaseException | None) -> tuple[int, str]:
    """Return the close code and the reason that tell how it ended."""
    if error is None:
        return ENDED, ""
    if isinstance(error, _Going):
        return GOING_AWAY, "Draining: this server ends."
    problem = problem_of(error)
    if problem.status == 404:
        return NO_SESSION, problem.message
    kind = type(error).__name__ if problem.status == 500 else problem.kind
    reason = f"{kind}: {problem.message or public_text(str(error))}"
    if isinstance(error, _Frame):
        return error.code, reason
    if problem.status == 503:
        return TRY_LATER, reason
    return (REFUSED if problem.status < 500 else FAILED), reason


async def _close(socket: WebSocket, error: BaseException | None) -> None:
    """Close the socket unless the client has."""
    code, reason = _close_of(error)
    if code == FAILED:
        logger.error("A live run failed: %s", error, exc_info=error)
    if socket.client_state is WebSocketState.DISCONNECTED:
        return
    with suppress(WebSocketDisconnect, RuntimeError, TimeoutError):  # it is gone in this moment
        async with asyncio.timeout(_LAST_WORD):
            await socket.close(code, reason.encode()[:_REASON].decode(errors="ignore"))


def route(prefix: str) -> WebSocketRoute:
    """Return the route to it."""
    return WebSocketRoute(f"{prefix}/run_live", run_live)
