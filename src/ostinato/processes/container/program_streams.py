"""Input and output of the command line of docker or podman."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO

Sink = Callable[[bytes], None]
_PIECE = 65_536


def read_stream(stream: IO[bytes], sink: Sink) -> None:
    """Hand over what comes, piece by piece, until the stream ends or is closed."""
    with suppress(OSError, ValueError):  # closed from outside
        while piece := os.read(stream.fileno(), _PIECE):
            sink(piece)


def write_stream(stream: IO[bytes], data: bytes) -> None:
    """Write everything, unless the program ends before."""
    view = memoryview(data)
    with suppress(OSError, ValueError):  # it ended before it read all
        while view:
            view = view[os.write(stream.fileno(), view) :]
