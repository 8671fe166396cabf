"""ProviderLlm, the base class of provider adapters: login, rate limit, retries and errors."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Hashable, Iterator
from typing import Any, ClassVar

from pydantic import Field, SecretStr, field_serializer, field_validator

from .. import types
from .._aclosing import Aclosing
from .._adk_mode import follows_adk
from .._secrets import redact_text
from ..errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    ProviderError,
)
from .base_llm import BaseLlm
from .http.credentials import KeySource
from .http.urls import hide_secrets, place_of, server_of
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .providers import Provider, provider_named
from .rate_limit import RateLimit
from .retry_policy import RetryPolicy
from .sdk_errors import add_sdk_class

_LONGEST_DETAIL = 500
_LONGEST_READ = 4_000  # characters of a detail that are searched for keys
_PAGE = re.compile(r"\s*<(!doctype|html|\?xml|head|body)", re.IGNORECASE)


class ProviderLlm(BaseLlm):
    """A model behind a provider's API.

    Attributes:
      model: the model's name as the provider knows it.
      api_key: the key; from the provider's environment variable where it is not given. Or a
        function, plain or async, that returns the key and is called for each request. Never
        stored, printed or logged.
      base_url: where the API is, if not at the provider's own place.
      timeout: seconds to wait for the next byte of an answer.
      retry_policy: when and how a request is sent again after a failure.
      retry_options: the same in the words of google-genai; takes the place of `retry_policy`.
      rate_limit: how much may be asked of this model in a minute, by the whole process.
    """

    #: Whose table entry holds names of keys and places.
    provider_name: ClassVar[str] = ""
    empty_retries: ClassVar[int] = 2

    api_key: SecretStr | str | KeySource | None = Field(default=None, exclude=True, repr=False)
    base_url: str | None = None
    timeout: float = Field(default=300.0, gt=0)
    retry_policy: RetryPolicy = RetryPolicy()
    retry_options: types.HttpRetryOptions | None = None
    rate_limit: RateLimit | None = None

    @property
    def provider(self) -> Provider:
        """The entry of the provider in the table."""
        return provider_named(self.provider_name)

    @property
    def key(self) -> Hashable:
        """The key under which the process counts this model's rate and failures."""
        return self.provider.name, self._place(), self.model

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; see `BaseLlm`.

        Raises:
          ProviderError: the provider refused or failed; the class says how, and `retryable` whether
            the same request may succeed later. The transport's own error is its `__context__`.
        """
        options = self.retry_options
        policy = self.retry_policy if options is None else RetryPolicy.of(options)
        send = self._generate if self.rate_limit is None else self._generate_in_turn
        responses = policy.run(
            lambda: send(llm_request, stream),
            model=self.model,
            provider=self.provider.title,
            explain=self._to_provider_error,
        )
        async with Aclosing(responses):
            async for response in responses:
                yield response

    async def _generate_in_turn(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Send the request once, within the rate limit."""
        assert self.rate_limit is not None
        turn = await self.rate_limit.take(self.key, model=self.model, provider=self.provider.name)
        async with Aclosing(self._generate(llm_request, stream)) as responses:
            async for response in responses:
                turn.count(response)
                yield response

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the fields that `repr` shows; a base URL without its login and query."""
        for name, value in super().__repr_args__():
            is_url = name == "base_url" and isinstance(value, str)
            yield name, place_of(value) if is_url else value

    @field_serializer("base_url")
    def _hide_login(self, value: str | None) -> str | None:
        return hide_secrets(value) if value else value

    @abstractmethod
    def _generate(self, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        """Send the request once; `RetryPolicy` retries."""

    @abstractmethod
    def _explain(self, error: Exception) -> ProviderError | None:
        """Return the ProviderError for an error of the transport, or None for any other error."""

    @field_validator("api_key", mode="before")
    @classmethod
    def _hide_key(cls, value: object) -> object:
        return SecretStr(value) if isinstance(value, str) else value

    def _own_key(self) -> str | None:
        """Return the `api_key` if it is a key; None if it is missing or a function."""
        key = self.api_key
        if isinstance(key, SecretStr):
            return key.get_secret_value()
        return key if isinstance(key, str) else None

    def _login(self) -> str:
        """Return the key.

        Raises:
          ModelUnavailableError: no key is set.
        """
        given = self._own_key() if self.api_key is not None else self.provider.key
        if given:
            return given
        if not self._needs_key:
            return "none"  # sent even if the server requires no key
        raise ModelUnavailableError(
            f"No key for model {self.model!r} of {self.provider.title}: set "
            f"{' or '.join(self.provider.keys)}, or pass api_key. Or use "
            'model="offline", the rule-based stand-in that needs no key.',
            provider=self.provider.name,
            model=self.model,
            reason="no key",
        )

    @property
    def _needs_key(self) -> bool:
        """Whether the provider refuses requests without a key."""
        return bool(self.provider.keys) and self.provider.needs_key

    @property
    def _key_source(self) -> str:
        """The source of the key, for error messages."""
        if self.api_key is not None:
            return "the api_key that was passed"
        return self.provider.key_name or " or ".join(self.provider.keys) or "its api_key"

    @property
    def _place_source(self) -> str:
        """The source of the base URL, for error messages."""
        named = None if self.base_url else self.provider.url_name
        return named or "base_url"

    @property
    def _connection_remedy(self) -> str:
        """What to do if the server cannot be reached, for error messages."""
        provider = self.provider
        if self._needs_key or self.base_url or provider.url_name or not provider.base_url_keys:
            return f"Check {self._place_source} and the network."
        return f"Start the server, or set {provider.base_url_keys[0]} to its address."

    def _place(self) -> str | None:
        """Return the base URL of the API, or None for the provider's default."""
        return self.base_url or self.provider.url

    def _make_status_error(
        self, status: int, detail: str, *, retry_after: float | None = None
    ) -> ProviderError:
        """Return the ProviderError for a response with an HTTP status of 400 or more.

        Args:
          status: the status.
          detail: the provider's message, or the start of a body in another format.
          retry_after: seconds, from the answer's headers.
        """
        who = f"{self.provider.title} (model {self.model!r}, HTTP {status})"
        kind, does, remedy = _refusal(status, self._key_source, self._place_source)
        return kind(
            f"{who} {does}: {self._clean_detail(detail)} {remedy}".rstrip(),
            provider=self.provider.name,
            model=self.model,
            status=status,
            retry_after=retry_after,
        )

    def _timed_out(self, seconds: float | None = None) -> ProviderError:
        """Return the error for a request that timed out after `timeout`, or these seconds."""
        waited = self.timeout if seconds is None else seconds
        return ModelTimeoutError(
            f"{self.provider.title} (model {self.model!r}) sent nothing for {waited:g} "
            "seconds. Raise `timeout`, or choose a faster model.",
            provider=self.provider.name,
            model=self.model,
        )

    def _unreachable(self, detail: str, *, redirected_to: str = "") -> ProviderError:
        """Return the error for a connection that could not be opened.

        Args:
          detail: why.
          redirected_to: the server that the provider's redirects to; empty without a redirect.
        """
        place = self._place()
        at = f" at {server_of(place)}" if place else ""
        if redirected_to:
            at += f" redirects to {redirected_to}, which"
        return ModelConnectionError(
            f"{self.provider.title}{at} cannot be reached for model {self.model!r}: "
            f"{self._clean_detail(detail)} {self._connection_remedy}",
            provider=self.provider.name,
            model=self.model,
        )

    def _bad_answer(self, detail: str, *, retryable: bool = True) -> ProviderError:
        """Return the error for a response that was cut off or is malformed."""
        if _PAGE.match(detail):
            detail, retryable = "an HTML page came back, not JSON: does a proxy answer?", False
        return ModelAnswerError(
            f"{self.provider.title} (model {self.model!r}) gave no usable answer: "
            f"{self._clean_detail(detail.strip() or 'it is empty')}",
            provider=self.provider.name,
            model=self.model,
            retryable=retryable,
        )

    def _to_provider_error(self, error: Exception) -> ProviderError | None:
        """Return the ProviderError inside a transport's error, or the one that describes it."""
        if isinstance(error, ProviderError) and error.provider:
            return error
        inner: BaseException | None = error
        while inner is not None:
            if isinstance(inner, ModelAnswerError):  # raised below the transport
                return self._bad_answer(str(inner), retryable=inner.retryable)
            inner = inner.__cause__ or inner.__context__
        known = self._explain(error)
        if known is not None and follows_adk():
            base = self._sdk_error_class(error, known)
            return known if base is None else add_sdk_class(known, error, base)
        return known

    def _sdk_error_class(self, error: Exception, known: ProviderError) -> type[Exception] | None:
        """Return the class that google-adk lets through for an error; None if it has none.

        Args:
          error: the error of the SDK or the transport.
          known: what `_explain` made of it.
        """
        return None

    def _clean_detail(self, detail: str) -> str:
        """Return a provider's message as one line of limited length, with keys redacted."""
        if _PAGE.match(detail):
            return "an HTML page came back, not JSON: does a proxy answer?"
        secret = self._own_key() if self.api_key is not None else self.provider.key
        if secret:
            detail = detail.replace(secret, "***")
        # A provider or a proxy may quote a key back.
        text = " ".join(redact_text(detail[:_LONGEST_READ], "***").split()) or "it gave no reason"
        text = text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}…"
        return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def _refusal(status: int, keys: str, place: str) -> tuple[type[ProviderError], str, str]:
    """Return the error class, the description and the remedy for an HTTP error status."""
    match status:
        case 401 | 403:
            return ModelAuthError, "refused the key", f"Check {keys}."
        case 404:
            return ModelRequestError, "does not know this", f"Check model and {place}."
        case 408 | 504:
            return ModelTimeoutError, "did not answer in time", ""
        case 413:
            return ModelRequestError, "was sent too much", "Shorten or compact the session."
        case 429:
            return ModelRateLimitError, "allows no more for now", ""
        case _ if status >= 500:
            return ModelServerError, "failed", ""
        case _:
            return ModelRequestError, "refused the request", ""
