"""A server over the agents of this folder, without a socket; and a real one in a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ostinato.compat import uninstall
from ostinato.server.app import make_app
from ostinato.server.host import Host
from ostinato.server.settings import ServerSettings

AGENTS = Path(__file__).parent / "agents"


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
def no_alias() -> Any:
    """Take the alias away that the agents of this folder put in place."""
    yield
    uninstall()


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
