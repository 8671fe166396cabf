"""One connection to an MCP server, owned by one task.

The owner opens the transport, runs every request in a task below it, and closes the transport.
Callers hand their requests over by a queue and wait for a future, so no caller enters or leaves a
cancel scope of the connection.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO, cast

from ..._log import get_logger
from ..._optional import need
from ..._secret_values import redact_values, secrets_of_headers
from ...version import __version__
from .connection_params import (
    EXTRA,
    ConnectionParams,
    InProcessConnectionParams,
    StdioConnectionParams,
    server_label,
)
from .elicitation import cancel_live_question
from .errors import McpConnectionError
from .http_client import TRACE, RequestTrace
from .list_pages import ListPages
from .sdk_logs import REDACT, redact_sdk_logs
from .server_lists import ServerLists
from .stray_output import note_stray_line, report_stray_output
from .transports import open_transport

_log = get_logger(__name__)

CLOSE_SECONDS = 10.0
# Of an error of pydantic: the input, shortened, so that a secret in it is not recognised.
_INPUT = re.compile(r", input_value=.{0,200}?(?=, input_type=)", re.DOTALL)
Work = Callable[[Any, "Request"], Awaitable[Any]]


@dataclass(frozen=True)
class ServerCallbacks:
    """What a server may ask its client for; the SDK's signatures.

    Attributes:
      sampling: answers `sampling/createMessage`, or None.
      sampling_capabilities: `mcp.types.SamplingCapability` that goes with it, or None.
      elicitation: answers `elicitation/create`, or None.
      roots: answers `roots/list`, or None.
      logging: receives log messages, or None.
      log_level: the least severe level to receive, or None.
    """

    sampling: Any = None
    sampling_capabilities: Any = None
    elicitation: Any = None
    roots: Any = None
    logging: Any = None
    log_level: Any = None


class Request:
    """A caller's request on its way through the owner task.

    Args:
      work: sends the request; takes the SDK's session and this request.
      trace: the caller's headers.
      seconds: how long it may take without an answer or progress, or None.
    """

    __slots__ = ("_context", "_has_timed_out", "_scope", "_seconds", "_work", "future", "headers")

    def __init__(self, work: Work, trace: RequestTrace, seconds: float | None) -> None:
        self._work = work
        self.headers = trace.headers
        self._seconds = seconds
        self._scope: Any = None
        self._has_timed_out = False
        self._context = contextvars.copy_context()
        self._context.run(TRACE.set, trace)
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def redact_logs(self, redact: Callable[[str], str]) -> None:
        """Redact what the SDK logs about the request."""
        self._context.run(REDACT.set, redact)

    def start(self, group: Any, session: Any) -> None:
        """Start the request in the owner's task group, in the caller's context."""
        self._context.run(group.start_soon, self._run, session)

    def cancel(self) -> None:
        """Stop the request; the server is told."""
        if self._scope is not None:
            self._scope.cancel()

    def extend(self) -> None:
        """Begin the time limit anew."""
        if self._scope is not None and self._seconds is not None:
            self._scope.deadline = self._deadline()

    def _deadline(self) -> float:
        if self._seconds is None:
            return math.inf
        return asyncio.get_running_loop().time() + self._seconds

    async def _run(self, session: Any) -> None:
        try:
            with need("anyio", extra=EXTRA).CancelScope(deadline=self._deadline()) as scope:
                self._scope = scope
                if self.future.done():
                    return  # the caller was cancelled in the queue
                result = await self._work(session, self)
                if not self.future.done():
                    self.future.set_result(result)
            if scope.cancelled_caught:
                self.fail(TimeoutError())
        except Exception as error:  # boundary: the caller gets it, the connection stays
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Hand the caller an error, unless the request has ended."""
        if not self.future.done():
            self.future.set_exception(error)


class McpConnection:
    """A connection to one server, for one identity, in one event loop.

    Args:
      params: its parameters.
      callbacks: what the server may ask for.
      errlog: where a server on standard input and output writes its errors.
      idle_seconds: after how long without requests it closes itself.
      on_end: called once it has ended.
      on_idle: called whenever its last request under way has ended.

    Attributes:
      label: the server's name for messages.
      headers: headers for requests without a caller, such as the handshake: the newest ones.
      lists: the server's tools, resources and prompts.
      client: the SDK's client, once connected.
    """

    def __init__(
        self,
        params: ConnectionParams,
        callbacks: ServerCallbacks,
        *,
        errlog: TextIO | None,
        idle_seconds: float,
        on_end: Callable[[McpConnection], None],
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self.label = server_label(params)
        self.headers: Mapping[str, str] = {}
        hears_all = isinstance(params, StdioConnectionParams | InProcessConnectionParams)
        self.lists = ServerLists(self.label, hears_all=hears_all)
        self.client: Any = None
        self._params = params
        self._callbacks = callbacks
        self._errlog = errlog
        self._idle_seconds = idle_seconds
        self._on_end = on_end
        self._on_idle = on_idle
        self._loop = asyncio.get_running_loop()
        self._anyio = need("anyio", extra=EXTRA)
        self._queue: asyncio.Queue[Request | None] = asyncio.Queue()  # None: no more requests
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._handshake = RequestTrace()
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._scope: Any = None
        self._lost = ""
        self._in_flight = 0
        self._used_at = self._loop.time()
        self._is_closing = False
        self._is_broken = False
        self._is_probing = False  # what fails now is tried again with the older handshake
        self._has_ended = False
        self._requests: set[Request] = set()
        # An empty context: the connection outlives the run that opens it.
        self._owner = self._loop.create_task(
            self._own(), name=f"ostinato-mcp {self.label}", context=contextvars.Context()
        )

    @property
    def is_open(self) -> bool:
        """Whether the connection takes requests, or is about to."""
        return not self._is_closing and not self._lost and not self._owner.done()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self._in_flight == 0 and self._ready.done()

    @property
    def used_at(self) -> float:
        """When it was last used, by the event loop's clock."""
        return self._used_at

    async def wait_ready(self) -> None:
        """Wait until the connection is there.

        Raises:
          McpConnectionError: it failed; the message names the server and the reason.
        """
        if self._ready.done():
            self._ready.result()
            self._used_at = self._loop.time()
            return
        self._in_flight += 1
        try:
            await asyncio.shield(self._ready)
        finally:
            self._finish_use()

    async def run(self, work: Work, trace: RequestTrace, seconds: float | None) -> Any:
        """Run a request in the owner task and return its result.

        Args:
          work: sends the request; takes the SDK's session and the Request.
          trace: the caller's headers; gets what HTTP says about the request.
          seconds: how long it may take without an answer or progress, or None.

        Raises:
          McpConnectionError: the connection has ended.
          TimeoutError: the time is over.
          Exception: what `work` raises.
        """
        if not self.is_open:
            trace.never_sent = True
            raise McpConnectionError(f"MCP server {self.label}: {self._lost or 'closed'}.")
        request = Request(work, trace, seconds)
        request.redact_logs(lambda text: self.redact(text, trace.headers))

        def fail(reason: str) -> None:
            error = need("mcp", extra=EXTRA).MCPError
            request.fail(error(need("mcp.types", extra=EXTRA).INTERNAL_ERROR, reason))
            request.cancel()
            if trace.status is None:  # the server is not there any more
                self._lose(reason)

        trace.on_fault = fail
        self._in_flight += 1
        self._requests.add(request)
        try:
            self._queue.put_nowait(request)
            return await request.future
        except asyncio.CancelledError:
            request.cancel()
            raise
        finally:
            self._requests.discard(request)
            self._finish_use()

    async def close(self) -> None:
        """End the connection and what it started; requests under way fail."""
        self._is_closing = True
        self._queue.put_nowait(None)
        if self._scope is not None and not self._ready.done():
            self._scope.cancel()
        await self.wait_end(2 * CLOSE_SECONDS)

    async def wait_end(self, seconds: float | None = None) -> None:
        """Wait until the connection has ended and what it started is gone.

        Args:
          seconds: how long to wait at most, or None.
        """
        await asyncio.wait([self._owner], timeout=seconds)

    def retire(self, reason: str) -> None:
        """Take no more requests; the next caller gets another connection.

        Args:
          reason: what the server said, for messages.
        """
        self._lose(reason)

    def redact(self, text: str, headers: Mapping[str, str] | None = None) -> str:
        """Return what a server said, without the secrets that it was sent.

        Args:
          text: the server's text, such as an error that repeats the request.
          headers: the caller's headers.
        """
        return redact_values(_INPUT.sub("", text), self.list_secrets(headers))

    def list_secrets(self, headers: Mapping[str, str] | None = None) -> list[str]:
        """Return the secrets that the server was sent.

        Args:
          headers: the caller's headers.
        """
        own: Any = getattr(self._params, "headers", None) or {}
        found = secrets_of_headers({name: str(value) for name, value in own.items()})
        for sent in (self.headers, headers or {}):  # those of callers, whatever their names are
            found += secrets_of_headers(sent, is_all=True)
        return found

    def _redact_for_all(self, text: str) -> str:
        """Return what a server said, without the secrets of any request under way."""
        secrets = self.list_secrets()
        for request in self._requests:
            secrets += secrets_of_headers(request.headers, is_all=True)
        return redact_values(_INPUT.sub("", text), secrets)

    def _finish_use(self) -> None:
        self._in_flight -= 1
        self._used_at = self._loop.time()
        if self.is_idle:
            self._on_idle()

    def _note_end(self) -> None:
        self._has_ended = True
        if not self._is_probing or self._ready.done():
            self._lose("the server has ended the connection")

    def _note_long_line(self, reason: str) -> None:
        _log.warning("MCP server %s: %s. The connection ends.", self.label, reason)
        self._break(reason)
        if self._scope is not None and not self._ready.done():
            self._scope.cancel()

    def _break(self, reason: str) -> None:
        """Take no more requests; those under way fail."""
        self._is_broken = True
        self._lose(reason)

    def _lose(self, reason: str) -> None:
        """Take no more requests; the transport answers those under way."""
        if not self._lost and not self._is_closing:
            self._lost = self.redact(reason)
            self._queue.put_nowait(None)

    def _close_if_idle(self) -> None:
        if not self.is_open:
            return
        rest = self._used_at + self._idle_seconds - self._loop.time()
        if self._in_flight == 0 and rest <= 0:
            _log.debug("MCP server %s: closed after %g s.", self.label, self._idle_seconds)
            self._is_closing = True
            self._queue.put_nowait(None)
        else:
            self._loop.call_later(max(rest, 0.01), self._close_if_idle)

    async def _own(self) -> None:
        fault: BaseException | None = None
        TRACE.set(self._handshake)
        redact_sdk_logs(self.redact)
        if isinstance(self._params, StdioConnectionParams):
            report_stray_output()
        try:
            mode = "auto"
            if isinstance(self._params, StdioConnectionParams):
                mode = "legacy" if await self._probe_and_serve() else ""
            if mode and await self._connect_and_serve(mode):
                fault = TimeoutError()
        except Exception as error:  # boundary: the callers get the reason
            fault = error
        finally:
            self._end(fault)

    async def _probe_and_serve(self) -> bool:
        """Connect to a process by the newest handshake, serve until the end, and disconnect.

        Some servers of older protocols leave a request that they do not know unanswered, or end.

        Returns:
          Whether the older handshake is to be tried.

        Raises:
          Exception: connecting failed in another way, or serving did.
        """
        self._is_probing = True
        try:
            return await self._connect_and_serve("auto") and not self._is_broken
        except Exception:  # boundary: whatever it is, a server that ended gets another handshake
            if self._ready.done() or not self._has_ended:
                raise
            return True
        finally:
            self._is_probing = False

    async def _connect_and_serve(self, mode: str) -> bool:
        """Connect, serve until the end, and disconnect.

        Returns:
          Whether connecting took too long.
        """
        if self._is_closing:
            return False
        deadline = self._loop.time() + self._params.timeout
        with self._anyio.CancelScope(deadline=deadline) as scope:
            self._scope = scope
            async with self._make_client(mode) as client:
                scope.deadline = math.inf
                self.client = client
                self.lists.attach(client)
                self._loop.call_later(self._idle_seconds, self._close_if_idle)
                self._ready.set_result(None)
                try:
                    await self._serve(client)
                finally:
                    scope.deadline = self._loop.time() + CLOSE_SECONDS
        return not self._ready.done()

    async def _serve(self, client: Any) -> None:
        async with self._anyio.create_task_group() as background:
            background.start_soon(self.lists.follow_changes)
            async with self._anyio.create_task_group() as group:
                while (request := await self._queue.get()) is not None:
                    request.start(group, client.session)
                if self._is_closing or self._is_broken:
                    group.cancel_scope.cancel()
            background.cancel_scope.cancel()

    def _make_client(self, mode: str) -> Any:
        sdk = need("mcp", extra=EXTRA)
        callbacks = self._callbacks
        params = self._params
        if isinstance(params, InProcessConnectionParams):
            target, mode = params.server, params.mode
        else:
            target = open_transport(
                params,
                errlog=self._errlog,
                headers=lambda: self.headers,
                on_end=self._note_end,
                on_lost=self._break,
                on_long_line=self._note_long_line,
                pages=ListPages(self.label, self._find_version, self._redact_for_all),
            )
        return sdk.Client(
            target,
            mode=mode,
            cache=None,
            client_info=sdk.Implementation(name="ostinato", version=__version__),
            sampling_callback=callbacks.sampling,
            sampling_capabilities=callbacks.sampling_capabilities,
            elicitation_callback=callbacks.elicitation or cancel_live_question,
            list_roots_callback=callbacks.roots,
            logging_callback=callbacks.logging,
            log_level=callbacks.log_level,
            message_handler=self._handle_message,
        )

    def _find_version(self) -> str | None:
        return None if self.client is None else self.client.protocol_version

    async def _handle_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            note_stray_line(self.label, message)
            return
        self.lists.note_change(message.method)

    def _end(self, fault: BaseException | None) -> None:
        """Tell all who wait that the connection has ended."""
        if not self._ready.done():
            self._ready.set_exception(
                McpConnectionError(
                    f"MCP server {self.label} cannot be reached: {self._describe_fault(fault)}",
                    status=self._handshake.status,
                    challenge=self._handshake.challenge,
                )
            )
        elif fault is not None:
            _log.warning("MCP server %s: %s", self.label, self._describe_fault(fault))
        self._lost = self._lost or "the connection has ended"
        for request in self._requests:
            request.fail(McpConnectionError(f"MCP server {self.label}: {self._lost}."))
        self._on_end(self)

    def _describe_fault(self, fault: BaseException | None) -> str:
        error = find_first_error(fault)
        if self._handshake.status in (401, 403):
            return (
                f"it refuses the credentials (HTTP {self._handshake.status}). Check auth_scheme "
                "and auth_credential, or header_provider."
            )
        if self._is_broken:
            return f"{self._lost}."
        if isinstance(error, TimeoutError):
            return (
                f"no answer within {self._params.timeout:g} s. Check that it is a server of MCP, "
                "or give it more time: timeout=seconds in its connection parameters."
            )
        if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError):
            return (
                f"its command cannot be started ({type(error).__name__}). Check command and cwd "
                "of its server_params, and that the program is installed."
            )
        if error is None or self._lost:
            return f"{self._lost or 'the connection was closed'}."
        if type(error).__module__.startswith("httpx"):  # its text holds the whole address
            return f"{type(error).__name__}."
        return f"{self.redact(str(error))[:500] or type(error).__name__}."


def find_first_error(error: BaseException | None) -> BaseException | None:
    """Return the first error of a group and of the groups in it; any other error itself."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error
