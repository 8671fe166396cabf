"""Escapes of half a character in JSON, such as a cut emoji, become U+FFFD: no JSON reader of the
SDK takes them, and the whole answer would be lost."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE = re.compile(rb"%s(?!%s)|(?<!%s)%s" % (_HIGH, _LOW, _HIGH, _LOW))
_ESCAPE = re.compile(rb"%s%s|(%s|%s)|\\." % (_HIGH, _LOW, _HIGH, _LOW), re.DOTALL)


def replace_lone_surrogates(body: bytes) -> bytes:
    """Return JSON with U+FFFD in place of each escape that is half of a pair.

    Args:
      body: JSON, or lines that hold it.
    """
    has_half = rb"\ud" in body or rb"\uD" in body  # many times as fast as the pattern
    if not has_half or _LONE.search(body) is None:
        return body
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], body)


async def replace_in_lines(chunks: AsyncGenerator[bytes], longest: int) -> AsyncGenerator[bytes]:
    """Yield a body line by line without lone surrogates; a line that is too long as it comes.

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
                yield replace_lone_surrogates(b"".join([*pieces, chunk[:end]]))
                pieces.clear()
                size = 0
            elif size > longest:
                yield b"".join(pieces)
                pieces.clear()
                size = 0
            pieces.append(chunk[end:])
            size += len(chunk) - end
    yield replace_lone_surrogates(b"".join(pieces))
