"""Broken characters of a server's JSON become U+FFFD: half of a character, such as a cut emoji,
and bytes that are not UTF-8. No JSON reader of the SDK takes them, so the whole answer would be
lost.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE = re.compile(rb"%s(?!%s)|(?<!%s)%s" % (_HIGH, _LOW, _HIGH, _LOW))
_ESCAPE = re.compile(rb"%s%s|(%s|%s)|\\." % (_HIGH, _LOW, _HIGH, _LOW), re.DOTALL)


def repair(body: bytes) -> bytes:
    """Return JSON with U+FFFD in place of each broken character.

    Args:
      body: JSON, or lines that hold it.
    """
    if not body.isascii():
        body = body.decode("utf-8", "replace").encode()
    has_half = rb"\ud" in body or rb"\uD" in body  # many times as fast as the pattern
    if not has_half or _LONE.search(body) is None:
        return body
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], body)


async def repair_lines(chunks: AsyncGenerator[bytes], longest: int) -> AsyncGenerator[bytes]:
    """Yield a body line by line without broken characters; a line that is too long as it comes.

    Args:
      chunks: the body.
      longest: the number of bytes after which a line is handed on unchanged.
    """
    pieces: list[bytes] = []
    size = 0
    async with aclosing(chunks):
        async for chunk in chunks:
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            if end:
                yield repair(b"".join([*pieces, chunk[:end]]))
                pieces.clear()
                size = 0
            elif size > longest:
                yield b"".join(pieces)
                pieces.clear()
                size = 0
            pieces.append(chunk[end:])
            size += len(chunk) - end
    yield repair(b"".join(pieces))
