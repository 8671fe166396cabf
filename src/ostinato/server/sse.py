"""SseResponse: a stream of server-sent events that notices when its reader is gone or too slow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .._aclosing import Aclosing
from .._log import get_logger

logger = get_logger(__name__)

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # proxies would hold it back
]
_HEARTBEAT = b": heartbeat\n\n"


def frame(data: bytes, number: int | None = None) -> bytes:
    """Return an event of the stream.

    Args:
      data: JSON, in one line.
      number: its number in the session's log, to go on from; None where it has none.
    """
    line = b"data: " + data + b"\n\n"
    return line if number is None else b"id: %d\n%b" % (number, line)


def end_frame(data: dict[str, Any] | None = None) -> bytes:
    """Return the mark that nothing more comes, so that an end is told from a broken connection.

    Args:
      data: what to tell with it. google-adk's clients take all data for events, so that its own
        stream ends without any.
    """
    if data is None:
        return b"event: end\n\n"
    return b"event: end\ndata: " + json.dumps(data).encode() + b"\n\n"


class SseResponse(Response):
    """Sends frames as they come; comments between them where there are none for a while.

    A reader that is gone, or takes nothing for long, ends the stream: the frames are closed.

    Args:
      frames: what to send.
      heartbeat: seconds of silence after which a comment is sent.
      write_timeout: seconds that the reader may take nothing.
    """

    def __init__(
        self, frames: AsyncGenerator[bytes, None], *, heartbeat: float, write_timeout: float
    ) -> None:
        super().__init__(media_type="text/event-stream")
        self._frames = frames
        self._heartbeat = heartbeat
        self._write_timeout = write_timeout
        self._sent = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send everything."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        tasks = {
            asyncio.create_task(self._pump(send)),
            asyncio.create_task(self._beat(send)),
            asyncio.create_task(_until_gone(receive)),
        }
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in done:
            error = None if task.cancelled() else task.exception()
            if isinstance(error, TimeoutError | OSError):
                logger.info("A reader of a stream took nothing for too long, or is gone.")
            elif error is not None:
                raise error

    async def _pump(self, send: Send) -> None:
        async with Aclosing(self._frames) as frames:
            async for one in frames:
                await self._send(send, one)
        await self._send(send, b"", more=False)

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        self._sent = asyncio.get_running_loop().time()
        async with asyncio.timeout(self._write_timeout):
            await send({"type": "http.response.body", "body": data, "more_body": more})

    async def _beat(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        self._sent = clock()
        while True:
            left = self._sent + self._heartbeat - clock()
            if left > 0:
                await asyncio.sleep(left)
            else:
                await self._send(send, _HEARTBEAT)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
