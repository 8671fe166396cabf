"""A server made of an OpenAPI document, on the loopback, that records what it receives."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.prompt_uvicorn import make_uvicorn_prompt

make_uvicorn_prompt()


@dataclass
class Received:
    """A request as the server got it."""

    operation: str
    path: str
    query: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes
    form: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class RecordingServer:
    """The server.

    Attributes:
      url: its address.
      requests: what it received, oldest first.
      answers: what it answers, by the operation's id; else `{"ok": true}`.
    """

    url: str
    requests: list[Received] = field(default_factory=list[Received])
    answers: dict[str, Callable[[Request], Response]] = field(
        default_factory=dict[str, Callable[[Request], Response]]
    )

    def take(self) -> Received:
        """Return the only request since the last call."""
        (request,) = self.requests
        self.requests.clear()
        return request

    def make_endpoint(self, operation: str) -> Any:
        """Return the function that serves an operation."""

        async def serve(request: Request) -> Response:
            body = await request.body()
            kind = request.headers.get("content-type", "")
            form: dict[str, Any] = {}
            if kind.startswith("multipart/"):
                async with request.form() as fields:
                    for name, value in fields.multi_items():
                        content = value if isinstance(value, str) else await value.read()
                        form.setdefault(name, []).append(content)
            self.requests.append(
                Received(
                    operation,
                    request.scope["raw_path"].decode(),
                    request.scope["query_string"].decode(),
                    dict(request.path_params),
                    dict(request.headers),
                    body,
                    form,
                )
            )
            answer = self.answers.get(operation)
            return answer(request) if answer else JSONResponse({"ok": True})

        return serve


@contextmanager
def serve_document(document: dict[str, Any]) -> Iterator[RecordingServer]:
    """Serve the operations of a document until the context is left."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)  # requests wait here until the server runs
    server = RecordingServer(f"http://127.0.0.1:{listener.getsockname()[1]}")
    routes = [
        Route(
            # Values may hold encoded slashes.
            path.partition("?")[0].replace("}", ":path}"),
            server.make_endpoint(operation.get("operationId", f"{path}_{method}")),
            methods=[method.upper()],
        )
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict) and method not in ("parameters", "servers")
    ]
    config = uvicorn.Config(
        Starlette(routes=routes), log_level="error", lifespan="off", ws="none", http="h11"
    )
    runner = uvicorn.Server(config)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield server
    finally:
        runner.should_exit = True
        thread.join()
        listener.close()
