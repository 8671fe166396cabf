"""Event streams of Amazon Web Services: messages in frames with lengths and checksums. The Bedrock
adapter reads streamed answers with an EventStreamReader.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from .faults import BadAnswer

_PRELUDE = struct.Struct(">III")  # length of all, length of the headers, checksum of both
_CHECKSUM = struct.Struct(">I")
_LEAST = _PRELUDE.size + _CHECKSUM.size
_TEXT = 7  # the type of a header's value that is text
# How many bytes the values of the other types have; None for those that begin with their length.
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 6: None, _TEXT: None, 8: 8, 9: 16}


class StreamMessage(NamedTuple):
    """One message of a stream.

    Attributes:
      headers: its headers that are texts, by name.
      payload: its bytes.
    """

    headers: dict[str, str]
    payload: bytes


class EventStreamReader:
    """Reads messages out of bytes that are cut anywhere.

    Args:
      bound: bytes of the largest message that is accepted.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._held = bytearray()

    @property
    def is_empty(self) -> bool:
        """Whether no message has begun that did not end."""
        return not self._held

    def feed(self, chunk: bytes) -> list[StreamMessage]:
        """Return the messages that this chunk completes.

        Raises:
          BadAnswer: the bytes are no event stream.
        """
        held = self._held
        held += chunk
        messages: list[StreamMessage] = []
        at = 0
        while len(held) - at >= _PRELUDE.size:
            length, headers, checksum = _PRELUDE.unpack_from(held, at)
            if zlib.crc32(held[at : at + 8]) != checksum:
                raise BadAnswer("no event stream: a checksum of it is wrong")
            if length > self._bound or not _LEAST <= headers + _LEAST <= length:
                raise BadAnswer("no event stream: a length in it is wrong", retryable=False)
            if len(held) - at < length:
                break
            messages.append(_read(bytes(held[at : at + length]), headers))
            at += length
        del held[:at]
        return messages


def _read(frame: bytes, size: int) -> StreamMessage:
    """Return the message in a frame whose headers have this size."""
    end = len(frame) - _CHECKSUM.size
    if zlib.crc32(frame[:end]) != _CHECKSUM.unpack_from(frame, end)[0]:
        raise BadAnswer("a message of the stream is damaged")
    start = _PRELUDE.size + size
    try:
        headers = _headers(frame[_PRELUDE.size : start])
    except (IndexError, KeyError, struct.error, UnicodeDecodeError):
        raise BadAnswer("the headers of a message of the stream are damaged") from None
    return StreamMessage(headers, frame[start:end])


def _headers(block: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(block):
        name_end = at + 1 + block[at]
        name, kind = block[at + 1 : name_end].decode(), block[name_end]
        at, size = name_end + 1, _SIZES[kind]
        if size is None:
            size = struct.unpack_from(">H", block, at)[0]
            at += 2
        if kind == _TEXT:
            found[name] = block[at : at + size].decode()
        at += size
    return found
