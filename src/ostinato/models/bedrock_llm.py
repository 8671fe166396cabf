"""BedrockLlm, the adapter to models of Amazon Bedrock through its Converse API."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import Field, PrivateAttr

from .. import _clock
from .._aclosing import Aclosing
from ..errors import (
    ModelAuthError,
    ModelServerError,
    ModelUnavailableError,
    ProviderError,
)
from .aws_credentials import AwsCredential
from .capabilities import ModelCapabilities
from .converted import Converted
from .http.credentials import Credential
from .http.errors import HttpCutOffError, HttpStatusError
from .http.messages import Bounds, HttpRequest
from .http.stream import HttpStream
from .http.urls import join_url
from .http_llm import HttpLlm
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .retry_after import retry_after
from .wire import claude_request
from .wire.aws_event_stream import EventStreamReader, StreamMessage
from .wire.bedrock_answer import EXCEPTION_STATUS, BedrockAnswer
from .wire.bedrock_request import (
    converse_body,
    converse_messages_of,
    is_claude,
    mark_for_cache,
)
from .wire.faults import BadAnswer
from .wire.reading import fields_of, read_json, text_of
from .wire.surrogates import SplitPairs
from .wire.turns import Turn, items_for

_STREAM_TYPE = "application/vnd.amazon.eventstream"
_MODEL_FAILED = 424
_REGION_KEYS = ("AWS_REGION", "AWS_DEFAULT_REGION")
# Names of errors that concern the login, whatever their status.
_LOGIN_ERRORS = (
    "ExpiredToken",
    "InvalidSignature",
    "UnrecognizedClient",
    "InvalidClientToken",
    "RequestExpired",
    "RequestTimeTooSkewed",
)
_MOST_SKEW = 240.0  # seconds; signatures hold for five minutes


class BedrockLlm(HttpLlm):
    """A model of Amazon Bedrock.

    `api_key` takes a Bedrock API key; without one, requests are signed with the AWS login that
    botocore finds. `config.http_options` adds `headers` and `extra_body` to requests, such as a
    `guardrailConfig`.

    Attributes:
      model: its id or ARN, or those of an inference profile.
      max_tokens: the most tokens of an answer where a request does not say; None leaves it to the
        model.
      region: the AWS region; from the environment or the AWS configuration if None.
      profile: a profile of the AWS configuration.
      credentials: a login of botocore, in place of what it finds.
    """

    provider_name: ClassVar[str] = "bedrock"

    model: str = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    max_tokens: int | None = Field(default=None, gt=0)
    region: str | None = None
    profile: str | None = None
    credentials: Any = Field(default=None, exclude=True, repr=False)

    _aws: AwsCredential = PrivateAttr()
    _converted: Converted[Turn] = PrivateAttr(default_factory=Converted[Turn])

    def model_post_init(self, context: Any, /) -> None:
        """Prepare the login, which is resolved at the first request."""
        super().model_post_init(context)
        self._aws = AwsCredential("bedrock", self.region, self.profile, self.credentials)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the names this class serves."""
        return [r"((us|eu|apac|au|ca|jp|global|us-gov)\.)?[a-z0-9]+\.[a-z0-9.-]+-v\d+(:\d+)?"]

    @property
    def pairs_calls_by_id(self) -> bool:
        """True: each result names its call."""
        return True

    @property
    def capabilities(self) -> ModelCapabilities:
        """What the model can do, as far as its name says."""
        version = _claude_version(self.model)
        return ModelCapabilities(
            structured_output=version >= (4, 5),
            structured_output_with_tools=version >= (4, 5),
            thinking=version >= (3, 7),
            caching=version >= (3, 7),
            audio=False,
        )

    async def _generate(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        model = llm_request.model or self.model
        answer = BedrockAnswer(model, keeps_thoughts=is_claude(model))
        request = await self._request(model, llm_request, stream)
        async with self._transport.stream(request) as http:
            if stream:
                async with Aclosing(_read_stream(http, answer)) as pieces:
                    async for piece in pieces:
                        yield piece
            else:
                answer.take(read_json((await http.read()).text))
            yield answer.response()

    async def _request(self, model: str, llm_request: LlmRequest, stream: bool) -> HttpRequest:
        """Return the HTTP request for a model request."""
        self._maybe_append_user_content(llm_request)
        config = llm_request.config
        said = items_for(llm_request.contents, converse_messages_of, self._converted)
        body = converse_body(config, said, model, self.max_tokens)
        mark_for_cache(body, llm_request.cache_config, llm_request.cacheable_contents_token_count)
        if config.http_options is not None:
            body |= config.http_options.extra_body or {}
        method = "converse-stream" if stream else "converse"
        url = join_url(await self._url(), f"/model/{quote(model, safe='')}/{method}")
        accepts = _STREAM_TYPE if stream else "application/json"
        return self._http_request(url, body, llm_request, {"accept": accepts})

    async def _url(self) -> str:
        """Return the base URL of the service.

        Raises:
          ModelUnavailableError: no region is set.
        """
        if (place := self._place()) is not None:
            return place
        found = (os.environ.get(name) for name in _REGION_KEYS)
        region = self.region or next(filter(None, found), None)
        if region is None and not self._has_key:
            region = await self._aws.region()
        if region is None:
            raise ModelUnavailableError(
                f"No region for model {self.model!r} of {self.provider.title}: set AWS_REGION or "
                "pass region.",
                provider=self.provider.name,
                model=self.model,
            )
        end = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        return f"https://bedrock-runtime.{region}.{end}"

    @property
    def _has_key(self) -> bool:
        if self.credentials is not None or self.profile is not None:
            return self.api_key is not None
        return self.api_key is not None or self.provider.key is not None

    def _credential(self) -> Credential:
        """Return the credential of a request: an API key or a signature."""
        return self._key_credential() if self._has_key else self._aws

    def _explain(self, error: Exception) -> ProviderError | None:
        if type(error).__module__.startswith("botocore."):
            kind = type(error).__name__
            return ModelUnavailableError(
                f"No AWS login for model {self.model!r} of {self.provider.title} ({kind}): set "
                "AWS_BEARER_TOKEN_BEDROCK, or log in to AWS (`aws configure`, `aws sso login`).",
                provider=self.provider.name,
                model=self.model,
            )
        return super()._explain(error)

    def _explain_status(self, error: HttpStatusError) -> ProviderError:
        """Return the ProviderError for an error response or an error event of a stream."""
        try:
            said = fields_of(json.loads(error.body))
        except (ValueError, RecursionError):
            said = dict[str, Any]()
        detail = text_of(said.get("message")) or text_of(said.get("Message")) or error.text
        kind = error.headers.get("x-amzn-errortype", "").partition(":")[0]
        if kind:
            detail = f"{kind}: {detail}"
        if any(name in kind for name in _LOGIN_ERRORS):
            hint = _explain_clock(error.headers) or "Check the clock of this machine and the login."
            return self._own_error(ModelAuthError, f"refused the login: {detail} {hint}", error)
        if error.status == _MODEL_FAILED:
            return self._own_error(ModelServerError, f"failed: {detail}", error)
        return self._make_status_error(error.status, detail, retry_after=retry_after(error.headers))

    def _own_error(
        self, kind: type[ProviderError], what: str, error: HttpStatusError
    ) -> ProviderError:
        who = f"{self.provider.title} (model {self.model!r}, HTTP {error.status})"
        text = f"{who} {self._clean_detail(what)}"
        return kind(text, provider=self.provider.name, model=self.model, status=error.status)


def _claude_version(model: str) -> tuple[int, int]:
    """Return Claude's version in a model's name; the lowest if it is another model."""
    return claude_request.version(model) if is_claude(model) else (0, 0)


def _explain_clock(headers: Mapping[str, str]) -> str:
    """Return how far this machine's clock is off by an answer's date; '' if that is not far."""
    try:
        theirs = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return ""
    ahead = _clock.now() - theirs
    if abs(ahead) < _MOST_SKEW:
        return ""
    way = "ahead of" if ahead > 0 else "behind"
    return (
        f"The clock of this machine is {abs(ahead) / 60:.0f} minutes {way} Amazon's, which makes "
        "signatures invalid: set the clock."
    )


async def _read_stream(
    http: HttpStream, answer: BedrockAnswer
) -> AsyncGenerator[LlmResponse, None]:
    """Read a stream into `answer` and yield its partial responses.

    Raises:
      HttpStatusError: the stream holds an error.
      BadAnswer: the response is not a stream of the API, or was cut off.
    """
    if http.content_type != _STREAM_TYPE:
        raise BadAnswer((await http.read()).text)
    reader, pairs = EventStreamReader(Bounds().event), SplitPairs()
    try:
        async with Aclosing(http.chunks()) as chunks:
            async for chunk in chunks:
                for message in reader.feed(chunk):
                    piece = answer.feed(*_event(message, http, pairs))
                    if piece is not None:
                        yield piece
    except HttpCutOffError:
        if not answer.is_whole:
            raise
    answer.check_end()


def _event(
    message: StreamMessage, http: HttpStream, pairs: SplitPairs
) -> tuple[str, dict[str, Any]]:
    """Return the kind and fields of an event; raise HttpStatusError if it is an error."""
    headers, text = message.headers, message.payload.decode("utf-8", "replace")
    kind = headers.get(":message-type")
    if kind == "exception":
        status = EXCEPTION_STATUS.get(headers.get(":exception-type", ""), 500)
        raise HttpStatusError(status, http.headers, message.payload)
    if kind == "error":
        words = f"{headers.get(':error-code', '')}: {headers.get(':error-message', '')}"
        raise HttpStatusError(500, http.headers, words.encode())
    return headers.get(":event-type", ""), read_json(text, pairs)
