"""Claude at Anthropic's own API and on Vertex AI, through the SDK `anthropic`. The registry names
these classes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import PrivateAttr

from .._aclosing import Aclosing
from .._optional import need
from ..errors import ModelRequestError, ModelUnavailableError, ProviderError
from .capabilities import ModelCapabilities
from .client_per_loop import ClientPerLoop
from .converted import Converted
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .provider_llm import ProviderLlm
from .request_text import instruction_text
from .response_bound import bound_response
from .retry_after import retry_after
from .wire import claude_request
from .wire.claude_answer import ClaudeAnswer
from .wire.claude_messages import conversation, messages_of
from .wire.faults import BadAnswer, Unsendable
from .wire.json_schema import output_schema_of
from .wire.turns import Turn, items_for

_CONNECT_S = 10.0
_MOST_PAUSES = 20
_AUTH_TOKEN = "ANTHROPIC_AUTH_TOKEN"
# The version of the format that the SDK 2.12 asks for, at the API in a header.
_VERSION = "2026-10-21"
_VERTEX_NAME = re.compile(r"projects/(.+)/locations/(.+)/publishers/anthropic/models/(.+)")
# What an error inside a stream is called, and the HTTP status it would have had before one.
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicLlm(ProviderLlm):
    """A Claude model at Anthropic's API, or at a server that speaks its format.

    What the API does not take (seed, penalties, log probabilities, several candidates) is left out
    of requests. `config.http_options` adds `headers` and `extra_body` to them.

    Attributes:
      max_tokens: the most tokens of an answer, thoughts not counted, where a request does not say.
    """

    provider_name: ClassVar[str] = "anthropic"

    model: str = "claude-sonnet-4-6"
    max_tokens: int = 8192

    _clients: ClientPerLoop[Any] = PrivateAttr()
    _converted: Converted[Turn] = PrivateAttr(default_factory=Converted[Turn])

    def model_post_init(self, context: Any, /) -> None:
        """Make the place for clients; none is opened before the first request."""
        super().model_post_init(context)
        self._clients = ClientPerLoop(self._open, lambda client: client.close())

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the pattern of Claude's names."""
        return [r"claude-.*"]

    @property
    def capabilities(self) -> ModelCapabilities:
        """What Claude can do; models older than 4.5 do not follow a schema by themselves."""
        version = claude_request.version(self.model)
        return ModelCapabilities(
            structured_output=version >= (4, 5),
            structured_output_with_tools=version >= (4, 5),
            thinking=version >= (3, 7),
            caching=True,
            audio=False,
        )

    async def aclose(self) -> None:
        """Close the running loop's client."""
        await self._clients.aclose()

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        body = self._body(llm_request)
        said: list[Any] = body["messages"]
        headers = _headers(llm_request)
        answer = ClaudeAnswer()
        for _ in range(_MOST_PAUSES):
            if stream:
                pieces = self._streamed(body, headers, answer)
                async with Aclosing(pieces):
                    async for piece in pieces:
                        yield piece
            else:
                answer.take(await self._post(body, headers, stream=False))
            if answer.stop_reason != "pause_turn":
                break
            # Tools of the API's own take long: it goes on when it gets its words back.
            body["messages"] = [*said, {"role": "assistant", "content": answer.blocks}]
        yield answer.response()

    async def _streamed(
        self, body: dict[str, Any], headers: dict[str, str], answer: ClaudeAnswer
    ) -> AsyncGenerator[LlmResponse, None]:
        """Read a stream into `answer` and yield its pieces."""
        transport_error = need("httpx2", extra="anthropic").TransportError
        async with await self._post(body, headers, stream=True) as events:
            http = events.response
            if not http.headers.get("content-type", "").startswith("text/event-stream"):
                await http.aread()
                raise self._bad_answer(http.text)
            try:
                async for event in events:
                    piece = answer.feed(event)
                    if piece is not None:
                        yield piece
            except transport_error:
                if not answer.is_whole:
                    raise
        answer.check_end()

    async def _post(self, body: dict[str, Any], headers: dict[str, str], *, stream: bool) -> Any:
        """Send a request and return the answer's text or its stream.

        The SDK is handed bytes, because it would walk through a body of objects at each request,
        and copy it for Vertex AI.
        """
        path, sent = self._addressed({**body, "stream": True} if stream else body, stream)
        events = need("anthropic", extra="anthropic").AsyncStream
        return await self._clients.get().post(
            path,
            content=json.dumps(sent, ensure_ascii=False).encode("utf-8", "replace"),
            options={"headers": headers},
            cast_to=object if stream else str,
            stream=stream,
            stream_cls=events[object],
        )

    def _addressed(self, body: dict[str, Any], stream: bool) -> tuple[str, dict[str, Any]]:
        """Return the path for a request, and the body as it is sent there."""
        return "/v1/messages", body

    def _body(self, llm_request: LlmRequest) -> dict[str, Any]:
        """Return a request's body, without how it is to be answered."""
        self._maybe_append_user_content(llm_request)
        config, model = llm_request.config, llm_request.model or self.model
        try:
            said = items_for(llm_request.contents, messages_of, self._converted)
            body: dict[str, Any] = {"model": model, "messages": conversation(said)}
            if tools := claude_request.tools(config):
                body["tools"] = tools
                if choice := claude_request.tool_choice(config):
                    body["tool_choice"] = choice
            body |= claude_request.thinking(config, model, self.max_tokens)
            body |= claude_request.sampling(config)
            if schema := output_schema_of(config):
                form = {"type": "json_schema", "schema": self._accepted(schema)}
                body["output_config"] = {**body.get("output_config", {}), "format": form}
        except Unsendable as error:
            raise self._cannot(str(error)) from None
        if (system := instruction_text(config)).strip():
            body["system"] = system
        control = claude_request.cache_control(
            llm_request.cache_config, llm_request.cacheable_contents_token_count
        )
        if control is not None:
            claude_request.mark_for_cache(body, control)
        if config.http_options is not None:
            body |= config.http_options.extra_body or {}
        return body

    def _accepted(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema in the dialect of the API: closed objects, few limits."""
        if not self.capabilities.structured_output:
            raise self._cannot("an output schema; choose Claude 4.5 or newer.")
        try:
            return need("anthropic", extra="anthropic").transform_schema(schema)
        except (ValueError, AssertionError) as error:  # how the SDK says what it cannot express
            raise self._cannot(f"the output schema: {error or 'an unknown type.'}") from None

    def _cannot(self, what: str) -> ModelRequestError:
        return ModelRequestError(
            f"{self.provider.title} (model {self.model!r}) does not take {what}",
            provider=self.provider.name,
            model=self.model,
        )

    def _open(self) -> Any:
        """Open a client."""
        key = self._login()
        is_token = self.api_key is None and self.provider.key_name == _AUTH_TOKEN
        login = {"auth_token": key} if is_token else {"api_key": key}
        sdk = need("anthropic", extra="anthropic")
        return sdk.AsyncAnthropic(base_url=self._place(), **login, **self._transport(sdk))

    def _transport(self, sdk: Any) -> dict[str, Any]:
        """Return the settings of a client that have to do with HTTP."""
        return {
            "timeout": sdk.Timeout(self.timeout, connect=min(self.timeout, _CONNECT_S)),
            "max_retries": 0,
            # The run has spans of its own, and the SDK's would be inside them a second time.
            "open_telemetry": False,
            "http_client": sdk.DefaultAsyncHttpxClient(event_hooks={"response": [bound_response]}),
        }

    def _explain(self, error: Exception) -> ProviderError | None:
        sdk, http = need("anthropic", extra="anthropic"), need("httpx2", extra="anthropic")
        if isinstance(error, sdk.APIStatusError):
            return self._status(error)
        if isinstance(error, sdk.APIConnectionError):
            inner = error.__cause__ or error
            is_slow = isinstance(error, sdk.APITimeoutError)
            if is_slow and not isinstance(inner, http.ConnectTimeout):
                return self._timed_out()
            return self._unreachable(str(inner) or type(inner).__name__)
        if isinstance(error, http.TimeoutException):
            return self._timed_out()
        if isinstance(error, http.InvalidURL):
            return self._unreachable(str(error))
        if isinstance(error, http.RequestError):
            return self._bad_answer(f"the stream was cut: {error}")
        if isinstance(error, json.JSONDecodeError):
            return self._bad_answer(f"it is no JSON: {error}")
        if isinstance(error, (BadAnswer, RecursionError)):
            return self._bad_answer(str(error))
        return None

    def _status(self, error: Any) -> ProviderError:
        """Return the error for an answer, or an event of a stream, that is an error."""
        status: int = error.status_code
        if status < 400:
            status = _STATUS.get(error.type or "", 500)
        detail = error.api_message or (error.body if isinstance(error.body, str) else str(error))
        return self._refused(status, detail, retry_after=retry_after(error.response.headers))


class Claude(AnthropicLlm):
    """A Claude model on Vertex AI, with Google's login.

    Project and region come from a name such as
    `projects/P/locations/L/publishers/anthropic/models/M`, else from GOOGLE_CLOUD_PROJECT and
    GOOGLE_CLOUD_LOCATION. `api_key` takes an access token in place of the application default
    credentials.
    """

    provider_name: ClassVar[str] = "claude-vertex"

    def _addressed(self, body: dict[str, Any], stream: bool) -> tuple[str, dict[str, Any]]:
        """Return the path of the model and a body without its name (Vertex AI's own form)."""
        project, region, model = self._where(body["model"])
        ask = "streamRawPredict" if stream else "rawPredict"
        path = f"/projects/{project}/locations/{region}/publishers/anthropic/models/{model}:{ask}"
        rest = {name: value for name, value in body.items() if name != "model"}
        return path, {"anthropic_version": _VERSION, **rest}

    def _where(self, model: str) -> tuple[str, str, str]:
        """Return project, region and the model's own name."""
        match = _VERTEX_NAME.fullmatch(model)
        project = match[1] if match else os.environ.get("GOOGLE_CLOUD_PROJECT", "")
        region = match[2] if match else os.environ.get("GOOGLE_CLOUD_LOCATION", "")
        if not project or not region:
            raise ModelUnavailableError(
                f"No project or region for model {model!r} of {self.provider.title}: set "
                "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION.",
                provider=self.provider.name,
                model=self.model,
            )
        return quote(project), quote(region), quote(match[3] if match else model, safe="@")

    def _open(self) -> Any:
        project, region, _ = self._where(self.model)
        if self.api_key is None:
            need("google.auth", extra="google")  # the SDK's own error would name another package
        sdk = need("anthropic", extra="anthropic")
        return sdk.AsyncAnthropicVertex(
            project_id=project,
            region=region,
            access_token=self.api_key and self.api_key.get_secret_value(),
            base_url=self.base_url,
            **self._transport(sdk),
        )

    def _explain(self, error: Exception) -> ProviderError | None:
        if type(error).__module__ == "google.auth.exceptions":
            return ModelUnavailableError(
                f"No Google login for model {self.model!r} of {self.provider.title}: "
                f"{type(error).__name__}. Log in with `gcloud auth application-default "
                "login`, or set GOOGLE_APPLICATION_CREDENTIALS.",
                provider=self.provider.name,
                model=self.model,
            )
        return super()._explain(error)


def _headers(llm_request: LlmRequest) -> dict[str, str]:
    options = llm_request.config.http_options
    return {"content-type": "application/json", **((options and options.headers) or {})}
