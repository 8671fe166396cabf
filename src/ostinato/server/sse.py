"""SseResponse: a stream of server-sent events that ends if its reader disconnects or is slow."""

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
    (b"x-accel-buffering", b"no"),  # otherwise proxies buffer the stream
]
_HEARTBEAT = b": heartbeat\n\n"


def encode_frame(data: bytes, number: int | None = None) -> bytes:
    """Return an event as a frame of a stream.

    Args:
      data: JSON, in one line.
      number: its number in the session's log, from which a client can resume, or None.
    """
    # The data first: clients written for google-adk look for frames that begin with it.
    line = b"data: " + data + b"\n"
    return line + (b"\n" if number is None else b"id: %d\n\n" % number)


# The end mark of google-adk's streams: its clients treat each line that begins with `data:` as an
# event. A field without a colon is empty, and browsers still dispatch an event that has it.
BARE_END = b"event: end\ndata\n\n"


def end_frame(data: dict[str, Any]) -> bytes:
    """Return the end mark of a stream, which tells clients that the connection did not break."""
    return b"event: end\ndata: " + json.dumps(data).encode() + b"\n\n"


class SseResponse(Response):
    """Sends frames as they come, and comments in times of silence.

    The stream ends and closes its frames if the reader disconnects or reads nothing for too long.

    Args:
      frames: the frames.
      heartbeat: seconds of silence after which a comment is sent.
      write_timeout: seconds for which the reader may read nothing.
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
        """Send the frames."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        tasks = {
            asyncio.create_task(self._send_frames(send)),
            asyncio.create_task(self._send_heartbeats(send)),
            asyncio.create_task(wait_for_disconnect(receive)),
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
                logger.info("The reader of a stream was too slow, or disconnected.")
            elif error is not None:
                raise error

    async def _send_frames(self, send: Send) -> None:
        async with Aclosing(self._frames) as frames:
            async for one in frames:
                await self._send_body(send, one)
        await self._send_body(send, b"", more=False)

    async def _send_body(self, send: Send, data: bytes, *, more: bool = True) -> None:
        self._sent = asyncio.get_running_loop().time()
        async with asyncio.timeout(self._write_timeout):
            await send({"type": "http.response.body", "body": data, "more_body": more})

    async def _send_heartbeats(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        self._sent = clock()
        while True:
            left = self._sent + self._heartbeat - clock()
            if left > 0:
                await asyncio.sleep(left)
            else:
                await self._send_body(send, _HEARTBEAT)


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects, once the request's body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass
