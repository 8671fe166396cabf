"""A client for a service that publishes how it authenticates: found, registered, and used."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ostinato.auth.auth_handler import AuthHandler
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.client_registration import discover_client
from ostinato.errors import AgentConfigError

pytestmark = pytest.mark.long
BACK = "http://localhost:8000/callback"


class Provider:
    """A service at /mcp with an authorization server on the same host.

    Attributes:
      registered: the requests for registration.
      hidden: paths that are not there.
      answer: the answer to a registration.
    """

    def __init__(self) -> None:
        self.url = ""
        self.registered: list[Any] = []
        self.hidden: set[str] = set()
        self.answer: dict[str, Any] = {"client_id": "c-1", "client_secret": "s-1"}

    async def serve(self, request: Request) -> JSONResponse:
        path = request.url.path
        if any(path.startswith(one) for one in self.hidden):
            return JSONResponse({}, 404)
        if path == "/.well-known/oauth-protected-resource/mcp":
            return JSONResponse(
                {"resource": f"{self.url}/mcp", "authorization_servers": [self.url]}
            )
        if path == "/.well-known/oauth-authorization-server":
            return JSONResponse(
                {
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize",
                    "token_endpoint": f"{self.url}/token",
                    "registration_endpoint": f"{self.url}/register",
                    "scopes_supported": ["read"],
                }
            )
        if path == "/register":
            self.registered.append(await request.json())
            return JSONResponse(self.answer, 201)
        return JSONResponse({}, 404)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def serve(provider: Provider) -> AsyncGenerator[Provider]:
    app = Starlette(routes=[Route("/{path:path}", provider.serve, methods=["GET", "POST"])])
    server = _Server(uvicorn.Config(app, port=0, log_level="critical"))
    serving = asyncio.create_task(server.serve())
    await server.ready.wait()
    provider.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        server.should_exit = True
        await serving


async def test_client_is_registered_and_asks_for_consent_with_pkce():
    async with serve(Provider()) as provider:
        scheme, credential = await discover_client(f"{provider.url}/mcp", redirect_uri=BACK)
    assert provider.registered[0]["redirect_uris"] == [BACK]
    assert provider.registered[0]["scope"] == "read"
    assert credential.oauth2 is not None and credential.oauth2.client_secret == "s-1"
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=credential)
    asked = AuthHandler(config).generate_auth_request().exchanged_auth_credential
    assert asked is not None and asked.oauth2 is not None and asked.oauth2.auth_uri is not None
    query = parse_qs(urlsplit(asked.oauth2.auth_uri).query)
    assert query["code_challenge_method"] == ["S256"] and query["client_id"] == ["c-1"]
    assert query["resource"] == [f"{provider.url}/mcp"]


async def test_known_client_is_not_registered_again():
    async with serve(Provider()) as provider:
        provider.hidden = {"/.well-known/oauth-protected-resource"}  # as in March 2025
        found = await discover_client(
            f"{provider.url}/mcp", redirect_uri=BACK, client_id="mine", client_secret="s"
        )
    assert provider.registered == []
    assert found.auth_credential.oauth2 is not None
    assert found.auth_credential.oauth2.client_id == "mine"


@pytest.mark.parametrize(
    ("hidden", "answer", "fault"),
    [
        ({"/.well-known"}, {}, "does not say how it authenticates"),
        (set[str](), {"error": "invalid_redirect_uri"}, "registered no client with a secret"),
        (set[str](), {"client_id": "public"}, "registered no client with a secret"),
    ],
)
async def test_what_is_missing_is_named(hidden: set[str], answer: dict[str, Any], fault: str):
    async with serve(Provider()) as provider:
        provider.hidden, provider.answer = hidden, answer
        with pytest.raises(AgentConfigError, match=fault):
            await discover_client(f"{provider.url}/mcp", redirect_uri=BACK)
