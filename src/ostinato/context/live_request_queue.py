"""LiveRequestQueue: a caller's input to a live run.

It is public at `ostinato.agents.live_request_queue`.
"""

import asyncio
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from .. import types
from ..errors import InputValidationError, SessionBusyError
from ..types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ..types import ActivityEnd, ActivityStart
else:
    ActivityEnd = deferred_type("ActivityEnd")
    ActivityStart = deferred_type("ActivityStart")


class LiveRequest(BaseModel):
    """One message to a live run; one of the fields is set (Spec 1 §17).

    Attributes:
      content: a user message, or function responses.
      blob: a chunk of audio or video.
      activity_start: the user began to speak.
      activity_end: the user stopped speaking.
      close: end the run.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", defer_build=True)

    content: types.Content | None = None
    blob: types.Blob | None = None
    activity_start: ActivityStart | None = None
    activity_end: ActivityEnd | None = None
    close: bool = False


class LiveRequestQueue:
    """Queue of messages to a live run, in the order they were sent (Spec 1 §17).

    Its methods are for the event loop of the run; from another thread, call them through
    `loop.call_soon_threadsafe`.

    Args:
      max_size: how many messages may wait for the run; None for no limit. When the queue is full,
        `put` waits and the other methods raise SessionBusyError; `close` is always accepted.

    Attributes:
      closed: whether the run has received the request to end.

    Raises:
      InputValidationError: `max_size` is below 1.
    """

    def __init__(self, max_size: int | None = None) -> None:
        if max_size is not None and max_size < 1:
            raise InputValidationError(f"LiveRequestQueue: max_size {max_size} is below 1.")
        self._queue: asyncio.Queue[LiveRequest] = asyncio.Queue()
        self._max_size = max_size
        self._taken = asyncio.Event()
        self.closed = False

    def close(self) -> None:
        """Ask the run to end."""
        self._queue.put_nowait(LiveRequest(close=True))

    def send_content(self, content: types.Content) -> None:
        """Send a user message or function responses."""
        self.send(LiveRequest(content=content))

    def send_realtime(self, blob: types.Blob) -> None:
        """Send a chunk of audio or video."""
        self.send(LiveRequest(blob=blob))

    def send_activity_start(self) -> None:
        """Signal that the user started to speak."""
        self.send(LiveRequest(activity_start=types.ActivityStart()))

    def send_activity_end(self) -> None:
        """Signal that the user stopped speaking."""
        self.send(LiveRequest(activity_end=types.ActivityEnd()))

    def send(self, req: LiveRequest) -> None:
        """Send a ready-made request.

        Raises:
          SessionBusyError: `max_size` messages wait already.
        """
        if self._is_full() and not req.close:
            raise SessionBusyError(
                f"The live run has not taken the last {self._max_size} messages; "
                "wait with `await queue.put(...)`, or send less."
            )
        self._queue.put_nowait(req)

    async def put(self, req: LiveRequest) -> None:
        """Send a ready-made request, as soon as fewer than `max_size` messages wait."""
        while self._is_full() and not req.close:
            self._taken.clear()
            await self._taken.wait()
        self._queue.put_nowait(req)

    def _is_full(self) -> bool:
        return self._max_size is not None and self._queue.qsize() >= self._max_size

    async def get(self) -> LiveRequest:
        """Wait for the next request and return it."""
        request = await self._queue.get()
        self._taken.set()
        self.closed = self.closed or request.close
        return request
