"""The WebSocket /run_live: receives LiveRequests and sends events as JSON, as in google-adk.

The close code and a reason that begins with an error type say how a conversation ended.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from .. import types
from .._aclosing import Aclosing
from .._log import get_logger
from ..context.live_request_queue import LiveRequest, LiveRequestQueue
from ..context.run_config import RunConfig
from ..errors import CallNotOpenError, InputValidationError, ToolAbortedError
from ..runners import Runner
from ..sessions.store.durable_store import Place
from .bodies import check_part_count, parse_json, validate_record
from .client_input import check_message
from .host import Host
from .place import check_place, ensure_session, session_not_found
from .problems import Problem, error_id, invalid_input, problem_of
from .security import SUBPROTOCOL
from .session_json import event_json

logger = get_logger(__name__)

ENDED = 1000
GOING_AWAY = 1001
NO_SESSION = 1002
NOT_TEXT = 1003
BAD_FRAME = 1007
REFUSED = 1008
FAILED = 1011
TRY_LATER = 1013

_CLOSE_SECONDS = 1.0  # that closing the socket may take
_REASON = 123  # bytes of a close frame's reason


class LiveQuery(BaseModel):
    """The query of /run_live.

    Attributes:
      app_name, user_id, session_id: the session.
      modalities: the modalities of the answers; repeat the parameter for several.
      proactive_audio: the model may keep silent, or speak without a question.
      enable_affective_dialog: the model adapts its tone to the user's.
      enable_session_resumption: resume a broken connection to the model.
      save_live_blob: save the audio of both sides as files.
      explicit_vad_signal: not supported.
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

    def read_place(self) -> Place:
        """Return the session of the query.

        Raises:
          InputValidationError: a name is not valid.
        """
        return check_place(Place(self.app_name, self.user_id, self.session_id))

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
    """Run a live conversation over a socket."""
    host: Host = socket.app.state.host
    try:
        query = _read_query(socket)
        place = query.read_place()
    except Exception as error:  # boundary: every error refuses the handshake
        await _close_socket(socket, error)
        return
    offered = socket.scope.get("subprotocols", ())
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
    try:
        app = await host.agents.get_app(place.app_name)
        create = host.settings.auto_create_session
        if not await ensure_session(host.services.sessions, place, create=create):
            raise session_not_found()
        talk = LiveConversation(socket, host, place)
        task = host.runs.start_conversation(
            place, talk.run_until_end(app.runner, query.run_config())
        )
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            await asyncio.wait({task})
        await _close_socket(socket, _Draining() if task.cancelled() else task.exception())
    except Exception as error:  # boundary: every error becomes a close code
        await _close_socket(socket, error)


def _read_query(socket: WebSocket) -> LiveQuery:
    query = socket.query_params
    values: dict[str, object] = dict(query)
    if "modalities" in query:
        values["modalities"] = query.getlist("modalities")
    found = validate_record(LiveQuery, values, "query")
    if found.explicit_vad_signal:
        raise invalid_input("explicit_vad_signal is not supported.")
    return found


class _Draining(Exception):
    """The server is shutting down."""


class _BadFrame(Problem):
    """A frame that is not a valid request."""

    def __init__(self, code: int, kind: str, message: str) -> None:
        super().__init__(422, kind, message)
        self.code = code


class LiveConversation:
    """One conversation: a task that reads the socket, and a task that runs the agent."""

    def __init__(self, socket: WebSocket, host: Host, place: Place) -> None:
        self._socket = socket
        self._host = host
        self._place = place
        self._queue = LiveRequestQueue(host.settings.live_backlog)

    async def run_until_end(self, runner: Runner, config: RunConfig) -> None:
        """Run until the client or the agent ends the conversation.

        Raises:
          Problem: a frame is not valid, or the client reads no events.
          Exception: the run failed.
        """
        listening = asyncio.create_task(self._read_frames(), name="ostinato-live-listening")
        running = asyncio.create_task(
            self._send_events(runner, config), name="ostinato-live-running"
        )
        tasks = {listening, running}
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if running in ended and running.cancelled():
            raise ToolAbortedError("The run was cancelled by code of the agent.")
        for task in (listening, running):
            error = None if task.cancelled() else task.exception()
            if error is not None and not isinstance(error, WebSocketDisconnect):
                raise error

    async def _read_frames(self) -> None:
        """Pass the client's requests to the run; return when the client disconnects.

        Raises:
          Problem: a frame is not valid, or the run does not read requests in time.
        """
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                raise _BadFrame(
                    NOT_TEXT, "BinaryFrame", "Send frames as JSON text, with audio in base64."
                )
            request = _read_request(text, self._host.settings.max_parts)
            try:
                async with asyncio.timeout(self._host.settings.write_timeout):
                    await self._queue.put(request)  # a full queue delays reading of further frames
            except TimeoutError as error:
                raise Problem(
                    503, "Backlog", "The agent did not read the requests in time."
                ) from error

    async def _send_events(self, runner: Runner, config: RunConfig) -> None:
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
                    raise Problem(
                        408, "SlowReader", "The client did not read the events in time."
                    ) from error
                self._host.runs.notify_change(place)


def _read_request(text: str, max_parts: int) -> LiveRequest:
    """Parse the request of a frame.

    Raises:
      _BadFrame: the frame is not a valid request.
    """
    try:
        value = parse_json(text)
        if isinstance(value, dict):
            check_part_count(cast("dict[str, Any]", value).get("content"), max_parts)
        request = validate_record(LiveRequest, value, "frame")
        check_message(request.content)
        return request
    except InputValidationError as error:
        raise _BadFrame(BAD_FRAME, type(error).__name__, str(error)) from error
    except Problem as problem:
        raise _BadFrame(BAD_FRAME, problem.kind, problem.message) from problem


def _close_of(error: BaseException | None) -> tuple[int, str]:
    """Return the close code and the reason for the end of a conversation."""
    if error is None:
        return ENDED, ""
    if isinstance(error, _Draining):
        return GOING_AWAY, "Draining: this server is shutting down."
    problem = problem_of(error)
    if problem.status == 404 and not isinstance(error, CallNotOpenError):
        return NO_SESSION, problem.message
    reason = f"{problem.kind}: {problem.message}"
    if isinstance(error, _BadFrame):
        return error.code, reason
    if problem.status == 503:
        return TRY_LATER, reason
    return (REFUSED if problem.status < 500 else FAILED), reason


async def _close_socket(socket: WebSocket, error: BaseException | None) -> None:
    """Close the socket, unless the client has closed it."""
    code, reason = _close_of(error)
    if code == FAILED and error is not None:
        logger.error("A live run failed (error %s): %s", error_id(error), error, exc_info=error)
    if socket.client_state is WebSocketState.DISCONNECTED:
        return
    with suppress(WebSocketDisconnect, RuntimeError, TimeoutError):  # the client may be gone
        async with asyncio.timeout(_CLOSE_SECONDS):
            await socket.close(code, reason.encode()[:_REASON].decode(errors="ignore"))


def make_route(prefix: str) -> WebSocketRoute:
    """Return the route of the WebSocket."""
    return WebSocketRoute(f"{prefix}/run_live", run_live)
