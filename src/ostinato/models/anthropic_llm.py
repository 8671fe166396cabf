"""Adapters to Claude models at Anthropic's API and on Vertex AI."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import PrivateAttr

from .._absences import refuse_absent
from .._aclosing import Aclosing
from ..errors import ModelUnavailableError, ProviderError
from .capabilities import ModelCapabilities
from .converted import Converted
from .google_credentials import GoogleCredential
from .http.credentials import Credential
from .http.errors import HttpCutOffError, HttpStatusError
from .http.events import ServerSentEvent
from .http.messages import HttpRequest
from .http.transport import HttpStream
from .http.urls import join_url
from .http_llm import HttpLlm
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .request_text import instruction_text
from .retry_after import retry_after
from .wire import claude_request
from .wire.claude_answer import ClaudeAnswer
from .wire.claude_messages import conversation, messages_of
from .wire.claude_schema import claude_schema
from .wire.faults import BadAnswer, Unsendable
from .wire.json_item import json_bytes
from .wire.json_schema import output_schema_of
from .wire.reading import fields_of, number_of, read_json, text_of
from .wire.surrogates import SplitPairs
from .wire.turns import Turn, items_for

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


_PLACE = "https://api.anthropic.com"
_MOST_PAUSES = 20
# The version of the format, for the API itself in a header.
_VERSION = "2026-10-21"
# Regions of Vertex AI that have a host of their own form.
_MULTI_REGIONS = ("us", "eu")
# What a request to count tokens may hold.
_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
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


class AnthropicLlm(HttpLlm):
    """A Claude model at Anthropic's API, or at a server that speaks its format.

    What the API does not take (seed, penalties, log probabilities, several candidates) is left out
    of requests. `config.http_options` adds `headers` and `extra_body` to them.

    Attributes:
      max_tokens: the most tokens of an answer, thoughts not counted, where a request does not say.
    """

    provider_name: ClassVar[str] = "anthropic"
    sdk_package: ClassVar[str] = "anthropic"
    most_deferred: ClassVar[int] = 1_000
    """The most tools left to the API's own search; each request carries all their declarations."""

    model: str = "claude-sonnet-4-6"
    max_tokens: int = 8192

    _converted: Converted[Turn] = PrivateAttr(default_factory=Converted[Turn])

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the pattern of Claude's names."""
        return [r"claude-.*"]

    @property
    def pairs_calls_by_id(self) -> bool:
        """True: each result names its call."""
        return True

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
            tool_search=self.most_deferred if claude_request.has_tool_search(self.model) else 0,
        )

    async def count_tokens(self, llm_request: LlmRequest) -> int:
        """Return how many tokens the prompt of a request has, as the API counts them.

        Raises:
          ProviderError: the API did not count them.
        """
        try:
            body = self._body(llm_request)
            counted = {name: body[name] for name in _COUNTED if name in body}
            request = self._request(self._count_url(body["model"]), counted, llm_request)
            async with self._transport.stream(request) as answer:
                found = fields_of((await answer.read()).json())
                count = number_of(found.get("input_tokens"))
                if count is None:
                    raise BadAnswer("its count of tokens is no number")
                return count
        except Exception as error:  # boundary: map the transport's errors to ours
            raise self._to_provider_error(error) or error from None

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        body = self._body(llm_request)
        said: list[Any] = body["messages"]
        answer = ClaudeAnswer()
        for _ in range(_MOST_PAUSES):
            sent = {**body, "stream": True} if stream else body
            async with self._transport.stream(self._build_request(sent, llm_request)) as http:
                if not stream:
                    answer.take((await http.read()).text)
                else:
                    async with Aclosing(await _open_stream(http, answer)) as pieces:
                        try:
                            async for piece in pieces:
                                yield piece
                        except HttpCutOffError:
                            if not answer.is_whole:
                                raise
                    answer.check_end()
            if answer.stop_reason != "pause_turn":
                break
            # The API paused a long turn; it continues once it gets its answer back.
            body["messages"] = [*said, {"role": "assistant", "content": answer.blocks}]
        yield answer.response()

    def _build_request(self, body: dict[str, Any], llm_request: LlmRequest) -> HttpRequest:
        """Return the HTTP request for a body."""
        return self._request(join_url(self._place() or _PLACE, "/v1/messages"), body, llm_request)

    def _count_url(self, model: str) -> str:
        """Return the URL that counts tokens."""
        return join_url(self._place() or _PLACE, "/v1/messages/count_tokens")

    def _request(self, url: str, body: dict[str, Any], llm_request: LlmRequest) -> HttpRequest:
        return self._http_request(url, body, llm_request, {"anthropic-version": _VERSION})

    def _body(self, llm_request: LlmRequest) -> dict[str, Any]:
        """Return a request's body, without how it is to be answered."""
        self._maybe_append_user_content(llm_request)
        config, model = llm_request.config, llm_request.model or self.model
        tools = claude_request.tools(config, llm_request.deferred_tools)
        said = items_for(llm_request.contents, messages_of, self._converted)
        said = claude_request.fit_searches(said, tools)
        body: dict[str, Any] = {"model": model, "messages": conversation(said)}
        if tools:
            body["tools"] = tools
            if choice := claude_request.tool_choice(config):
                body["tool_choice"] = choice
        body |= claude_request.thinking(config, model, self.max_tokens)
        body |= claude_request.sampling(config)
        if schema := output_schema_of(config):
            form = {"type": "json_schema", "schema": self._convert_schema(schema)}
            body["output_config"] = {**body.get("output_config", {}), "format": form}
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

    def _convert_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema in the dialect of the API: closed objects, few limits."""
        if not self.capabilities.structured_output:
            raise Unsendable("an output schema; choose Claude 4.5 or newer.")
        return claude_schema(schema)

    def _explain(self, error: Exception) -> ProviderError | None:
        if isinstance(error, Unsendable):
            title = self.provider.title
            return self._request_error(f"{title} (model {self.model!r}) does not take {error}")
        if isinstance(error, RecursionError):
            return self._bad_answer(str(error))
        return super()._explain(error)

    def _explain_status(self, error: HttpStatusError) -> ProviderError:
        """Return the ProviderError for an error response or an error event of a stream."""
        try:
            said = fields_of(fields_of(json.loads(error.body)).get("error"))
        except (ValueError, RecursionError):
            said = dict[str, Any]()
        detail = text_of(said.get("message")) or error.text
        return self._make_status_error(error.status, detail, retry_after=retry_after(error.headers))


async def _open_stream(http: HttpStream, answer: ClaudeAnswer) -> AsyncGenerator[LlmResponse, None]:
    """Return the partial responses of a stream, each of which is added to `answer`.

    Raises:
      HttpStatusError: the stream holds an error.
      BadAnswer: the response is not a stream of the API.
    """
    if http.content_type != "text/event-stream":
        raise BadAnswer((await http.read()).text)
    pairs = SplitPairs()

    def read(event: ServerSentEvent) -> LlmResponse | None:
        data = read_json(event.data, pairs)
        if event.event == "error" or data.get("type") == "error":
            raise _event_error(data, http)
        return answer.feed(data)

    return http.read_events(read)


def _event_error(data: Any, http: HttpStream) -> HttpStatusError:
    kind = text_of(fields_of(fields_of(data).get("error")).get("type"))
    return HttpStatusError(_STATUS.get(kind, 500), http.headers, json_bytes(data))


class Claude(AnthropicLlm):
    """A Claude model on Vertex AI, with Google's login.

    Project and region come from a name such as
    `projects/P/locations/L/publishers/anthropic/models/M`, else from GOOGLE_CLOUD_PROJECT and
    GOOGLE_CLOUD_LOCATION. `api_key` takes an access token in place of the application default
    credentials.
    """

    provider_name: ClassVar[str] = "claude-vertex"
    sdk_package: ClassVar[str] = ""
    most_deferred: ClassVar[int] = 0  # Vertex AI has no tool search outside of a beta

    _google: GoogleCredential = PrivateAttr(default_factory=GoogleCredential)

    def _build_request(self, body: dict[str, Any], llm_request: LlmRequest) -> HttpRequest:
        """Return the HTTP request to the model's path, with the body without the model name."""
        place, model = self._region_url(body["model"])
        ask = "streamRawPredict" if body.get("stream") else "rawPredict"
        rest = {name: value for name, value in body.items() if name != "model"}
        sent = {"anthropic_version": _VERSION, **rest}
        return self._http_request(f"{place}/{model}:{ask}", sent, llm_request)

    def _count_url(self, model: str) -> str:
        return f"{self._region_url(model)[0]}/count-tokens:rawPredict"

    def _request(self, url: str, body: dict[str, Any], llm_request: LlmRequest) -> HttpRequest:
        sent = {"anthropic_version": _VERSION, **body}
        if match := _VERTEX_NAME.fullmatch(str(body.get("model"))):
            sent["model"] = match[3]
        return self._http_request(url, sent, llm_request)

    def _region_url(self, model: str) -> tuple[str, str]:
        """Return the URL of the models in the project's region, and the model's own name."""
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
        place = self.base_url or os.environ.get("ANTHROPIC_VERTEX_BASE_URL") or _vertex_url(region)
        path = f"/projects/{quote(project)}/locations/{quote(region)}/publishers/anthropic/models"
        return join_url(place, path), quote(match[3] if match else model, safe="@")

    def _credential(self) -> Credential:
        """Return the credential of a request: the given token or a Google login."""
        return self._google if self.api_key is None else self._key_credential()

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


def _vertex_url(region: str) -> str:
    if region == "global":
        return "https://aiplatform.googleapis.com/v1"
    if region in _MULTI_REGIONS:
        return f"https://aiplatform.{region}.rep.googleapis.com/v1"
    return f"https://{quote(region)}-aiplatform.googleapis.com/v1"
