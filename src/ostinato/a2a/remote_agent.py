"""RemoteA2aAgent: an agent that runs elsewhere and is spoken to over A2A.

Its public path is `ostinato.agents.remote_a2a_agent`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from .. import _clock
from .._optional import need
from ..agents.base_agent import BaseAgent
from ..context.invocation import InvocationContext
from ..context.run_config import StreamingMode
from ..events.event import Event
from .answer import Answer
from .asked import asked
from .wire import EXTRA, Json, json_of, message_of

if TYPE_CHECKING:
    import httpx
    from a2a.client import ClientFactory
    from a2a.types import AgentCard

DEFAULT_TIMEOUT = 600.0

_GIVE_UP = 5.0  # seconds that telling the other side of a cancelled run may take


class AgentCardResolutionError(Exception):
    """A remote agent's card cannot be found or read."""


class A2AClientError(Exception):
    """A remote agent cannot be reached, or answers out of protocol."""


class RemoteA2aAgent(BaseAgent):
    """An agent that runs elsewhere; needs the extra `a2a`.

    It gets what was said since it spoke last, and keeps its own context in which it remembers the
    rest. What it asks for (an approval, a result) waits as a long-running call does, and the answer
    goes to the task that asked. A remote task that fails is an event with an error code.

    Args:
      name: the agent's name here.
      agent_card: its card: a record of a2a-sdk, an address, or the path of a JSON file.
      description: what it does; that of the card where empty, once the card is there.
      httpx_client: client to use; the caller closes it.
      timeout: seconds that an answer may take.
      a2a_client_factory: makes the SDK's client of the card.
      a2a_request_meta_provider: returns metadata for a message, from the context and the message.
      full_history_when_stateless: send the whole session to an agent without a context.
      use_legacy: google-adk's; both are understood.
      options: those of every agent; google-adk's further ones are not offered.

    Raises:
      NotImplementedError: an option is not offered.
    """

    _card: Any = PrivateAttr()
    _client: Any = PrivateAttr()
    _timeout: float = PrivateAttr()
    _factory: Any = PrivateAttr()
    _metadata: Any = PrivateAttr()
    _whole: bool = PrivateAttr()

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
        full_history_when_stateless: bool = False,
        use_legacy: bool = True,
        **options: Any,
    ) -> None:
        for option in _NOT_OFFERED:
            if options.pop(option, None) is not None:
                raise NotImplementedError(
                    f"RemoteA2aAgent: {option} is not built yet; leave it out."
                )
        super().__init__(name=name, description=description, **options)
        if isinstance(agent_card, str) and not agent_card.strip():
            raise ValueError("agent_card: an address or a path is needed; this one is empty.")
        self._card = agent_card
        self._client, self._timeout = httpx_client, timeout
        self._factory, self._metadata = a2a_client_factory, a2a_request_meta_provider
        self._whole = full_history_when_stateless

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Send what is new, and yield what comes.

        Raises:
          AgentCardResolutionError: the card cannot be found or read.
          A2AClientError: the agent cannot be reached, or answers out of protocol.
          MissingExtraError: a2a-sdk is not installed.
        """
        message = asked(ctx.session.events, self.name, ctx.branch, whole=self._whole)
        if message is None:
            return
        message["messageId"] = _clock.new_id()
        request = message_of("SendMessageRequest", {"message": message})
        if self._metadata is not None:
            told = self._metadata(ctx, request.message)
            need("google.protobuf.json_format", extra=EXTRA).ParseDict(told, request.metadata)
        streaming = (
            ctx.run_config is not None and ctx.run_config.streaming_mode is StreamingMode.SSE
        )
        async with self._http() as http:
            client = await self._peer(http)
            answer = Answer(streaming=streaming)
            try:
                async for one in client.send_message(request):
                    for content in answer.of(json_of(one)):
                        yield self._event(ctx, content)
                for content in answer.end():
                    yield self._event(ctx, content)
            except asyncio.CancelledError:
                await self._give_up(client, answer)
                raise
            except need("a2a.utils.errors", extra=EXTRA).A2AError as error:
                raise A2AClientError(f"Agent {self.name!r}: {error}") from error
            except need("httpx", extra=EXTRA).HTTPError as error:
                what = str(error) or type(error).__name__
                raise A2AClientError(f"Agent {self.name!r} cannot be reached: {what}") from error

    def _event(self, ctx: InvocationContext, told: Json) -> Event:
        return Event(invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, **told)

    @asynccontextmanager
    async def _http(self) -> AsyncGenerator[Any, None]:
        if self._client is not None:
            yield self._client
            return
        async with need("httpx", extra=EXTRA).AsyncClient(timeout=self._timeout) as http:
            yield http

    async def _peer(self, http: Any) -> Any:
        """Return the SDK's client of the agent."""
        sdk = need("a2a.client", extra=EXTRA)
        if isinstance(self._card, str):
            self._card = await self._read_card(http, self._card)
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
                f"Agent {self.name!r}: its card names no way to speak to it that is known here: "
                f"{error}"
            ) from error

    async def _read_card(self, http: Any, place: str) -> Any:
        try:
            if place.startswith(("http://", "https://")):
                answer = await http.get(place)
                answer.raise_for_status()
                found: Any = answer.json()
            else:
                found = json.loads(await asyncio.to_thread(Path(place).read_text, "utf-8"))
            resolver = need("a2a.client.card_resolver", extra=EXTRA)
            return resolver.parse_agent_card(found)
        except (need("httpx", extra=EXTRA).HTTPError, OSError, ValueError) as error:
            raise AgentCardResolutionError(
                f"Agent {self.name!r}: the card at {place!r} cannot be read: {error}"
            ) from error
        except need("google.protobuf.json_format", extra=EXTRA).ParseError as error:
            raise AgentCardResolutionError(
                f"Agent {self.name!r}: what is at {place!r} is no agent card: {error}"
            ) from error

    async def _give_up(self, client: Any, answer: Answer) -> None:
        """Cancel the remote task of a run that is cancelled here, if it can be reached."""
        if not answer.task or answer.ended:
            return
        request = message_of("CancelTaskRequest", {"id": answer.task})
        try:
            async with asyncio.timeout(_GIVE_UP):
                await client.cancel_task(request)
        except Exception:  # boundary: the run ends here whatever becomes of the other side
            pass

    async def cleanup(self) -> None:
        """Do nothing: no connection is kept. google-adk's agents have it."""


_NOT_OFFERED = (
    "genai_part_converter",
    "a2a_part_converter",
    "context_builder",
    "config",
    "auth_scheme",
    "auth_credential",
    "credential_key",
)
