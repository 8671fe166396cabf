"""ProviderLlm: what all adapters of providers share: login, one client for life, errors that say
what to do. Adapters subclass it; the registry names them.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Hashable
from typing import ClassVar

from pydantic import Field, SecretStr

from .. import types
from .._aclosing import Aclosing
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
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .providers import Provider, provider_named
from .rate_limit import RateLimit
from .retry_policy import RetryPolicy

_LONGEST_DETAIL = 500
# What keys look like, should a provider or a proxy quote one back.
_KEY = re.compile(r"\b(sk|pk|gsk|xai|key)[-_][\w-]{8,}|\bAIza[\w-]{10,}|(?i:bearer)\s+[\w.~+/-]+=*")
_PAGE = re.compile(r"\s*<(!doctype|html|\?xml|head|body)", re.IGNORECASE)


class ProviderLlm(BaseLlm):
    """A model behind a provider's API.

    Attributes:
      model: the model's name as the provider knows it.
      api_key: the key; from the provider's environment variable where it is not given. Never
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

    api_key: SecretStr | None = Field(default=None, exclude=True, repr=False)
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
        """What the process knows this model by: its rate and its failures are counted for it."""
        return self.provider.name, self._place(), self.model

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; see `BaseLlm`.

        Raises:
          ProviderError: the provider refused or failed; the class says how, and `retryable` whether
            the same request may succeed later. The SDK's own error is its `__context__`.
        """
        options = self.retry_options
        policy = self.retry_policy if options is None else RetryPolicy.of(options)
        responses = policy.run(
            lambda: self._attempt(llm_request, stream),
            model=self.model,
            provider=self.provider.title,
        )
        async with Aclosing(responses):
            async for response in responses:
                yield response

    async def _attempt(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Ask once, within the rate limit, with errors in our words."""
        limit, turn = self.rate_limit, None
        if limit is not None:
            turn = await limit.take(self.key, model=self.model, provider=self.provider.name)
        responses = self._generate(llm_request, stream)
        try:
            async with Aclosing(responses):
                async for response in responses:
                    if turn is not None:
                        turn.count(response)
                    yield response
        except Exception as error:  # boundary: the SDK's errors become ours
            known = self._in_our_words(error)
            if known is error or known is None:
                raise
            raise known from None

    @abstractmethod
    def _generate(self, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        """Ask the provider once, with the SDK's own retries switched off."""

    @abstractmethod
    def _explain(self, error: Exception) -> ProviderError | None:
        """Return an error of the SDK in our words, or None where it is not the SDK's."""

    def _login(self) -> str:
        """Return the key.

        Raises:
          ModelUnavailableError: there is none.
        """
        given = self.api_key.get_secret_value() if self.api_key is not None else self.provider.key
        if given:
            return given
        if not self.provider.keys:
            return "none"  # the SDKs want one where the server does not
        raise ModelUnavailableError(
            f"No key for model {self.model!r} of {self.provider.title}: set "
            f"{' or '.join(self.provider.keys)}, or pass api_key.",
            provider=self.provider.name,
            model=self.model,
            reason="no key",
        )

    def _place(self) -> str | None:
        """Return where the API is; None leaves it to the SDK."""
        return self.base_url or self.provider.url

    def _refused(
        self, status: int, detail: str, *, retry_after: float | None = None
    ) -> ProviderError:
        """Return the error for an answer with an HTTP status of 400 or more.

        Args:
          status: the status.
          detail: what the provider says, or the start of a body that is not its own.
          retry_after: seconds, from the answer's headers.
        """
        who = f"{self.provider.title} (model {self.model!r}, HTTP {status})"
        kind, does, remedy = _refusal(status, " or ".join(self.provider.keys) or "its api_key")
        return kind(
            f"{who} {does}: {self._cleaned(detail)} {remedy}".rstrip(),
            provider=self.provider.name,
            model=self.model,
            status=status,
            retry_after=retry_after,
        )

    def _timed_out(self) -> ProviderError:
        """Return the error for an answer that did not come."""
        return ModelTimeoutError(
            f"{self.provider.title} (model {self.model!r}) sent nothing for {self.timeout:g} "
            "seconds. Raise `timeout`, or choose a faster model.",
            provider=self.provider.name,
            model=self.model,
        )

    def _unreachable(self, detail: str) -> ProviderError:
        """Return the error for a connection that did not come about."""
        place = self._place()
        at = f" at {_host(place)}" if place else ""
        return ModelConnectionError(
            f"{self.provider.title}{at} cannot be reached for model {self.model!r}: "
            f"{self._cleaned(detail)} Check base_url and the network.",
            provider=self.provider.name,
            model=self.model,
        )

    def _bad_answer(self, detail: str, *, retryable: bool = True) -> ProviderError:
        """Return the error for an answer that was cut off or is not in the provider's format."""
        if _PAGE.match(detail):
            detail, retryable = "an HTML page came back, not JSON: does a proxy answer?", False
        return ModelAnswerError(
            f"{self.provider.title} (model {self.model!r}) gave no usable answer: "
            f"{self._cleaned(detail)}",
            provider=self.provider.name,
            model=self.model,
            retryable=retryable,
        )

    def _in_our_words(self, error: Exception) -> ProviderError | None:
        """Return what an error is in our words: ours inside the SDK's, or the SDK's explained."""
        if isinstance(error, ProviderError) and error.provider:
            return error
        inner: BaseException | None = error
        while inner is not None:
            if isinstance(inner, ModelAnswerError):  # raised by us below the SDK
                return self._bad_answer(str(inner), retryable=inner.retryable)
            inner = inner.__cause__ or inner.__context__
        return self._explain(error)

    def _cleaned(self, detail: str) -> str:
        """Return what a provider says in one line, without keys and not too long."""
        if _PAGE.match(detail):
            return "an HTML page came back, not JSON: does a proxy answer?"
        secret = self.api_key.get_secret_value() if self.api_key is not None else self.provider.key
        if secret:
            detail = detail.replace(secret, "***")
        text = " ".join(_KEY.sub("***", detail).split())
        text = text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}…"
        return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def _host(url: str) -> str:
    """Return a URL's scheme and host, without a login that may stand in it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


def _refusal(status: int, keys: str) -> tuple[type[ProviderError], str, str]:
    """Return what an HTTP status of 400 or more means: the error, what to say, and a remedy."""
    match status:
        case 401 | 403:
            return ModelAuthError, "refused the key", f"Check {keys}."
        case 404:
            return ModelRequestError, "does not know this", "Check model and base_url."
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
