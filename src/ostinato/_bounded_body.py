"""Reading of HTTP answers whose length the other side chooses."""

from __future__ import annotations

from typing import Any


async def read_body(response: Any, most: int) -> bytes:
    """Return the body of a streamed answer of httpx2; more than `most` bytes if it is longer.

    What follows the piece that exceeds the bound is not read. The bound counts bytes after
    decompression.
    """
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > most:
            break
    return bytes(body)
