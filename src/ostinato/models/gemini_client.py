"""GeminiClient, a client of Gemini's HTTP API. Its caches and interactions have the interface of
google-genai, so that a client of that SDK can replace it.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from .. import types
from .._aclosing import Aclosing
from .gemini_endpoint import GeminiEndpoint
from .http.errors import HttpStatusError
from .http.events import ServerSentEvent
from .http.messages import HttpRequest, Timeouts
from .http.transport import HttpTransport
from .wire.faults import BadAnswer, Unsendable
from .wire.gemini_answer import read_record, read_vectors, stream_error
from .wire.gemini_request import cache_body, merge_extra_body
from .wire.json_item import json_bytes
from .wire.reading import read_json
from .wire.surrogates import SplitPairs

Json = dict[str, Any]
Read = TypeVar("Read")

_FOREIGN_OPTIONS = (
    "client_args",
    "async_client_args",
    "httpx_client",
    "httpx_async_client",
    "aiohttp_client",
)
_END = "[DONE]"


class GeminiClient:
    """Requests to Gemini's API at one endpoint.

    Attributes:
      caches: makes and deletes context caches.
      interactions: makes interactions.

    Args:
      transport: sends the requests.
      endpoint: the address of the service.
      timeout: seconds to wait for the next byte.
      headers: further headers of each request.
    """

    def __init__(
        self,
        transport: HttpTransport,
        endpoint: GeminiEndpoint,
        timeout: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._transport, self._timeout, self._headers = transport, timeout, headers or {}
        self.caches, self.interactions = _Caches(self), _Interactions(self)

    @property
    def aio(self) -> GeminiClient:
        """The asynchronous interface, which is the only one."""
        return self

    def with_options(self, options: types.HttpOptions | None) -> GeminiClient:
        """Return a client whose requests follow the options of one request.

        Raises:
          Unsendable: an option concerns the HTTP client.
        """
        if options is None:
            return self
        for name in _FOREIGN_OPTIONS:
            if getattr(options, name) is not None:
                raise Unsendable(
                    f"with http_options.{name}. Pass the model an httpx2.AsyncClient as "
                    "http_client."
                )
        place = self.endpoint
        if options.base_url:
            place = replace(place, base_url=options.base_url)
        if options.api_version:
            place = replace(place, version=options.api_version)
        if options.base_url_resource_scope is types.ResourceScope.COLLECTION:
            place = replace(place, version=None, project=None, location=None)
        headers = {**self._headers, **(options.headers or {})}
        timeout = self._timeout
        if options.timeout:
            timeout = options.timeout / 1000
            headers.setdefault("x-server-timeout", str(math.ceil(timeout)))
        return GeminiClient(self._transport, place, timeout, headers)

    async def generate(self, model: str, body: Json, read: Callable[[Json], Read]) -> Read:
        """Request content, and return the result of `read`.

        Raises:
          HttpStatusError: the answer holds an error, whatever its status says.
          BadAnswer: the answer holds something else.
        """
        url = self.endpoint.model_url(model, "generateContent")
        request = self.request("POST", url, self._qualify_cache_name(body))
        async with self._transport.stream(request) as answer:
            whole = read_json((await answer.read()).body)
            return read(_check_event(whole, answer.headers))

    def stream(
        self, model: str, body: Json, read: Callable[[Json], Read | None]
    ) -> AsyncGenerator[Read, None]:
        """Yield what `read` makes of the pieces of the answer to a request for content."""
        url = self.endpoint.model_url(model, "streamGenerateContent?alt=sse")
        return self.events(self.request("POST", url, self._qualify_cache_name(body)), read)

    def _qualify_cache_name(self, body: Json) -> Json:
        """Return the body with the cache name qualified by its project."""
        name = body.get("cachedContent")
        if not isinstance(name, str):
            return body
        return {**body, "cachedContent": self.endpoint.cache_path(name)}

    async def count_tokens(self, model: str, body: Json) -> int:
        """Return how many tokens the contents of a request have."""
        url = self.endpoint.model_url(model, "countTokens")
        found = await self.send("POST", url, body)
        count: object = found.get("totalTokens", 0)  # the service omits a 0
        if not isinstance(count, int):
            raise BadAnswer("its count of tokens is no number")
        return count

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text."""
        one: Json = {} if self.endpoint.on_vertex else {"model": self.endpoint.model_path(model)}
        contents = ({"role": "user", "parts": [{"text": text}]} for text in texts)
        body = {"requests": [{**one, "content": content} for content in contents]}
        url = self.endpoint.model_url(model, "batchEmbedContents")
        async with self._transport.stream(self.request("POST", url, body)) as answer:
            return read_vectors(read_json((await answer.read()).body), len(texts))

    async def send(self, method: str, url: str, body: Json | None = None) -> Json:
        """Send a request and return the JSON of its answer."""
        async with self._transport.stream(self.request(method, url, body)) as answer:
            return read_json((await answer.read()).body or b"{}")

    async def events(
        self, request: HttpRequest, read: Callable[[Json], Read | None]
    ) -> AsyncGenerator[Read, None]:
        """Yield the results of `read` for the events of a stream, except None.

        Raises:
          HttpStatusError: the stream holds an error.
          BadAnswer: the stream holds something else.
        """
        async with self._transport.stream(request) as answer:
            if answer.content_type != "text/event-stream":
                whole = read_json((await answer.read()).body)
                if (found := read(_check_event(whole, answer.headers))) is not None:
                    yield found
                return
            pairs, headers = SplitPairs(), answer.headers

            def read_event(event: ServerSentEvent) -> Read | None:
                return read(_check_event(read_json(event.data, pairs), headers))

            async with Aclosing(answer.read_events(read_event, end=_END)) as pieces:
                async for piece in pieces:
                    yield piece

    def request(self, method: str, url: str, body: Json | None = None) -> HttpRequest:
        """Return a request of JSON."""
        headers = {"content-type": "application/json", "accept": "*/*"}
        headers |= {name.lower(): value for name, value in self._headers.items()}
        sent = b"" if body is None else json_bytes(body)
        return HttpRequest(method, url, headers, sent, Timeouts.of(self._timeout))


class _Caches:
    """The context caches stored by the service."""

    def __init__(self, client: GeminiClient) -> None:
        self._client = client

    async def create(self, *, model: str, config: Mapping[str, Any]) -> types.CachedContent:
        """Make a cache; see `types.CreateCachedContentConfig` for its settings."""
        settings = types.CreateCachedContentConfig.model_validate(config)
        client = self._client.with_options(settings.http_options)
        body = cache_body(settings, developer=not client.endpoint.on_vertex)
        body["model"] = client.endpoint.full_model_path(model)
        if settings.http_options is not None:
            merge_extra_body(body, settings.http_options.extra_body)
        made = await client.send("POST", client.endpoint.url("cachedContents"), body)
        return read_record(types.CachedContent, made)

    async def delete(self, *, name: str) -> None:
        """Delete a cache."""
        place = self._client.endpoint
        await self._client.send("DELETE", place.url(place.cache_path(name)))


class _Interactions:
    """The interactions stored by the service."""

    def __init__(self, client: GeminiClient) -> None:
        self._client = client

    async def create(self, *, stream: bool = False, **body: Any) -> Any:
        """Return an interaction, or a context manager of its events."""
        url = self._client.endpoint.url("interactions")
        if not stream:
            return await self._client.send("POST", url, body)
        return self._events(self._client.request("POST", url, {**body, "stream": True}))

    def _events(self, request: HttpRequest) -> AbstractAsyncContextManager[Any]:
        @asynccontextmanager
        async def open_events() -> AsyncGenerator[AsyncGenerator[Json, None], None]:
            async with Aclosing(self._client.events(request, dict)) as events:
                yield events

        return open_events()


def _check_event(data: Json, headers: Mapping[str, str]) -> Json:
    """Return an answer or a stream event; raise HttpStatusError or BadAnswer if it is an error."""
    if "error" not in data or "event_type" in data:  # interactions have error events of their own
        return data
    found = stream_error(data)
    if found is None:
        return data
    status, words = found
    if status < 400:  # an error inside a stream may carry no status of HTTP
        raise BadAnswer(words, retryable=False)
    raise HttpStatusError(status, headers, json_bytes(data))
