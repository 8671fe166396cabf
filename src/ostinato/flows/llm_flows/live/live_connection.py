"""Connections to a live model: reopened when they break, with a sender that waits meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from .... import types
from ...._aclosing import Aclosing
from ...._log import get_logger
from ....context.invocation import InvocationContext
from ....errors import ModelConnectionError, ProviderError
from ....models.base_llm import BaseLlm
from ....models.base_llm_connection import BaseLlmConnection
from ....models.llm_request import LlmRequest
from ....models.llm_response import LlmResponse

logger = get_logger(__name__)

MAX_RECONNECTS = 5  # in a row, without a response between them
FIRST_PAUSE = 0.25  # seconds before the second reconnect; each later pause is twice as long


class LiveSender:
    """Sends over the current connection, or waits for the next one."""

    def __init__(self) -> None:
        self._connection: BaseLlmConnection | None = None
        self._up = asyncio.Event()

    @asynccontextmanager
    async def open(self, connection: BaseLlmConnection) -> AsyncGenerator[None]:
        """Send over a connection within the block."""
        self._connection = connection
        self._up.set()
        try:
            yield
        finally:
            self._connection = None
            self._up.clear()

    async def wait_until_open(self) -> None:
        """Wait until there is a connection."""
        await self._up.wait()

    async def send_content(self, content: types.Content) -> None:
        """Send a user message or function responses."""
        await self._send(lambda connection: connection.send_content(content))

    async def send_realtime(
        self, blob: types.Blob | types.ActivityStart | types.ActivityEnd
    ) -> None:
        """Send audio, an image, or the start or end of the user's activity."""
        await self._send(lambda connection: connection.send_realtime(blob))

    async def _send(self, send: Callable[[BaseLlmConnection], Awaitable[None]]) -> None:
        """Send; if the connection breaks, send again over the next one.

        The receiving side sees the break, too, and decides whether to reconnect.
        """
        while True:
            await self._up.wait()
            connection = self._connection
            assert connection is not None
            try:
                await send(connection)
                return
            except ModelConnectionError:
                if self._connection is connection:
                    self._up.clear()  # so that no other sender tries it


class LiveLink:
    """Opens connections: the first with the history, later ones with the session's handle.

    Args:
      ctx: the run; it keeps the handle.
      model: the model.
      llm_request: settings, tools and history.
      sender: sends over the connections.
    """

    def __init__(
        self, ctx: InvocationContext, model: BaseLlm, llm_request: LlmRequest, sender: LiveSender
    ) -> None:
        self._ctx = ctx
        self._model = model
        self._llm_request = llm_request
        self._sender = sender
        self._failed = 0
        self._in_turn = False

    async def receive_responses(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield the model's responses, reconnecting if necessary.

        Raises:
          ProviderError: a connection broke or could not be opened, and there is no session to
            resume or it was resumed too often.
        """
        while True:
            try:
                async with self._model.connect(self._update_settings()) as connection:
                    contents = self._llm_request.contents
                    try:
                        if self._handle is None and contents:
                            await connection.send_history(contents)
                        async with (
                            self._sender.open(connection),
                            Aclosing(self._receive_responses(connection)) as responses,
                        ):
                            async for response in responses:
                                yield response
                    finally:  # the context of a user's connection may leave this to its caller
                        await connection.close()
                error = self._make_closed_error()
            except ProviderError as broken:
                error = broken
            self._failed += 1
            if self._handle is None or not error.retryable or self._failed > MAX_RECONNECTS:
                raise error
            logger.info("The live connection ended; reconnecting: %s", error)
            if self._failed > 1:
                await asyncio.sleep(FIRST_PAUSE * 2 ** (self._failed - 2))

    @property
    def _handle(self) -> str | None:
        return self._ctx.live_session_resumption_handle

    def _update_settings(self) -> LlmRequest:
        """Return the request with the newest handle."""
        config = self._llm_request.live_connect_config
        if self._handle is not None or config.session_resumption is not None:
            known = config.session_resumption or types.SessionResumptionConfig()
            # A copy, so that the run's own settings do not change.
            config.session_resumption = known.model_copy(update={"handle": self._handle})
        return self._llm_request

    async def _receive_responses(
        self, connection: BaseLlmConnection
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the responses of one connection, until it ends or the server asks to leave it."""
        leaving = silent = False
        while not silent:
            silent = True
            async with Aclosing(connection.receive()) as responses:
                async for response in responses:
                    silent = False
                    self._note_session(response)
                    leaving |= response.go_away is not None
                    yield response
                    if leaving and not self._in_turn and self._handle is not None:
                        return

    def _note_session(self, response: LlmResponse) -> None:
        """Update the session handle and the turn from a response."""
        update = response.live_session_resumption_update
        if update is not None:
            if update.resumable and update.new_handle:
                self._ctx.live_session_resumption_handle = update.new_handle
        elif response.turn_complete or response.interrupted:
            self._in_turn, self._failed = False, 0
        elif response.go_away is None:
            self._in_turn, self._failed = True, 0

    def _make_closed_error(self) -> ProviderError:
        return ModelConnectionError(
            f"The live connection of agent {self._ctx.agent.name!r} to model "
            f"{self._model.model!r} was closed. Call run_live again, which sends the history "
            "first, or set RunConfig(session_resumption=SessionResumptionConfig()) if the model "
            "can resume a session over a new connection.",
            model=self._model.model,
        )
