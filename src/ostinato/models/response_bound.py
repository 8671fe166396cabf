"""Bounds the size of a provider's answer. Adapters hang `bound_response` into their HTTP client.

The hook, not a transport of our own, so that proxies from the environment go on working.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

from ..errors import ModelAnswerError

#: Bytes of one answer on the wire.
MAX_RESPONSE_BYTES = 100 * 1024 * 1024


async def bound_response(response: Any) -> None:
    """Let reading a response of httpx or httpx2 fail once it is larger than the limit.

    For `event_hooks={"response": [bound_response]}` of an AsyncClient.

    Raises:
      ModelAnswerError: its length says at once that it is too large.
    """
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_RESPONSE_BYTES:
        await response.aclose()
        raise _too_large()
    stream = response.stream
    # The providers' SDKs use one of two libraries with the same classes.
    library = sys.modules[type(response).__module__.partition(".")[0]]

    class Bounded(library.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > MAX_RESPONSE_BYTES:
                    raise _too_large()
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Bounded()


def _too_large() -> ModelAnswerError:
    return ModelAnswerError(
        f"the answer is larger than {MAX_RESPONSE_BYTES // (1024 * 1024)} MB", retryable=False
    )
