"""Server processes: start, drain and shutdown of one or several, for `ostinato serve` and `web`.

On SIGTERM a server reports itself as not ready, refuses new runs, waits the grace time for those in
progress, hands the rest over and exits; a second signal ends the grace time.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import socket
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from .._log import get_logger
from ..hosting.log_setup import log_to_stderr, print_line
from ..hosting.setup_error import SetupError
from ..hosting.store_address import parse_store
from ..hosting.stores import SERVED_KINDS, open_store, refuse_database_file
from ..telemetry.export import start_export
from .app import make_app
from .checks import check_settings
from .connections import http_protocol
from .host import Host
from .security import LARGEST_HEAD
from .server_services import is_registered
from .settings import ServerSettings

logger = get_logger(__name__)

_CLOSE_SECONDS = 2  # that streams have to end once their runs have ended
_ONE_READ = 256 * 1024  # bytes that asyncio reads from a connection at once, at most
_RESTART = 1.0  # seconds before a dead process is replaced


class DrainingServer(uvicorn.Server):
    """A uvicorn server that drains its host before it stops listening."""

    def __init__(self, config: uvicorn.Config, host: Host) -> None:
        super().__init__(config)
        self._host = host
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None
        self._stop_now = asyncio.Event()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal, even if an agent's code raises SystemExit.

        asyncio stops the loop at a SystemExit or KeyboardInterrupt of any task or callback. While
        the server runs, signals go to `handle_exit`, so these errors come from an agent's code.
        """
        with asyncio.Runner(loop_factory=self.config.get_loop_factory()) as runner:
            loop = runner.get_loop()
            serving = loop.create_task(self.serve(sockets=sockets), name="ostinato-serve")
            while not serving.done():
                try:
                    loop.run_until_complete(serving)
                except (SystemExit, KeyboardInterrupt) as error:
                    if serving.done() or self._loop is None:
                        raise
                    logger.error(
                        "Code of an agent raised %s in a task or callback; the server continues.",
                        type(error).__name__,
                        exc_info=error,
                    )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening; uvicorn calls it."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start the shutdown; uvicorn calls it in the main thread at a signal."""
        if self._loop is None:
            self.should_exit = True
        else:
            self._loop.call_soon_threadsafe(self._begin_shutdown)

    def _begin_shutdown(self) -> None:
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain_host(), name="ostinato-drain")
        else:
            self._stop_now.set()
            self._host.stop_now()
            self.should_exit = True

    async def _drain_host(self) -> None:
        delay = self._host.settings.drain_delay
        self._host.announce_shutdown()
        if delay:
            logger.info("No longer ready; still accepting requests for %g s.", delay)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop_now.wait(), delay)
        logger.info("Shutting down: runs have %g s to end.", self._host.settings.grace)
        try:
            await self._host.drain()
        finally:
            self.should_exit = True


def serve(settings: ServerSettings) -> int:
    """Serve until a signal; return the exit code.

    Raises:
      SetupError: the address cannot be bound, or an option is not valid.
      StoreError: the database server cannot be reached, or refuses the user or the password.
    """
    check_settings(settings)
    asyncio.run(_check_database(settings))
    listening = bind_socket(settings)
    with listening:
        port: int = listening.getsockname()[1]
        settings = replace(settings, port=port)
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{shown}:{port}{settings.url_prefix}"
        print_line(f"Serving on {address}", settings.log_format)
        if settings.workers == 1:
            serve_one(settings, listening)
            return 0
        with tempfile.TemporaryDirectory(prefix="ostinato-metrics-") as folder:
            settings = replace(settings, metrics_folder=Path(folder))
            return ServerProcesses(settings, listening).serve()


async def _check_database(settings: ServerSettings) -> None:
    """Check that the database server answers; of files only check that the server can use them."""
    if is_registered("session", settings.db):
        return
    address = parse_store(settings.db, kinds=SERVED_KINDS)
    if address.kind != "server":
        refuse_database_file(address)
        return
    store = open_store(address)
    try:
        await store.list_sessions(app_name="", page_size=1)
    finally:
        await store.close()


def bind_socket(settings: ServerSettings) -> socket.socket:
    """Return a listening socket at the address of the settings.

    Raises:
      SetupError: the address cannot be bound.
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
            "may use it: choose another port with --port."
        ) from error


def serve_one(settings: ServerSettings, listening: socket.socket) -> None:
    """Serve in this process."""
    end_export = start_export()
    try:
        app = make_app(settings)
        DrainingServer(uvicorn_config(app, settings), app.state.host).run(sockets=[listening])
    finally:
        end_export()


def uvicorn_config(app: ASGIApp, settings: ServerSettings) -> uvicorn.Config:
    """Return uvicorn's configuration for an app of `make_app`."""
    return uvicorn.Config(
        app,
        http=http_protocol(settings),
        # The guard reads the headers of trusted proxies; uvicorn would always trust localhost.
        proxy_headers=False,
        # `BoundedProtocol` refuses larger heads; one read adds at most `_ONE_READ` bytes.
        h11_max_incomplete_event_size=LARGEST_HEAD + _ONE_READ,
        log_level=settings.log_level.lower(),
        access_log=False,  # `RequestLog` writes it
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
        ws_max_size=settings.max_upload,
        timeout_keep_alive=ceil(settings.keep_alive),
    )


class ServerProcesses:
    """Several processes that serve one address; a process that dies is replaced."""

    def __init__(self, settings: ServerSettings, listening: socket.socket) -> None:
        self._settings = settings
        self._listening = listening
        self._spawn = multiprocessing.get_context("spawn")
        self._processes: list[Any] = []
        self._signals: list[int] = []

    def serve(self) -> int:
        """Serve until a signal; return the exit code."""
        before = {
            one: signal.signal(one, self._record_signal) for one in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            self._processes = [self._start_process() for _ in range(self._settings.workers)]
            self._replace_dead()
            self._stop_processes()
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
        return 0

    def _record_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _start_process(self) -> Any:
        process = self._spawn.Process(target=_serve_worker, args=(self._settings, self._listening))
        process.start()
        return process

    def _replace_dead(self) -> None:
        while not self._signals:
            for number, process in enumerate(self._processes):
                if not process.is_alive():
                    logger.error("A server process ended (%s); starting another.", process.exitcode)
                    time.sleep(_RESTART)
                    self._processes[number] = self._start_process()
            time.sleep(0.1)

    def _stop_processes(self) -> None:
        self._listening.close()  # otherwise connections would wait here that no process accepts
        sent = 0
        while any(process.is_alive() for process in self._processes):
            if sent < min(len(self._signals), 2):
                sent += 1
                for process in self._processes:
                    if process.is_alive():
                        process.terminate()
            time.sleep(0.05)


def _serve_worker(settings: ServerSettings, listening: socket.socket) -> None:
    """Serve in one of several processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process forwards Ctrl+C as SIGTERM
    with log_to_stderr(settings.log_level, settings.log_format):
        serve_one(settings, listening)
