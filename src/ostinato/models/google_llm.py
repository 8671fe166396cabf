"""Gemini: Google's models, on the Gemini Developer API or on Vertex AI, through google-genai. The
registry names it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, PrivateAttr, ValidationError

from .. import types
from .._aclosing import Aclosing
from .._optional import need
from ..errors import ModelAuthError, ModelRequestError, ModelUnavailableError, ProviderError
from ..features.environment import GoogleLLMVariant, is_enterprise_mode_enabled
from .capabilities import ModelCapabilities
from .client_per_loop import ClientPerLoop
from .converted import Converted
from .gemini_context_cache_manager import GeminiContextCacheManager
from .gemini_llm_connection import GeminiLlmConnection, speaks_in_realtime_only
from .interactions_utils import generate_content_via_interactions
from .live_llm import MAX_MESSAGE, LiveLlm
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .model_names import extract_model_name
from .response_bound import bound_response
from .retry_after import retry_after
from .streaming_response import StreamingResponseAggregator
from .wire.gemini_contents import developer_content, wire_content
from .wire.gemini_live import live_settings
from .wire.gemini_settings import FUNCTION_NAME, refused_function_names, sdk_settings

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_LATEST = (99, 0)
_BAD_KEY = "API_KEY_INVALID"
_RETRY_DELAY = re.compile(r'"retryDelay": "(\d+(?:\.\d+)?)s"')
_CONNECT_S = 30.0


class _Opened(NamedTuple):
    """A client of the SDK, and the HTTP client below it."""

    sdk: Any
    http: Any


class Gemini(LiveLlm):
    """A Gemini model (Spec 2 §5).

    Attributes:
      model: its name, or a path of Vertex AI that begins with `projects/`.
      base_url: where the API is, if not at Google's own place.
      speech_config: the voice of live connections.
      use_interactions_api: whether to chain requests as interactions, which the service keeps.
      retry_options: how failed requests are tried again. The SDK does not: this package does.
      vertexai: whether to ask Vertex AI; from the environment where it is not given.
      project: the project on Google Cloud; from GOOGLE_CLOUD_PROJECT where it is not given.
      location: its region; from GOOGLE_CLOUD_LOCATION where it is not given.
      credentials: credentials of google-auth; the environment's own where they are not given.
    """

    provider_name: ClassVar[str] = "google"

    model: str = "gemini-2.5-flash"
    speech_config: types.SpeechConfig | None = None
    use_interactions_api: bool = False
    retry_options: types.HttpRetryOptions | None = None
    vertexai: bool | None = None
    project: str | None = None
    location: str | None = None
    credentials: Any = Field(default=None, exclude=True, repr=False)

    _opened: ClientPerLoop[_Opened] = PrivateAttr()
    _forms: Converted[dict[str, Any]] = PrivateAttr(default_factory=Converted[dict[str, Any]])

    def model_post_init(self, context: Any, /) -> None:
        """Prepare for clients, which are opened on first use."""
        super().model_post_init(context)
        self._opened = ClientPerLoop(self._open, _close)

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
    def api_client(self) -> Any:
        """The running loop's `google.genai.Client`; a new one where no loop runs.

        A subclass may override it to bring its own.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._open().sdk
        return self._opened.get().sdk

    async def aclose(self) -> None:
        """Close the running loop's client; the next request opens another."""
        await self._opened.aclose()

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncGenerator[GeminiLlmConnection]:
        """Open a live connection (Spec 1 §17).

        Raises:
          ProviderError: it did not come about; the class says why.
        """
        self._check_names(llm_request)
        name = self._model_name(llm_request)
        seeds = speaks_in_realtime_only(name) and not self._on_vertex
        settings = live_settings(llm_request, self.speech_config, seeds_history=seeds)
        if not self._on_vertex:
            settings.setdefault("http_options", {"api_version": "v1alpha"})
        manager = self.api_client.aio.live.connect(model=name, config=settings)
        async with self._opened_live(manager) as session:
            yield GeminiLlmConnection(session, self._api_backend, name, self._live_error)

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Ask once, with what is cached left out of the request."""
        self._check_names(llm_request)
        if self.use_interactions_api:
            async with Aclosing(self._interact(llm_request, stream)) as responses:
                async for response in responses:
                    yield response
            return
        cache = caches = None
        if llm_request.cache_config is not None:
            # What is cached leaves the request; the caller's stays whole, to be sent again.
            llm_request = llm_request.model_copy(update={"config": llm_request.config.model_copy()})
            caches = GeminiContextCacheManager(self.api_client, self._wire)
            cache = await caches.handle_context_caching(llm_request)
        answers = self._stream(llm_request) if stream else self._whole(llm_request)
        async with Aclosing(answers):
            async for response in answers:
                if caches is not None and cache is not None and not response.partial:
                    caches.populate_cache_metadata_in_response(response, cache)
                yield response

    async def _whole(self, llm_request: LlmRequest) -> AsyncGenerator[LlmResponse, None]:
        """Ask for the answer in one piece."""
        answer = await self.api_client.aio.models.generate_content(**self._arguments(llm_request))
        yield LlmResponse.create(types.GenerateContentResponse.model_validate(answer))

    async def _stream(self, llm_request: LlmRequest) -> AsyncGenerator[LlmResponse, None]:
        """Ask for the answer in pieces."""
        models = self.api_client.aio.models
        chunks = await models.generate_content_stream(**self._arguments(llm_request))
        whole = StreamingResponseAggregator()
        async with Aclosing(chunks):
            async for chunk in chunks:
                async for piece in whole.process_response(chunk):
                    yield piece
        response = whole.close()
        if response is None or not whole.ended:
            raise self._bad_answer("the stream ended before the answer did")
        yield response

    async def _interact(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Ask through the interactions API."""
        responses = generate_content_via_interactions(self.api_client, llm_request, stream)
        async with Aclosing(responses):
            async for response in responses:
                yield response

    def _arguments(self, llm_request: LlmRequest) -> dict[str, Any]:
        """Return the arguments of the SDK's call."""
        convert, form_of = self._convert, self._forms.of
        contents = [form_of(content, convert) for content in llm_request.contents]
        return {
            "model": self._model_name(llm_request),
            "contents": ".",  # the SDK wants one; `sdk_settings` puts ours in its place
            "config": sdk_settings(llm_request.config, contents, developer=not self._on_vertex),
        }

    def _model_name(self, llm_request: LlmRequest) -> str:
        """Return the name to ask for."""
        return llm_request.model or self.model

    def _wire(self, content: types.Content) -> dict[str, Any]:
        """Return a content on the wire; converted once in its life."""
        return self._forms.of(content, self._convert)

    @property
    def _convert(self) -> Callable[[types.Content], dict[str, Any]]:
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
        if self.vertexai is None:
            asks = self.model.startswith("projects/") or is_enterprise_mode_enabled()
        else:
            asks = self.vertexai
        return GoogleLLMVariant.VERTEX_AI if asks else GoogleLLMVariant.GEMINI_API

    @property
    def _on_vertex(self) -> bool:
        return self._api_backend is GoogleLLMVariant.VERTEX_AI

    @property
    def _version(self) -> tuple[int, int]:
        """The model's version; that of an alias without one is the latest."""
        name = extract_model_name(self.model)
        found = _VERSION.match(name)
        if found is not None:
            return int(found[1]), int(found[2] or 0)
        return _LATEST if name.endswith("-latest") else (0, 0)

    def _place(self) -> str | None:
        """Return where the API is; None leaves it to the SDK."""
        return self.base_url if self._on_vertex else super()._place()

    def _http_options(self) -> dict[str, Any]:
        """Return what a client is opened with, beside its login."""
        place = self._place()
        return {"base_url": place} if place else {}

    def _open(self) -> _Opened:
        """Open a client."""
        genai = need("google.genai", extra="google")
        http = self._open_http(genai)
        # Our own retries go by our errors; the SDK's would come on top of them.
        once = genai.types.HttpRetryOptions(attempts=1)
        options = {**self._http_options(), "httpx_async_client": http, "retry_options": once}
        # With an HTTP client of ours, these are for live connections alone.
        options["async_client_args"] = {"close_timeout": 2, "max_size": MAX_MESSAGE}
        client = self._client(genai, options)
        # google-genai 2 makes 1 of a 0 above, and its interactions read it as one retry, later.
        once.attempts = 0
        return _Opened(client, http)

    def _client(self, genai: Any, options: dict[str, Any]) -> Any:
        """Return a client of the SDK with a login.

        Raises:
          ModelUnavailableError: there is none.
        """
        if not self._on_vertex:
            return genai.Client(vertexai=False, api_key=self._login(), http_options=options)
        key = self.api_key.get_secret_value() if self.api_key is not None else None
        login: dict[str, Any] = {"api_key": key} if key else {}
        if key is None:
            login["project"] = self.project or os.environ.get("GOOGLE_CLOUD_PROJECT")
            login["location"] = self.location or os.environ.get("GOOGLE_CLOUD_LOCATION")
            login["credentials"] = self.credentials
        return genai.Client(vertexai=True, http_options=options, **login)

    def _open_http(self, genai: Any) -> Any:
        """Open the HTTP client: bounded, waiting `timeout` seconds for each byte."""
        is_old = int(str(genai.__version__).partition(".")[0]) < 3
        library = need("httpx" if is_old else "httpx2", extra="google")
        waits = {"connect": _CONNECT_S, "read": self.timeout, "write": self.timeout, "pool": None}

        async def wait(request: Any) -> None:
            timeouts: dict[str, Any] = request.extensions.get("timeout") or {}
            if timeouts.get("read") is None:  # the SDK names none unless the request does
                request.extensions = {**request.extensions, "timeout": waits}

        hooks = {"request": [wait], "response": [bound_response]}
        return library.AsyncClient(event_hooks=hooks, follow_redirects=True)

    def _live_error(self, error: Exception) -> Exception:
        """Return an error of a live connection in our words.

        The SDK makes an APIError of a closed connection, with the close code as its status.
        """
        code = getattr(error, "code", None)
        if type(error).__module__.startswith("google.genai") and isinstance(code, int):
            if 1000 <= code < 5000:
                return self._closed(code, str(getattr(error, "details", None) or ""))
        if isinstance(error, ValueError) and str(error).startswith("Failed to parse response"):
            return self._bad_answer("a message of it is not JSON")
        if isinstance(error, TypeError) and _raised_in(error, "google.genai"):
            return self._bad_answer("a message of it is none that google-genai knows")
        return super()._live_error(error)

    def _explain(self, error: Exception) -> ProviderError | None:
        """Return an error of the SDK, of its HTTP library or of its login in our words."""
        root, name = type(error).__module__.partition(".")[0], type(error).__name__
        if root in ("httpx", "httpx2"):
            return self._explain_http(error, sys.modules[root])
        if root == "google" and type(error).__module__.startswith("google.auth"):
            return self._no_login(error)
        if isinstance(error, json.JSONDecodeError):
            return self._bad_answer(error.doc[:200] or "it is empty")
        if name in ("UnknownApiResponseError", "ResponseValidationError"):
            return self._bad_answer(str(error).rpartition("Raw response: ")[2])
        if isinstance(error, ValidationError) and error.title.endswith("Response"):
            wrong = (f"{'.'.join(map(str, x['loc']))}: {x['msg']}" for x in error.errors())
            return self._bad_answer("; ".join(wrong))
        status = getattr(error, "code", None) or getattr(error, "status_code", None)
        if root == "google" and isinstance(status, int):
            return self._explain_status(error, status)
        if root == "google" and isinstance(error.__cause__, Exception):
            return self._explain(error.__cause__)
        if isinstance(error, ValueError) and _raised_in(error, "google.genai"):
            return ModelRequestError(
                f"google-genai does not send this request to model {self.model!r}: "
                f"{self._cleaned(str(error))} Change generate_content_config or the tools.",
                provider=self.provider.name,
                model=self.model,
            )
        return None

    def _explain_http(self, error: Exception, library: Any) -> ProviderError | None:
        """Return an error of the HTTP library in our words."""
        if isinstance(error, (library.ConnectError, library.ConnectTimeout)):
            return self._unreachable(str(error))
        if isinstance(error, library.TimeoutException):
            return self._timed_out()
        if "without sending a response" in str(error) or isinstance(error, library.WriteError):
            return self._unreachable(str(error))
        if isinstance(error, library.TransportError):
            return self._bad_answer(f"the connection broke ({str(error) or type(error).__name__})")
        if isinstance(error, (library.InvalidURL, library.HTTPError)):
            return self._unreachable(str(error))
        return None

    def _explain_status(self, error: Any, status: int) -> ProviderError:
        """Return an answer with an HTTP error status in our words."""
        body: Any = getattr(error, "details", None) or getattr(error, "body", None)
        detail = str(getattr(error, "message", None) or body or error)
        if status < 400:  # an error inside a stream may carry no status of HTTP
            return self._bad_answer(detail, retryable=False)
        refused = self._refused(
            status, detail, retry_after=_wait(body, getattr(error, "response", None))
        )
        if status == 400 and (_BAD_KEY in str(body) or "API key not valid" in detail):
            return ModelAuthError(
                f"{refused} Check {' or '.join(self.provider.keys)}.",
                provider=self.provider.name,
                model=self.model,
                status=status,
            )
        return refused

    def _no_login(self, error: Exception) -> ProviderError:
        """Return an error of google-auth in our words."""
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
            f"{self._cleaned(str(error))} Log in again, or check the credentials.",
            provider=self.provider.name,
            model=self.model,
        )


async def _close(opened: _Opened) -> None:
    await opened.sdk.aio.aclose()
    opened.sdk.close()
    await opened.http.aclose()


def _raised_in(error: Exception, package: str) -> bool:
    """Tell whether the innermost frame of an error's traceback lies in a package."""
    trace, module = error.__traceback__, ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return module == package or module.startswith(f"{package}.")


def _wait(body: Any, response: Any) -> float | None:
    """Return the seconds to wait that an answer asks for, in its headers or its body."""
    told = retry_after(response.headers) if response is not None else None
    if told is not None:
        return told
    asked = _RETRY_DELAY.search(json.dumps(body, default=str))
    return float(asked[1]) if asked else None
