"""Incremental readers of lines and of server-sent events. They accept bytes cut anywhere."""

from __future__ import annotations

from typing import NamedTuple

from .errors import HttpAnswerError, HttpTooLargeError

_BOM = b"\xef\xbb\xbf"


class LineReader:
    """Splits bytes into lines that end with LF, CR LF or CR.

    Args:
      bound: bytes of the longest line that is accepted.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._held: list[bytes] = []
        self._held_size = 0
        self._is_after_cr = False
        self._is_first = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without their ends.

        Raises:
          HttpTooLargeError: a line is longer than the bound.
        """
        if self._is_after_cr:
            chunk = chunk.removeprefix(b"\n")  # the second half of a CR LF
            self._is_after_cr = False
        if not chunk:
            return []
        lines = chunk.splitlines()
        is_complete = chunk.endswith((b"\n", b"\r"))
        self._is_after_cr = chunk.endswith(b"\r")
        rest = b"" if is_complete else lines.pop()
        if lines and self._held:
            lines[0] = self._take_held() + lines[0]
        if rest:
            self._held.append(rest)
            self._held_size += len(rest)
        longest = max(map(len, lines), default=0)
        if max(longest, self._held_size) > self._bound:
            raise HttpTooLargeError("A line of the answer", self._bound)
        if lines and self._is_first:
            self._is_first = False
            lines[0] = lines[0].removeprefix(_BOM)
        return lines

    def finish(self) -> list[bytes]:
        """Return the last line if it has no end."""
        rest = self._take_held()
        return [rest.removeprefix(_BOM) if self._is_first else rest] if rest else []

    def _take_held(self) -> bytes:
        held = b"".join(self._held)
        self._held.clear()
        self._held_size = 0
        return held


class ServerSentEvent(NamedTuple):
    """One event of a stream.

    Attributes:
      data: its data; the lines of several `data` fields are joined with LF.
      event: its type; empty if the stream does not name one.
    """

    data: str
    event: str = ""


class EventReader:
    """Reads server-sent events as the HTML standard defines them.

    An event without the blank line at the end of a stream counts, for some servers leave it out.

    Args:
      bound: bytes of the largest event that is accepted.
    """

    def __init__(self, bound: int) -> None:
        self._lines = LineReader(bound)
        self._bound = bound
        self._data: list[bytes] = []
        self._size = 0
        self._event = b""

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that this chunk completes.

        Raises:
          HttpTooLargeError: an event is larger than the bound.
          HttpAnswerError: an event is not UTF-8.
        """
        events: list[ServerSentEvent] = []
        for line in self._lines.feed(chunk):
            if line:
                self._read_field(line)
            elif self._data:
                events.append(self._take_event())
            else:
                self._event = b""
        return events

    def finish(self) -> list[ServerSentEvent]:
        """Return the last event if no blank line follows it."""
        for line in self._lines.finish():
            self._read_field(line)
        return [self._take_event()] if self._data else []

    def _read_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1
            if self._size > self._bound:
                raise HttpTooLargeError("An event of the answer", self._bound)
        elif name == b"event":
            self._event = value.removeprefix(b" ")

    def _take_event(self) -> ServerSentEvent:
        data, event = b"\n".join(self._data), self._event
        self._data.clear()
        self._size, self._event = 0, b""
        try:
            return ServerSentEvent(data.decode(), event.decode())
        except UnicodeDecodeError as error:
            raise _not_utf8() from error


def text_of_bytes(data: bytes) -> str:
    """Decode UTF-8; raise HttpAnswerError if the bytes are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8() from error


def _not_utf8() -> HttpAnswerError:
    return HttpAnswerError("The answer is not UTF-8.")
