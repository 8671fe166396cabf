"""A server that answers a byte at a time, without end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

HEADERS = b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n"
HALF_HEADERS = b"HTTP/1.1 200 OK\r\nx-long: "


@contextmanager
def drip_forever(first: bytes = HEADERS) -> Generator[str]:
    """Run the server and yield its address.

    Args:
      first: what each answer begins with; a space every 50 ms follows.
    """
    over = threading.Event()

    def answer(stream: socket.socket) -> None:
        with suppress(OSError), stream:
            stream.sendall(first)
            while not over.wait(0.05):
                stream.sendall(b" ")

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],)).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=accept)
        server.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            server.join()
