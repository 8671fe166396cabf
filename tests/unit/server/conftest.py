"""A server over the agents of this folder, without a socket; and a real one in a process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ostinato.compat import uninstall
from ostinato.server.app import make_app
from ostinato.server.host import Host
from ostinato.server.serving import DrainingServer, bind_socket, uvicorn_config
from ostinato.server.settings import ServerSettings
from tests.support.prompt_uvicorn import make_uvicorn_prompt
from tests.unit.server.gate import Gate, new_gate

make_uvicorn_prompt()

AGENTS = Path(__file__).parent / "agents"
APPS = ("bound", "broken", "desk", "empty", "gated", "good", "leaky", "one", "speaker", "two")


@dataclass
class Served:
    """A server under test: its host, and a client."""

    host: Host
    client: httpx2.AsyncClient

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        """Send a request with a JSON body."""
        if body is not None:
            more["json"] = body
        return await self.client.request(method, path, **more)


Serve = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Forget afterwards which agents were imported, and the alias that they put in place."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    uninstall()
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.partition(".")[0].removesuffix("_agent") in APPS:
            del sys.modules[name]


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    """Settings of a server with its files in a folder of its own."""
    return ServerSettings(agents=AGENTS, db=str(tmp_path / "sessions.db"), grace=5.0)


@pytest.fixture
def serve(settings: ServerSettings) -> Serve:
    """Serve with some settings changed; lifespan and all, but for the socket."""

    @asynccontextmanager
    async def serving(**changes: Any) -> AsyncIterator[Served]:
        app = make_app(replace(settings, **changes))
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            base = "http://127.0.0.1:8000"
            async with httpx2.AsyncClient(transport=transport, base_url=base) as client:
                yield Served(app.state.host, client)

    return serving


@pytest.fixture
async def served(serve: Serve) -> AsyncIterator[Served]:
    """A server with the settings of the tests."""
    async with serve() as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one app, `gated`, whose model waits for the test."""
    app = tmp_path / "agents" / "gated"
    app.mkdir(parents=True)
    app.joinpath("agent.py").write_text(
        "from ostinato.agents import Agent\n"
        "from tests.unit.server.gate import GateLlm\n"
        "root_agent = Agent(name='root', model=GateLlm())\n"
    )
    return app.parent


@pytest.fixture
def gate() -> Gate:
    """The gate that holds back the model of `gated`."""
    return new_gate()


@asynccontextmanager
async def listening(settings: ServerSettings) -> AsyncIterator[Served]:
    """A real uvicorn, on a port of its own."""
    settings = replace(settings, port=0)
    bound = bind_socket(settings)
    app = make_app(settings)
    server = DrainingServer(uvicorn_config(app, settings), app.state.host)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    base = f"http://127.0.0.1:{bound.getsockname()[1]}"
    async with httpx2.AsyncClient(base_url=base, timeout=60) as client:
        try:
            yield Served(app.state.host, client)
        finally:
            server.should_exit = True
            await task


@pytest.fixture
async def live(settings: ServerSettings, folder: Path) -> AsyncIterator[Served]:
    """A real uvicorn over `folder`, whose slow readers are soon given up."""
    async with listening(replace(settings, agents=folder, grace=0.0, write_timeout=0.5)) as one:
        yield one


class Reader:
    """Reads a stream frame by frame.

    Attributes:
      marks: the marks passed over that tell whether something runs.
    """

    def __init__(self, answer: httpx2.Response) -> None:
        self._lines = answer.aiter_lines()
        self.marks: list[str] = []

    async def frame(self) -> dict[str, str]:
        """Return the fields of the next event of the stream; comments and marks are passed over."""
        while found := await self._next():
            if not self._is_mark(found):
                break
        return found

    async def reach(self, mark: str) -> list[dict[str, str]]:
        """Read until the stream has told a mark; return the events before it."""
        passed: list[dict[str, str]] = []
        while mark not in self.marks:
            found = await self._next()
            assert found, f"the stream ended without {mark!r}"
            if not self._is_mark(found):
                passed.append(found)
        return passed

    def _is_mark(self, found: dict[str, str]) -> bool:
        if found.get("event") in ("running", "idle"):
            self.marks.append(found["event"])
            return True
        return False

    async def _next(self) -> dict[str, str]:
        found: dict[str, str] = {}
        async for line in self._lines:
            if not line and found:
                return found
            name, _, value = line.partition(": ")
            if name and line[0] != ":":
                found[name] = value
        return found

    async def rest(self) -> list[dict[str, str]]:
        """Return all that follow."""
        found: list[dict[str, str]] = []
        while one := await self.frame():
            found.append(one)
        return found


@pytest.fixture
async def desk(settings: ServerSettings) -> AsyncIterator[Served]:
    """A real uvicorn over the agents of this folder, on a port of its own."""
    async with listening(settings) as one:
        yield one
