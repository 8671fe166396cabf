"""A rolling restart under load: two servers behind a proxy that retries what was not done.

`python -m tests.unit.server.rolling --db postgresql://... --servers 2 --workers 2 --clients 20
--requests 2400` prints what the clients saw. The servers share one store; each is ended by SIGTERM
and started again, one after the other, while the clients ask.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

AGENT = """
import asyncio
from ostinato.agents import Agent
from ostinato.testing import FunctionModel

async def answer(request):
    await asyncio.sleep(0.02)
    return "Noted."

root_agent = Agent(name="root", model=FunctionModel(answer))
"""
_LIMIT = 60.0
_NOT_DONE = (OSError, http.client.HTTPException)


class Server:
    """A server process that can be replaced by another at the same port."""

    def __init__(self, folder: Path, db: str, workers: int, drain_delay: float) -> None:
        self._folder = folder
        self._db = db
        self._workers = workers
        self._drain_delay = drain_delay
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ostinato", "serve", "agents", "--port", str(self.port)]
        command += ["--workers", str(self._workers), "--drain-delay", str(self._drain_delay)]
        command += ["--db", self._db, "--log-level", "error", "--traces", "off"]
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        process.stdout.close()
        assert re.search("http://", line), line
        self._wait_until_ready()
        return process

    def is_ready(self) -> bool:
        """Ask as a proxy's health check does."""
        try:
            return ask(self.port, "GET", "/health/ready", {}, b"")[0] == 200
        except _NOT_DONE:
            return False

    def _wait_until_ready(self) -> None:
        for _ in range(600):
            if self.is_ready():
                return
            threading.Event().wait(0.1)
        raise AssertionError("The server did not start.")

    def end(self) -> int:
        """End it in order; return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(_LIMIT)

    def restart(self) -> None:
        """End it in order, and start it again."""
        assert self.end() == 0
        self._process = self._start()


def ask(
    port: int, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, bytes]:
    """Send a request to a port of this machine; return status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_LIMIT)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@contextmanager
def retrying_proxy(ports: list[int]) -> Iterator[int]:
    """Run a proxy that does what docs/server.md has nginx do; yield its port.

    A request that a server refuses with 503, or whose connection breaks, goes to the next server,
    with the same idempotency key.
    """
    turns = itertools.cycle(range(len(ports)))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {"Content-Type": "application/json"}
            if self.path == "/run":  # it begins a run
                headers["Idempotency-Key"] = uuid.uuid4().hex
            status, answer = 502, b""
            first = next(turns)
            for number in range(2 * len(ports)):
                try:
                    status, answer = ask(
                        ports[(first + number) % len(ports)], "POST", self.path, headers, body
                    )
                except _NOT_DONE:
                    continue
                if status != 503:
                    break
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    class Listener(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = False

    proxy = Listener(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    try:
        yield proxy.server_address[1]
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


def restart_under_load(
    folder: Path,
    db: str,
    *,
    servers: int = 2,
    workers: int = 1,
    clients: int = 8,
    requests: int = 80,
    drain_delay: float = 0.5,
) -> tuple[Counter[int], int]:
    """Restart servers one after the other while clients ask.

    Returns:
      How often the clients saw each status, and how many messages the sessions hold.
    """
    app = folder / "agents" / "noted"
    app.mkdir(parents=True)
    app.joinpath("agent.py").write_text(AGENT)
    running = [Server(folder, db, workers, drain_delay) for _ in range(servers)]
    seen: Counter[int] = Counter()
    with ExitStack() as stack:
        for one in running:
            stack.callback(one.end)
        port = stack.enter_context(retrying_proxy([one.port for one in running]))
        restarted = threading.Event()

        def work(client: int) -> Counter[int]:
            mine: Counter[int] = Counter()
            path = "/apps/noted/users/ann/sessions"
            post(port, path, {"sessionId": f"s{client}"})
            number = 0
            while number < requests // clients or not restarted.is_set():
                message = {"role": "user", "parts": [{"text": f"m{number}"}]}
                names = {"appName": "noted", "userId": "ann", "sessionId": f"s{client}"}
                mine[post(port, "/run", {**names, "newMessage": message})] += 1
                number += 1
            return mine

        with ThreadPoolExecutor(clients) as pool:
            working = [pool.submit(work, client) for client in range(clients)]
            try:
                for one in running:
                    one.restart()
            finally:
                restarted.set()
            for one in working:
                seen += one.result()
        stored = 0
        for client in range(clients):
            path = f"/apps/noted/users/ann/sessions/s{client}"
            events = json.loads(ask(running[0].port, "GET", path, {}, b"")[1])["events"]
            stored += sum(event["author"] == "user" for event in events)
    return seen, stored


def post(port: int, path: str, body: Any) -> int:
    """Send JSON; return the status."""
    headers = {"Content-Type": "application/json"}
    return ask(port, "POST", path, headers, json.dumps(body).encode())[0]


def main() -> None:
    """Run with the command line's parameters, and print what was seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--db", default="sessions.db")
    for name, default in (("servers", 2), ("workers", 2), ("clients", 20), ("requests", 2400)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--drain-delay", type=float, default=2.0)
    args = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        seen, stored = restart_under_load(Path(folder), args.pop("db"), **args)
    print(f"statuses: {dict(seen)}; messages stored: {stored} of {seen.total()} sent")


if __name__ == "__main__":
    main()
