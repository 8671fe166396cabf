"""Serving: a server's life as a process, or as several. `ostinato serve` and `web` call it.

On SIGTERM it says that it is not ready, takes no more runs, gives those under way the grace time,
hands the rest over and ends; a second signal waits for nothing.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import socket
import time
from dataclasses import replace
from types import FrameType
from typing import Any

import uvicorn

from .._log import get_logger
from ..hosting.failure import SetupError
from .app import make_app
from .host import Host
from .settings import MEMORY, ServerSettings

logger = get_logger(__name__)

_LAST_WORDS = 2  # seconds in which streams end by themselves once their runs have ended
_RESTART = 1.0  # seconds between two starts of a process that dies at once


class Serving(uvicorn.Server):
    """A uvicorn server that drains its host before it stops to listen."""

    def __init__(self, config: uvicorn.Config, host: Host) -> None:
        super().__init__(config)
        self._host = host
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; uvicorn calls it in the main thread at a signal."""
        if self._loop is None:
            self.should_exit = True
        else:
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(), name="ostinato-drain")
        else:
            self._host.hurry()
            self.should_exit = True

    async def _drain(self) -> None:
        logger.info("Ending: what runs has %g s.", self._host.settings.grace)
        try:
            await self._host.drain()
        finally:
            self.should_exit = True


def serve(settings: ServerSettings) -> int:
    """Serve until a signal ends it; return the exit code.

    Raises:
      SetupError: the address cannot be bound, or an option makes no sense.
    """
    check(settings)
    listening = bind(settings)
    with listening:
        port: int = listening.getsockname()[1]
        settings = replace(settings, port=port)
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        print(f"Serving on http://{shown}:{port}{settings.url_prefix}", flush=True)
        if settings.workers == 1:
            serve_one(settings, listening)
            return 0
        return Crew(settings, listening).serve()


def check(settings: ServerSettings) -> None:
    """Refuse settings that make no sense together.

    Raises:
      SetupError: they do not.
    """
    if settings.token is None and not settings.on_loopback:
        raise SetupError(
            f"Bound to {settings.host}, others reach this server: set a token that they have to "
            "know (OSTINATO_TOKEN, or --token), or bind it to 127.0.0.1 behind something that "
            "asks who they are."
        )
    if settings.token is not None and not (settings.token.isascii() and settings.token.strip()):
        raise SetupError("The token has to be ASCII text.")
    if settings.workers > 1 and settings.db.startswith(MEMORY):
        raise SetupError(
            f"--workers {settings.workers} needs sessions that all processes reach, and "
            f"--db {MEMORY} is kept in one: name a SQLite file or a database."
        )
    if not settings.agents.expanduser().is_dir():
        raise SetupError(f"{settings.agents} is no folder with agents.", missing=True)
    if settings.url_prefix and not settings.url_prefix.startswith("/"):
        raise SetupError(f"--url-prefix begins with a slash, unlike {settings.url_prefix!r}.")


def bind(settings: ServerSettings) -> socket.socket:
    """Return a socket at the address that settings name.

    Raises:
      SetupError: it cannot be bound.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
        listening.set_inheritable(True)
        return listening
    except OSError as error:
        raise SetupError(
            f"{settings.host}:{settings.port} cannot be bound ({error.strerror}); another server "
            "may be there: name another port with --port."
        ) from error


def serve_one(settings: ServerSettings, listening: socket.socket) -> None:
    """Serve in this process."""
    app = make_app(settings)
    config = uvicorn.Config(
        app,
        log_level=settings.log_level.lower(),
        access_log=settings.log_level.lower() in ("debug", "trace"),
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_LAST_WORDS,
        ws_max_size=settings.max_upload,
    )
    Serving(config, app.state.host).run(sockets=[listening])


class Crew:
    """Several processes that serve at one address; one that dies is replaced.

    Args:
      settings: those of each.
      listening: the address.
    """

    def __init__(self, settings: ServerSettings, listening: socket.socket) -> None:
        self._settings = settings
        self._listening = listening
        self._spawn = multiprocessing.get_context("spawn")
        self._processes: list[Any] = []
        self._signals: list[int] = []

    def serve(self) -> int:
        """Serve until a signal ends it; return the exit code."""
        before = {one: signal.signal(one, self._note) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            self._processes = [self._start() for _ in range(self._settings.workers)]
            self._watch()
            self._end()
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
        return 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _start(self) -> Any:
        process = self._spawn.Process(target=_serve_beside, args=(self._settings, self._listening))
        process.start()
        return process

    def _watch(self) -> None:
        while not self._signals:
            for number, process in enumerate(self._processes):
                if not process.is_alive():
                    logger.error("A server process ended (%s); starting another.", process.exitcode)
                    time.sleep(_RESTART)
                    self._processes[number] = self._start()
            time.sleep(0.1)

    def _end(self) -> None:
        told = 0
        while any(process.is_alive() for process in self._processes):
            if told < min(len(self._signals), 2):
                told += 1
                for process in self._processes:
                    if process.is_alive():
                        process.terminate()
            time.sleep(0.05)


def _serve_beside(settings: ServerSettings, listening: socket.socket) -> None:
    """Body of one process of a crew."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the crew tells
    serve_one(settings, listening)
