"""The text encoding of a stdio server's output, which hands over whole lines of a bounded length.

The SDK reads the output itself: it joins a line anew for every piece that arrives, without a
bound. The encoding of the output is what it lets its caller choose.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .http_client import MAX_ANSWER_BYTES

NAME = "ostinato_mcp_lines"


@dataclass(frozen=True)
class LineOptions:
    """How the output of a server is read.

    Attributes:
      encoding: the encoding of the texts.
      on_long_line: called once with the reason when a line is too long; the rest is discarded.
    """

    encoding: str
    on_long_line: Callable[[str], None]


OPTIONS: ContextVar[LineOptions] = ContextVar("ostinato_mcp_lines")
"""The options of the connection that the current task opens."""


class LineDecoder(codecs.IncrementalDecoder):
    """Decodes whole lines in linear time."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        options = OPTIONS.get()
        self._inner = codecs.getincrementaldecoder(options.encoding)(errors)
        self._on_long_line = options.on_long_line
        self._pieces: list[str] = []
        self._size = 0  # bytes of the pieces
        self._is_over = False

    def decode(self, input: Any, final: bool = False) -> str:
        """Return the lines that are complete by now, with their line breaks."""
        if self._is_over:
            return ""
        head, line_break, tail = self._inner.decode(input, final).rpartition("\n")
        self._size += len(input)
        lines = ""
        if line_break:
            lines = "".join([*self._pieces, head, line_break])
            self._pieces.clear()
            self._size = len(input.rpartition(b"\n")[2])
        self._pieces.append(tail)
        if self._size > MAX_ANSWER_BYTES:
            self._is_over = True
            self._pieces.clear()
            self._on_long_line(f"it has sent a line longer than {MAX_ANSWER_BYTES:,} bytes")
        return lines


def _encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
    return codecs.getencoder(OPTIONS.get().encoding)(text, errors)


def _decode(data: Any, errors: str = "strict") -> tuple[str, int]:
    return codecs.getdecoder(OPTIONS.get().encoding)(data, errors)


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != NAME:
        return None
    return codecs.CodecInfo(_encode, _decode, incrementaldecoder=LineDecoder, name=NAME)


codecs.register(_find_codec)
