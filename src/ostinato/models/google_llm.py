"""Gemini, the adapter to Google's models on the Gemini Developer API or Vertex AI."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from .. import types
from .._aclosing import Aclosing
from .._adk_mode import follows_adk
from ..errors import ModelAuthError, ModelRequestError, ModelUnavailableError, ProviderError
from ..features.environment import GoogleLLMVariant, is_enterprise_mode_enabled
from .capabilities import ModelCapabilities
from .client_per_loop import ClientPerLoop
from .converted import Converted
from .gemini_client import GeminiClient
from .gemini_context_cache_manager import GeminiContextCacheManager
from .gemini_endpoint import GeminiEndpoint, developer_endpoint, vertex_endpoint
from .gemini_live_session import open_live_session
from .gemini_llm_connection import GeminiLlmConnection, speaks_in_realtime_only
from .gemini_sdk import (
    SdkRequest,
    explain_sdk_error,
    is_sdk_replaced,
    open_sdk_client,
    sdk_answers,
    sdk_error_class,
)
from .google_credentials import GoogleCredential
from .http.credentials import Credential, NoCredential
from .http.errors import HttpStatusError
from .http_llm import HttpLlm
from .interactions_utils import generate_content_via_interactions
from .live_llm import LiveLlm
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .model_names import extract_model_name, is_new_gemini
from .retry_after import retry_after
from .sdk_client import find_sdk
from .streaming_response import StreamingResponseAggregator
from .wire.faults import Unsendable
from .wire.gemini_answer import error_words, read_answer, wanted_delay
from .wire.gemini_contents import developer_content, wire_content
from .wire.gemini_live import live_settings
from .wire.gemini_request import FUNCTION_NAME, refused_function_names, request_body
from .wire.json_item import JsonItem
from .wire.reading import fields_of, items_of

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_LATEST = (99, 0)
_BAD_KEY = "API_KEY_INVALID"
# What a request to count tokens may hold on Vertex AI.
_COUNTED = ("contents", "systemInstruction", "tools", "generationConfig")


class Gemini(HttpLlm, LiveLlm):
    """A Gemini model (Spec 2 §5).

    Attributes:
      model: its name, or a path of Vertex AI that begins with `projects/`.
      base_url: where the API is, if not at Google's own place.
      speech_config: the voice of live connections.
      use_interactions_api: whether to chain requests as interactions, which the service keeps.
      retry_options: how failed requests are tried again.
      vertexai: whether to ask Vertex AI; from the environment where it is not given.
      project: the project on Google Cloud; from GOOGLE_CLOUD_PROJECT where it is not given.
      location: its region; from GOOGLE_CLOUD_LOCATION where it is not given.
      credentials: credentials of google-auth; the environment's own where they are not given.
    """

    provider_name: ClassVar[str] = "google"
    sdk_package: ClassVar[str] = "google.genai"

    model: str = "gemini-2.5-flash"
    speech_config: types.SpeechConfig | None = None
    use_interactions_api: bool = False
    retry_options: types.HttpRetryOptions | None = None
    vertexai: bool | None = None
    project: str | None = None
    location: str | None = None
    credentials: Any = Field(default=None, exclude=True, repr=False)

    _google: GoogleCredential = PrivateAttr()
    _sdk_clients: ClientPerLoop[Any] = PrivateAttr()
    _forms: Converted[JsonItem] = PrivateAttr(default_factory=Converted[JsonItem])

    def model_post_init(self, context: Any, /) -> None:
        """Prepare for clients, which are opened on first use."""
        super().model_post_init(context)
        self._google = GoogleCredential(self.credentials)
        self._sdk_clients = ClientPerLoop(self._open_sdk_client, _close_sdk_client)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the names this class serves."""
        return [
            r"(models/)?gemini-.*",
            r"gemma-4.*",
            r"model-optimizer-.*",
            r"projects/.+/locations/.+/endpoints/.+",
            r"projects/.+/locations/.+/publishers/google/models/gemini.+",
        ]

    @property
    def capabilities(self) -> ModelCapabilities:
        """What the model can do, by its version."""
        version = self._version
        with_tools = version >= (3, 0) or (self._on_vertex and version >= (2, 0))
        return ModelCapabilities(
            structured_output_with_tools=with_tools,
            thinking=version >= (2, 5),
            caching=version >= (2, 0),
        )

    @property
    def pairs_calls_by_id(self) -> bool:
        """Whether results name their calls; interactions do so."""
        return self.use_interactions_api

    @property
    def api_client(self) -> Any:
        """A `google.genai.Client` with this model's login, for programs that want one.

        Requests use it only if a program brings it: a subclass overrides this property, or the
        program replaces `google.genai.Client` or how it sends requests. Programs that come through
        the alias get one client, which requests use from then on, as in google-adk.
        """
        if find_sdk(self.http_client):
            return self.http_client
        if follows_adk():
            if "api_client" not in vars(self):
                vars(self)["api_client"] = self._open_sdk_client()
            return vars(self)["api_client"]
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._open_sdk_client()
        return self._sdk_clients.get()

    async def aclose(self) -> None:
        """Close the running loop's connections; the next request opens others."""
        await super().aclose()
        await self._sdk_clients.aclose()

    async def count_tokens(self, llm_request: LlmRequest) -> int:
        """Return how many tokens the prompt of a request has, as the service counts them.

        Raises:
          ProviderError: the service did not count them.
        """
        try:
            client = await self._http_client_for(llm_request)
            body, name = self._body(llm_request), self._model_name(llm_request)
            if client.endpoint.on_vertex:
                counted = {field: body[field] for field in _COUNTED if field in body}
                return await client.count_tokens(name, counted)
            body["model"] = client.endpoint.model_path(name)
            return await client.count_tokens(name, {"generateContentRequest": body})
        except Exception as error:  # boundary: map the transport's errors to ours
            raise self._to_provider_error(error) or error from None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, of an embedding model such as `gemini-embedding-001`.

        Raises:
          ProviderError: the request failed; the class says why.
        """
        if not texts:
            return []
        try:
            client = await self._http_client_for(None)
            return await client.embed(self.model, texts)
        except Exception as error:  # boundary: map the transport's errors to ours
            raise self._to_provider_error(error) or error from None

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncGenerator[GeminiLlmConnection]:
        """Open a live connection (Spec 1 §17).

        Raises:
          ProviderError: the connection could not be opened.
        """
        self._check_names(llm_request)
        name = self._model_name(llm_request)
        seeds = speaks_in_realtime_only(name) and not self._on_vertex
        settings = live_settings(llm_request, self.speech_config, seeds_history=seeds)
        if not self._on_vertex:
            settings.setdefault("http_options", {"api_version": "v1alpha"})
        if self._has_sdk_client:
            manager = self.api_client.aio.live.connect(model=name, config=settings)
        else:
            manager = self._live_session(name, settings)
        async with self._opened_live(manager) as session:
            yield GeminiLlmConnection(session, self._api_backend, name, self._live_error)

    @asynccontextmanager
    async def _live_session(self, name: str, settings: dict[str, Any]) -> AsyncGenerator[Any]:
        client = await self._http_client_for(None)
        client = client.with_options(types.HttpOptions(**settings.pop("http_options", {})))
        request = client.request("GET", client.endpoint.live_url)
        headers = {**request.headers, **await self._credential().headers(request)}
        async with open_live_session(client.endpoint, headers, name, settings) as session:
            yield session

    def _generate(self, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        if self.use_interactions_api:
            return self._interact(llm_request, stream)
        if llm_request.cache_config is not None:
            return self._generate_with_cache(llm_request, stream)
        return self._answers(llm_request, stream)

    async def _client_for(self, llm_request: LlmRequest) -> Any:
        """Return the client for one request, after a check of its names."""
        self._check_names(llm_request)
        client = self.api_client if self._has_sdk_client else None
        return client or await self._http_client_for(llm_request)

    async def _interact(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Send the request through the interactions API."""
        client = await self._client_for(llm_request)
        responses = generate_content_via_interactions(client, llm_request, stream)
        async with Aclosing(responses):
            async for response in responses:
                yield response

    async def _generate_with_cache(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Send the request without the contents that the service has cached."""
        # Cached contents are removed from a copy; the caller's request may be sent again.
        llm_request = llm_request.model_copy(update={"config": llm_request.config.model_copy()})
        caches = GeminiContextCacheManager(await self._client_for(llm_request), self._wire)
        cache = await caches.handle_context_caching(llm_request)
        async with Aclosing(self._answers(llm_request, stream)) as answers:
            async for response in answers:
                if cache is not None and not response.partial:
                    caches.populate_cache_metadata_in_response(response, cache)
                yield response

    async def _answers(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Request the response: complete, or as a stream that ends with the complete response."""
        client, name = await self._client_for(llm_request), self._model_name(llm_request)
        if not stream and isinstance(client, GeminiClient):
            answer = await client.generate(name, self._body(llm_request), read_answer)
            yield LlmResponse.create(answer)
            return
        whole = StreamingResponseAggregator()
        if isinstance(client, GeminiClient):
            pieces = client.stream(name, self._body(llm_request), whole.add_json)
        else:
            sent = SdkRequest(name, llm_request.config, self._contents(llm_request))
            pieces = sdk_answers(client, sent, whole, developer=not self._on_vertex, stream=stream)
        async with Aclosing(pieces):
            async for piece in pieces:
                yield piece
        if stream:
            response = whole.close()
            if response is None or not whole.ended:
                raise self._bad_answer("the stream ended before the answer did")
            yield response

    def _body(self, llm_request: LlmRequest) -> dict[str, Any]:
        """Return the body of a request for content."""
        developer = not self._on_vertex
        return request_body(llm_request.config, self._contents(llm_request), developer=developer)

    def _contents(self, llm_request: LlmRequest) -> list[JsonItem]:
        """Return the contents of a request as JSON."""
        forms = self._forms.of_all(llm_request.contents, self._convert)
        sent = [form for form in forms if form["parts"]]
        if forms and not sent:
            raise Unsendable("contents that are all empty. Send at least one part that is not.")
        return sent

    def _model_name(self, llm_request: LlmRequest) -> str:
        """Return the model name of the request."""
        return llm_request.model or self.model

    def _wire(self, content: types.Content) -> JsonItem:
        """Return a content in wire format; each content is converted once."""
        return self._forms.of(content, self._convert)

    @property
    def _convert(self) -> Callable[[types.Content], JsonItem]:
        return wire_content if self._on_vertex else developer_content

    def _check_names(self, llm_request: LlmRequest) -> None:
        """Raise ModelRequestError for a function whose name the API would refuse."""
        for name in refused_function_names(llm_request.config):
            raise ModelRequestError(
                f"{self.provider.title} (model {self.model!r}) takes no function named {name!r}: a "
                f"name must match {FUNCTION_NAME.pattern}. Rename the tool.",
                provider=self.provider.name,
                model=self.model,
            )

    @cached_property
    def _api_backend(self) -> GoogleLLMVariant:
        """The service that is asked."""
        if find_sdk(self.http_client):
            asks = bool(self.http_client.vertexai)
        elif self.vertexai is None:
            asks = self.model.startswith("projects/") or is_enterprise_mode_enabled()
        else:
            asks = self.vertexai
        return GoogleLLMVariant.VERTEX_AI if asks else GoogleLLMVariant.GEMINI_API

    @property
    def _on_vertex(self) -> bool:
        return self._api_backend is GoogleLLMVariant.VERTEX_AI

    @property
    def _version(self) -> tuple[int, int]:
        """The model's version; that of a new one whose name has none is the latest."""
        found = _VERSION.match(extract_model_name(self.model))
        if found is not None:
            return int(found[1]), int(found[2] or 0)
        return _LATEST if is_new_gemini(self.model) else (0, 0)

    @property
    def _has_sdk_client(self) -> bool:
        """Whether a program brings a client of google-genai, which requests then use."""
        is_overridden = inspect.getattr_static(type(self), "api_client") is not _OWN_API_CLIENT
        is_brought = is_overridden or bool(find_sdk(self.http_client))
        return is_brought or "api_client" in vars(self) or is_sdk_replaced()

    def _place(self) -> str | None:
        """Return the base URL of the API, or None for Google's default."""
        return self.base_url if self._on_vertex else super()._place()

    def _http_options(self) -> dict[str, Any]:
        """Return the place, version and headers of requests that differ from the defaults."""
        place = self._place()
        return {"base_url": place} if place else {}

    async def _http_client_for(self, llm_request: LlmRequest | None) -> GeminiClient:
        """Return the client for one request, with the request's own options."""
        options = self._http_options()
        endpoint = await self._endpoint(options.get("base_url"), options.get("api_version"))
        headers = options.get("headers")
        client = GeminiClient(self._transport, endpoint, self.timeout, headers)
        return client.with_options(llm_request.config.http_options if llm_request else None)

    async def _endpoint(self, place: str | None, version: str | None) -> GeminiEndpoint:
        """Return the endpoint of the requests."""
        wanted = version or os.environ.get("GOOGLE_GENAI_API_VERSION", "")
        if not self._on_vertex:
            return developer_endpoint(place, "v1beta" if wanted == "beta" else wanted or "v1")
        version = "v1beta1" if wanted in ("", "beta") else wanted
        if self._vertex_key_source is not None:
            return vertex_endpoint(place, version, None, None)
        project, location = self._cloud_place
        is_google = place is None or place.rstrip("/").endswith(".googleapis.com")
        if place is not None and not is_google and not (project and location):
            return GeminiEndpoint(place, None, on_vertex=True, is_gateway=True)
        if not project and not self.model.startswith("projects/"):
            project = await self._google.project()
            if not project:
                raise ModelUnavailableError(
                    f"No project for model {self.model!r} on Vertex AI: set GOOGLE_CLOUD_PROJECT "
                    "or pass project.",
                    provider=self.provider.name,
                    model=self.model,
                )
        return vertex_endpoint(place, version, project, location or "global")

    @property
    def _cloud_place(self) -> tuple[str | None, str | None]:
        """The Google Cloud project and its region, each None if unknown."""
        project = self.project or os.environ.get("GOOGLE_CLOUD_PROJECT")
        return project, self.location or os.environ.get("GOOGLE_CLOUD_LOCATION")

    @property
    def _vertex_key_source(self) -> str | None:
        """Where the API key for Vertex AI comes from; None for a login of Google Cloud."""
        if self.api_key is not None:
            return "api_key"
        if self.credentials is not None or any(self._cloud_place):
            return None
        return self.provider.key_name

    def _credential(self) -> Credential:
        """Return the credential of a request: a key or a Google Cloud login."""
        if not self._on_vertex or self._vertex_key_source is not None:
            return self._key_credential(header="x-goog-api-key", prefix="")
        if self.base_url and self.credentials is None and not all(self._cloud_place):
            return NoCredential()  # a gateway, which brings its own
        return self._google

    def _open_sdk_client(self) -> Any:
        """Open a client of google-genai."""
        login: dict[str, Any] = {"vertexai": self._on_vertex}
        if not self._on_vertex:
            has_own = is_sdk_replaced()  # what replaces the SDK may need no key
            login["api_key"] = self._own_key() or self.provider.key if has_own else self._login()
        elif key := self._own_key():
            login["api_key"] = key
        else:
            login["project"], login["location"] = self._cloud_place
            login["credentials"] = self.credentials
        return open_sdk_client(login, self._http_options())

    def _live_error(self, error: Exception) -> Exception:
        """Return an error of a live connection as a ProviderError, if it is known.

        The SDK reports a closed connection as an APIError with the close code as its status.
        """
        if type(error).__module__.startswith("google.genai"):
            code: object = getattr(error, "code", None)
            if isinstance(code, int) and 1000 <= code < 5000:
                return self._make_close_error(code, str(getattr(error, "details", None) or ""))
        return super()._live_error(error)

    def _sdk_error_class(self, error: Exception, known: ProviderError) -> type[Exception] | None:
        return sdk_error_class(known.status)

    def _explain(self, error: Exception) -> ProviderError | None:
        """Return the ProviderError for an error of the transport, a login or the SDK."""
        if type(error).__module__.startswith("google.auth"):
            return self._no_login(error)
        if type(error).__module__.startswith("websockets"):
            return None
        if isinstance(error, json.JSONDecodeError):  # the SDK lets it through
            return self._bad_answer(error.doc[:200] or "it is empty")
        known = super()._explain(error)
        if known is not None:
            return known
        meant = explain_sdk_error(error)
        return super()._explain(meant) if meant is not None else None

    def _explain_status(self, error: HttpStatusError) -> ProviderError:
        """Return the ProviderError for a response with an error status."""
        try:
            body: Any = json.loads(error.body)
        except (ValueError, RecursionError):
            body = None
        body = next(iter(items_of(body)), body)  # some streams begin a list
        is_known = bool(fields_of(fields_of(body).get("error")))
        detail = error_words(body) if is_known else error.text
        wait = retry_after(error.headers)
        wait = wanted_delay(body) if wait is None else wait
        refused = self._make_status_error(error.status, detail, retry_after=wait)
        if error.status == 400 and (_BAD_KEY in error.text or "API key not valid" in detail):
            return ModelAuthError(
                f"{refused} Check {' or '.join(self.provider.keys)}.",
                provider=self.provider.name,
                model=self.model,
                status=error.status,
            )
        return refused

    def _no_login(self, error: Exception) -> ProviderError:
        """Return the ProviderError for an error of google-auth."""
        if type(error).__name__ == "DefaultCredentialsError":
            return ModelUnavailableError(
                f"No login for model {self.model!r} on Vertex AI: run `gcloud auth "
                "application-default login`, or pass credentials and project.",
                provider=self.provider.name,
                model=self.model,
            )
        if type(error).__name__ == "TransportError":
            return self._unreachable(str(error))
        return ModelAuthError(
            f"Google Cloud refused the login for model {self.model!r}: "
            f"{self._clean_detail(str(error))} Log in again, or check the credentials.",
            provider=self.provider.name,
            model=self.model,
        )


_OWN_API_CLIENT = inspect.getattr_static(Gemini, "api_client")


async def _close_sdk_client(client: Any) -> None:
    closing = client.aio.aclose()
    if inspect.isawaitable(closing):  # a mock's may not be
        await closing
    client.close()
