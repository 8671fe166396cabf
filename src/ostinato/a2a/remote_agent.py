"""RemoteA2aAgent: an agent on another server, reached over A2A.

Its public path is `ostinato.agents.remote_a2a_agent`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import PrivateAttr

from .. import _clock
from .._optional import need
from ..agents.base_agent import BaseAgent
from ..auth.auth_credential import AuthCredential
from ..auth.auth_schemes import AuthScheme
from ..auth.auth_tool import AuthConfig
from ..auth.credential_headers import credential_headers
from ..auth.credential_manager import CredentialManager
from ..context.context import Context
from ..context.invocation import InvocationContext
from ..context.run_config import StreamingMode
from ..errors import AgentConfigError
from ..events.event import Event
from .outgoing_message import build_message
from .remote_answer import RemoteAnswer
from .wire import EXTRA, Json, json_of, message_of

if TYPE_CHECKING:
    import httpx
    from a2a.client import ClientFactory
    from a2a.types import AgentCard

DEFAULT_TIMEOUT = 600.0

_GIVE_UP = 5.0  # seconds that cancelling the remote task may take


class AgentCardResolutionError(Exception):
    """A remote agent's card cannot be found or read."""


class A2AClientError(Exception):
    """A remote agent cannot be reached, or its response violates the protocol."""


class RemoteA2aAgent(BaseAgent):
    """An agent on another server; needs the extra `a2a`.

    Each message holds what was said since the agent's last answer; the agent keeps earlier messages
    in its own context. A request of the remote agent (for an approval, a result) becomes a
    long-running call, and the answer goes to the task that asked. A remote task that fails becomes
    an event with an error code.

    Args:
      name: the agent's local name.
      agent_card: its card: a record of a2a-sdk, a URL, or the path of a JSON file.
      description: what it does; if empty, the card's description once the card is loaded.
      httpx_client: client to use; the caller closes it. If it follows redirects, they are followed
        only to the card's origins and to `trusted_origins`.
      timeout: seconds that an answer may take.
      a2a_client_factory: makes the SDK's client from the card. Its HTTP client is its own: leave
        `follow_redirects` off there, since redirects of that client are not checked.
      a2a_request_meta_provider: returns metadata for a message, from the context and the message.
      trusted_origins: origins, such as `https://api.example`, to which a card that was fetched from
        another origin may send the conversation. Needed only with `httpx_client`,
        `a2a_client_factory` or `a2a_request_meta_provider`, whose credentials would go there too.
      auth_scheme: how the agent's server authenticates; its requests then carry the credential, to
        the card's origin and to `trusted_origins` only.
      auth_credential: the credential, or a source that needs no user, such as a service account.
      credential_key: name of the credential in a credential service.
      full_history_when_stateless: send the whole session to an agent without a context.
      use_legacy: accepted for google-adk; both protocol versions are understood.
      options: the options of every agent; google-adk's converters and `config` are refused.

    Raises:
      NotImplementedError: an option is not offered.
      AgentConfigError: a credential without a scheme, or beside `a2a_client_factory`.
    """

    _card: Any = PrivateAttr()
    _client: Any = PrivateAttr()
    _timeout: float = PrivateAttr()
    _factory: Any = PrivateAttr()
    _metadata: Any = PrivateAttr()
    _whole: bool = PrivateAttr()
    _trusted: frozenset[str] = PrivateAttr()
    _login: CredentialManager | None = PrivateAttr(default=None)
    _scheme: Any = PrivateAttr(default=None)

    def __init__(
        self,
        name: str,
        agent_card: AgentCard | str,
        *,
        description: str = "",
        httpx_client: httpx.AsyncClient | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        a2a_client_factory: ClientFactory | None = None,
        a2a_request_meta_provider: Callable[[InvocationContext, Any], dict[str, Any]] | None = None,
        trusted_origins: Iterable[str] = (),
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        credential_key: str | None = None,
        full_history_when_stateless: bool = False,
        use_legacy: bool = True,
        **options: Any,
    ) -> None:
        for option in _NOT_OFFERED:
            if options.pop(option, None) is not None:
                raise NotImplementedError(
                    f"RemoteA2aAgent: {option} is not offered, as messages are converted by fixed "
                    "rules. Leave it out; change what is sent in a before_agent_callback, and what "
                    "comes in a plugin's on_event_callback."
                )
        super().__init__(name=name, description=description, **options)
        if isinstance(agent_card, str) and not agent_card.strip():
            raise ValueError("agent_card: an address or a path is needed; this one is empty.")
        self._card = agent_card
        self._client, self._timeout = httpx_client, timeout
        self._factory, self._metadata = a2a_client_factory, a2a_request_meta_provider
        self._whole = full_history_when_stateless
        self._trusted = frozenset(_origin_of(one) for one in trusted_origins)
        if auth_scheme is not None and a2a_client_factory is None:
            needed = AuthConfig(
                auth_scheme=auth_scheme,
                raw_auth_credential=auth_credential,
                credential_key=credential_key,
            )
            self._login, self._scheme = CredentialManager(needed), auth_scheme
        elif auth_scheme is not None or auth_credential is not None or credential_key is not None:
            raise AgentConfigError(
                f"RemoteA2aAgent {name!r}: auth_credential and credential_key need an auth_scheme, "
                "and none of the three works with a2a_client_factory, whose client sends its own "
                "credentials."
            )

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Send what is new, and yield the response as events.

        Raises:
          AgentCardResolutionError: the card cannot be found or read, or would send this agent's
            credentials to another origin than its own.
          A2AClientError: the agent cannot be reached, or its response violates the protocol.
          AgentConfigError: there is no credential, and only a user could give one.
          MissingExtraError: a2a-sdk is not installed.
        """
        message = build_message(ctx.session.events, self.name, ctx.branch, whole=self._whole)
        if message is None:
            return
        message["messageId"] = _clock.new_id()
        request = message_of("SendMessageRequest", {"message": message})
        if self._metadata is not None:
            metadata = self._metadata(ctx, request.message)
            need("google.protobuf.json_format", extra=EXTRA).ParseDict(metadata, request.metadata)
        streaming = (
            ctx.run_config is not None and ctx.run_config.streaming_mode is StreamingMode.SSE
        )
        async with self._open_client(await self._read_credential_headers(ctx)) as http:
            client = await self._make_client(http)
            answer = RemoteAnswer(streaming=streaming)
            try:
                async for one in client.send_message(request):
                    for content in answer.read_response(json_of(one)):
                        yield self._make_event(ctx, content)
                for content in answer.close_artifacts():
                    yield self._make_event(ctx, content)
            except asyncio.CancelledError:
                await self._give_up(client, answer)
                raise
            except need("a2a.utils.errors", extra=EXTRA).A2AError as error:
                raise A2AClientError(f"Agent {self.name!r}: {error}") from error
            except need("httpx", extra=EXTRA).HTTPError as error:
                what = str(error) or type(error).__name__
                raise A2AClientError(f"Agent {self.name!r} cannot be reached: {what}") from error

    def _make_event(self, ctx: InvocationContext, fields: Json) -> Event:
        return Event(invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, **fields)

    async def _read_credential_headers(self, ctx: InvocationContext) -> dict[str, str]:
        """Return the headers with the agent's credential, or no headers without a scheme."""
        if self._login is None:
            return {}
        credential = await self._login.get_auth_credential(Context(ctx))
        if credential is None:
            raise AgentConfigError(
                f"Agent {self.name!r} has no credential for its server, and a remote agent cannot "
                "ask the user for one. Set auth_credential to a token or a service account, or "
                "store the credential in the credential service first."
            )
        return credential_headers(credential, self._scheme)

    @asynccontextmanager
    async def _open_client(self, headers: dict[str, str]) -> AsyncGenerator[_RedirectGuard, None]:
        if self._client is not None:
            yield _RedirectGuard(self._client, self.name, self._trusted, headers)
            return
        async with need("httpx", extra=EXTRA).AsyncClient(timeout=self._timeout) as http:
            yield _RedirectGuard(http, self.name, self._trusted, headers)

    async def _make_client(self, http: _RedirectGuard) -> Any:
        """Return the SDK's client of the agent."""
        sdk = need("a2a.client", extra=EXTRA)
        if isinstance(self._card, str):
            card = await self._read_card(http, self._card)
            self._check_origins(card, self._card)
            self._card = card
        for interface in self._card.supported_interfaces:
            http.allow_origin(interface.url)
        if not self.description and self._card.description:
            self.description = self._card.description
        factory = self._factory
        if factory is None:
            config = sdk.ClientConfig(
                httpx_client=http, supported_protocol_bindings=["JSONRPC", "HTTP+JSON"]
            )
            factory = sdk.ClientFactory(config)
        try:
            return factory.create(self._card)
        except ValueError as error:
            raise AgentCardResolutionError(
                f"Agent {self.name!r}: its card names no supported transport: {error}"
            ) from error

    async def _read_card(self, http: _RedirectGuard, place: str) -> Any:
        try:
            if place.startswith(("http://", "https://")):
                http.allow_origin(place)
                answer = await http.send(http.build_request("GET", place))
                answer.raise_for_status()
                found: Any = answer.json()
            else:
                found = json.loads(await asyncio.to_thread(Path(place).read_text, "utf-8"))
            resolver = need("a2a.client.card_resolver", extra=EXTRA)
            return resolver.parse_agent_card(found)
        except (
            A2AClientError,
            need("httpx", extra=EXTRA).HTTPError,
            OSError,
            ValueError,
        ) as error:
            raise AgentCardResolutionError(
                f"Agent {self.name!r}: the card at {place!r} cannot be read: {error}"
            ) from error
        except need("google.protobuf.json_format", extra=EXTRA).ParseError as error:
            raise AgentCardResolutionError(
                f"Agent {self.name!r}: the document at {place!r} is not an agent card: {error}"
            ) from error

    def _check_origins(self, card: Any, place: str) -> None:
        """Refuse a card from the web that would send credentials to another origin.

        Raises:
          AgentCardResolutionError: the card names an origin that is not trusted.
        """
        may_hold_credentials = any(
            one is not None for one in (self._client, self._factory, self._metadata, self._login)
        )
        if not may_hold_credentials or not place.startswith(("http://", "https://")):
            return
        trusted = {_origin_of(place), *self._trusted}
        for interface in card.supported_interfaces:
            origin = _origin_of(interface.url)
            if origin not in trusted:
                raise AgentCardResolutionError(
                    f"Agent {self.name!r}: the card at {_origin_of(place)} sends the conversation, "
                    f"and the credentials of this agent's client, to {origin}. If that is meant, "
                    f"give RemoteA2aAgent(trusted_origins=[{origin!r}])."
                )

    async def _give_up(self, client: Any, answer: RemoteAnswer) -> None:
        """Cancel the remote task after the local run was cancelled; ignore failures."""
        if not answer.task or answer.ended:
            return
        request = message_of("CancelTaskRequest", {"id": answer.task})
        try:
            async with asyncio.timeout(_GIVE_UP):
                await client.cancel_task(request)
        except Exception:  # boundary: the local run ends even if the remote cancel fails
            pass

    async def cleanup(self) -> None:
        """Do nothing: no connection is kept open. google-adk's class has this method."""


class _RedirectGuard:
    """An HTTP client as a2a-sdk uses it, which follows redirects to allowed origins only.

    The headers of the client are often credentials, and only `Authorization` is left out by httpx
    when a redirect leads to another origin.

    Args:
      client: httpx's client; its `follow_redirects` applies.
      name: the agent's name, for errors.
      trusted: origins to which redirects may lead.
      headers: the agent's credential, sent with each request.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        name: str,
        trusted: Iterable[str],
        headers: dict[str, str],
    ) -> None:
        self._client, self._name, self._own_headers = client, name, headers
        self._allowed = set(trusted)

    def allow_origin(self, address: str) -> None:
        """Let redirects lead to the origin of an address."""
        self._allowed.add(_origin_of(address))

    @property
    def headers(self) -> httpx.Headers:
        """The headers of every request."""
        return self._client.headers

    @property
    def is_closed(self) -> bool:
        """Whether the client is closed."""
        return self._client.is_closed

    def build_request(self, method: str, url: str, **options: Any) -> httpx.Request:
        """Return a request with the headers of the client."""
        request = self._client.build_request(method, url, **options)
        request.headers.update(self._own_headers)
        return request

    async def send(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        """Send a request, and follow redirects if the client does.

        Raises:
          A2AClientError: a redirect leads to an origin that is not allowed.
        """
        left = self._client.max_redirects
        while True:
            response = await self._client.send(request, stream=stream, follow_redirects=False)
            following = response.next_request
            if following is None or not self._client.follow_redirects:
                return response
            await response.aclose()
            origin = _origin_of(str(following.url))
            if origin not in self._allowed:
                raise A2AClientError(
                    f"Agent {self._name!r}: {_origin_of(str(request.url))} redirects to {origin}. "
                    "The credentials of this agent's client would go there too. If that is meant, "
                    f"give RemoteA2aAgent(trusted_origins=[{origin!r}])."
                )
            left -= 1
            if left < 0:
                raise A2AClientError(f"Agent {self._name!r}: it redirects too often.")
            request = following

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()


def _origin_of(address: str) -> str:
    """Return scheme, host and port of an address, or the address itself if it has no origin."""
    try:
        split = urlsplit(address)
        port = split.port or {"http": 80, "https": 443}.get(split.scheme)
    except ValueError:
        return address
    if not split.hostname or port is None:
        return address
    host = f"[{split.hostname}]" if ":" in split.hostname else split.hostname
    default = port == {"http": 80, "https": 443}.get(split.scheme)
    return f"{split.scheme}://{host}" + ("" if default else f":{port}")


_NOT_OFFERED = (
    "genai_part_converter",
    "a2a_part_converter",
    "context_builder",
    "config",
)
