"""MCPSessionManager: the connections of one toolset, one for each identity and event loop."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TextIO
from weakref import WeakKeyDictionary

from ..._log import get_logger
from ...errors import AgentConfigError
from .connection import McpConnection, Request, ServerCallbacks
from .connection_params import (
    ConnectionParams,
    InProcessConnectionParams,
    StdioConnectionParams,
    call_seconds,
    digest_address,
    make_connection_params,
    server_label,
)
from .errors import McpConnectionError
from .http_client import RequestTrace
from .sampling import LiveSampling

_log = get_logger(__name__)

IDLE_SECONDS = 900.0
MAX_CONNECTIONS = 100


class MCPSessionManager:
    """Keeps connections to one server and shares them.

    A connection belongs to an identity, not to a token: new headers are used by the connection that
    is there. It is closed after `idle_seconds` without requests, and the least recently used
    one makes room if there are `max_connections`; if all are busy, the caller waits for one within
    the time that connecting may take.

    Args:
      connection_params: how to reach the server.
      errlog: where a server on standard input and output writes its errors.
      sampling_callback: answers the server's requests for a model's text.
      sampling_capabilities: `mcp.types.SamplingCapability` that goes with it.
      callbacks: all that the server may ask for; replaces the two arguments before.
      answers_sampling: whether the agents' models answer the server's requests for text.
      max_connections: connections that may be open in one event loop.
      idle_seconds: after how long without requests a connection is closed.
    """

    def __init__(
        self,
        connection_params: Any,
        errlog: TextIO | None = None,
        *,
        sampling_callback: Any = None,
        sampling_capabilities: Any = None,
        callbacks: ServerCallbacks | None = None,
        answers_sampling: bool = False,
        max_connections: int = MAX_CONNECTIONS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        if max_connections < 1 or idle_seconds <= 0:
            raise AgentConfigError(
                f"MCPSessionManager: max_connections is {max_connections} and idle_seconds is "
                f"{idle_seconds}, but both must be more than 0."
            )
        self.params: ConnectionParams = make_connection_params(connection_params)
        self._errlog = errlog
        self._callbacks = callbacks or ServerCallbacks(sampling_callback, sampling_capabilities)
        self.live_sampling = LiveSampling(server_label(self.params))
        if answers_sampling:
            self._callbacks = replace(self._callbacks, sampling=self.live_sampling.answer)
        self._max_connections = max_connections
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, McpConnection]] = (
            WeakKeyDictionary()
        )
        self._waiters: WeakKeyDictionary[asyncio.AbstractEventLoop, deque[asyncio.Future[None]]] = (
            WeakKeyDictionary()
        )

    @property
    def label(self) -> str:
        """The server's name for messages."""
        return server_label(self.params)

    @property
    def address(self) -> str:
        """What tells the server apart from others with the same label; empty if nothing does."""
        return digest_address(self.params)

    @property
    def call_seconds(self) -> float | None:
        """How long a call may take without an answer or progress, or None."""
        return call_seconds(self.params)

    @property
    def is_shared(self) -> bool:
        """Whether all users share one connection: a process has no headers."""
        return isinstance(self.params, StdioConnectionParams | InProcessConnectionParams)

    @property
    def answers_questions(self) -> bool:
        """Whether the program answers a server's questions to the user itself."""
        return self._callbacks.elicitation is not None

    async def connect(
        self, identity: str = "", headers: Mapping[str, str] | None = None
    ) -> McpConnection:
        """Return the open connection of an identity; only connecting is tried here.

        Args:
          identity: whose connection it is; "" for all users together.
          headers: the newest headers of that identity.

        Raises:
          McpConnectionError: the server cannot be reached.
        """
        with self._lock:  # other threads may have event loops of their own
            pool = self._pools.setdefault(asyncio.get_running_loop(), {})
        connection = pool.get(identity)
        if connection is None or not connection.is_open:
            await self._make_room(pool)
            connection = pool.get(identity)
        if connection is None or not connection.is_open:
            connection = pool[identity] = self._open_connection(pool, identity, headers)
        connection.headers = dict(headers or {})
        await connection.wait_ready()
        return connection

    async def create_session(self, headers: Mapping[str, str] | None = None) -> McpSession:
        """Return a session with the methods of the SDK's ClientSession.

        Args:
          headers: sent with each of its requests; sessions with other headers use another
            connection.

        Raises:
          McpConnectionError: the server cannot be reached.
        """
        text = json.dumps(dict(headers or {}), sort_keys=True)
        shared = self.is_shared or not headers
        identity = "" if shared else hashlib.sha256(text.encode()).hexdigest()
        connection = await self.connect(identity, headers)
        return McpSession(connection, RequestTrace(headers), self.call_seconds)

    async def close(self, *, ends_calls: bool = True) -> None:
        """Close the connections of this event loop; those of others end with their loops.

        Args:
          ends_calls: whether requests under way fail. If not, a connection that has some takes no
            more and ends after them: they may be those of another Runner.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            pool = self._pools.pop(loop, {})
            others = [*self._pools.items()]
        for other, connections in others:
            if not other.is_running() and not other.is_closed():
                for connection in [*connections.values()]:
                    _log.warning(
                        "MCP server %s: a connection stays open, because its event loop does not "
                        "run. Close the toolset in the event loop that used it.",
                        connection.label,
                    )
        waits: list[Awaitable[None]] = []
        for connection in [*pool.values()]:
            if ends_calls or connection.is_idle:
                waits.append(connection.close())
            else:
                connection.retire("it was closed")
        await asyncio.gather(*waits)

    def _open_connection(
        self, pool: dict[str, McpConnection], identity: str, headers: Mapping[str, str] | None
    ) -> McpConnection:
        def forget(ended: McpConnection) -> None:
            if pool.get(identity) is ended:
                del pool[identity]
            self._wake_next()

        connection = McpConnection(
            self.params,
            self._callbacks,
            errlog=self._errlog or sys.stderr,
            idle_seconds=self._idle_seconds,
            on_end=forget,
            on_idle=self._wake_next,
        )
        connection.headers = dict(headers or {})
        return connection

    async def _make_room(self, pool: dict[str, McpConnection]) -> None:
        """Close the least recently used idle connection if there are as many as there may be.

        Raises:
          McpConnectionError: all of them stay busy for as long as connecting may take.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.params.timeout
        while len(pool) >= self._max_connections:
            idle = [entry for entry in pool.items() if entry[1].is_idle]
            if idle:
                identity, oldest = min(idle, key=lambda entry: entry[1].used_at)
                del pool[identity]
                await oldest.close()
            elif not await self._wait_idle(deadline - loop.time()):
                raise McpConnectionError(
                    f"MCP server {self.label}: all {self._max_connections} connections have been "
                    f"busy for {self.params.timeout:g} s. Try again later, or allow more: "
                    "McpToolset(max_connections=...)."
                )

    async def _wait_idle(self, seconds: float) -> bool:
        """Return whether a connection of this event loop becomes idle or ends in time."""
        loop = asyncio.get_running_loop()
        with self._lock:
            waiters = self._waiters.setdefault(loop, deque())
        woken: asyncio.Future[None] = loop.create_future()
        waiters.append(woken)
        try:
            done, _ = await asyncio.wait([woken], timeout=max(seconds, 0))
        finally:
            if woken in waiters:
                waiters.remove(woken)
        return bool(done)

    def _wake_next(self) -> None:
        waiters = self._waiters.get(asyncio.get_running_loop())
        if waiters:
            waiters.popleft().set_result(None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_errlog": None, "_pools": None, "_waiters": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _pools=WeakKeyDictionary(), _waiters=WeakKeyDictionary())
        self._lock = threading.Lock()


class McpSession:
    """The SDK's session as callers outside of the owner task may use it.

    Each method of `mcp.ClientSession` that is a coroutine is there under its name.

    Args:
      connection: the connection.
      trace: the caller's headers.
      seconds: how long a request may take without an answer or progress, or None.
    """

    def __init__(
        self, connection: McpConnection, trace: RequestTrace, seconds: float | None
    ) -> None:
        self._connection = connection
        self._trace = trace
        self._seconds = seconds

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def send(*args: Any, **kwargs: Any) -> Any:
            def work(session: Any, request: Request) -> Awaitable[Any]:
                return getattr(session, name)(*args, **kwargs)

            return await self._connection.run(work, self._trace, self._seconds)

        return send
