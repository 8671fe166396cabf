"""RetryPolicy, the retries of model requests. Every adapter uses one; a custom BaseLlm can, too."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .. import types
from .._aclosing import Aclosing
from .._log import get_logger
from ..errors import ProviderError
from . import _waiting
from .llm_response import RESTARTED, LlmResponse

logger = get_logger(__name__)


class RetryPolicy(BaseModel):
    """How often, how long and after which failures a request is retried.

    A delay is drawn from 0 to `initial_delay * exp_base ** n` (full jitter). Where the provider
    said when to come back (Retry-After), that is waited for instead.

    Attributes:
      attempts: how often a request is sent at most; 1 switches retries off.
      initial_delay: upper bound of the first delay, in seconds.
      max_delay: upper bound of any delay but the provider's own, in seconds.
      exp_base: factor from one delay's bound to the next one's.
      jitter: draw delays at random; without it they are as long as their bound.
      budget: seconds for all attempts and delays of one request; a delay that would end later is
        not begun, and the failure is raised.
      errors: classes of errors to ask again after. By default those that say they are `retryable`
        (rate limits, 5xx, timeouts, cut streams, unreachable servers), and ConnectionError and
        TimeoutError of a model of your own.
      http_status_codes: further restricts errors that carry an HTTP status to these.
      after_first_part: what to do once parts of the answer were handed on: `raise` the failure, or
        `restart`: hand on an empty partial response with `custom_metadata={"restarted": True}`,
        which takes back the partial ones before it, and stream anew.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    attempts: int = Field(default=4, ge=1)
    initial_delay: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    max_delay: float = Field(default=30.0, ge=0, allow_inf_nan=False)
    exp_base: float = Field(default=2.0, ge=1, allow_inf_nan=False)
    jitter: bool = True
    budget: float = Field(default=120.0, ge=0)
    errors: tuple[type[Exception], ...] | None = None
    http_status_codes: frozenset[int] | None = None
    after_first_part: Literal["raise", "restart"] = "raise"

    @classmethod
    def of(cls, options: types.HttpRetryOptions) -> RetryPolicy:
        """Return the policy that google-genai's options mean; what they leave out is as here."""
        fields = options.model_dump(exclude_none=True)
        if "attempts" in fields:
            fields["attempts"] = max(1, fields["attempts"])
        if "jitter" in fields:
            fields["jitter"] = fields["jitter"] > 0
        return cls(**fields)

    async def run(
        self,
        attempt: Callable[[], AsyncGenerator[LlmResponse, None]],
        *,
        model: str,
        provider: str = "",
        explain: Callable[[Exception], Exception | None] | None = None,
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield an attempt's responses; retry a failure if this policy allows it.

        Args:
          attempt: asks once.
          model: the model's name, for the log.
          provider: the provider's name, for the log.
          explain: returns the error that an attempt's error means, or None if it is not known.

        Raises:
          Exception: what the last attempt raised, explained.
        """
        began, number = _waiting.now(), 0
        while True:
            number += 1
            parts = complete = False
            try:
                async with Aclosing(attempt()) as responses:
                    async for response in responses:
                        parts = True
                        complete |= not response.partial
                        yield response
                return
            except Exception as raised:  # boundary: only some failures end the request
                error = (explain and explain(raised)) or raised
                is_final = complete or (parts and self.after_first_part == "raise")
                wait = None if is_final else self._wait(error, number, began)
                if wait is None:
                    if error is raised:
                        raise
                    raise error from None
                logger.warning(
                    "%s model %r failed: %s. Attempt %d of %d follows in %.1f s.",
                    provider or "The",
                    model,
                    cause_of(error),
                    number + 1,
                    self.attempts,
                    wait,
                )
            await _waiting.sleep(wait)
            if parts:
                yield make_restart_response()

    def takes(self, error: Exception) -> bool:
        """Return whether to retry after this error."""
        if self.errors is not None:
            known = isinstance(error, self.errors)
        elif isinstance(error, ProviderError):
            known = error.retryable
        else:
            known = isinstance(error, (ConnectionError, TimeoutError))
        status = status_of(error)
        codes = self.http_status_codes
        return known if codes is None or status is None else status in codes

    def _wait(self, error: Exception, number: int, began: float) -> float | None:
        """Return the seconds to wait after a failure, or None if it is final."""
        if number >= self.attempts or not self.takes(error):
            return None
        wait = error.retry_after if isinstance(error, ProviderError) else None
        if wait is None:
            # The exponent is bounded, for the power of a float overflows.
            wait = min(self.max_delay, self.initial_delay * self.exp_base ** min(number - 1, 64))
            wait *= _waiting.share() if self.jitter else 1.0
        return None if _waiting.now() - began + wait > self.budget else max(wait, 0.0)


def make_restart_response() -> LlmResponse:
    """Return the partial response that retracts the earlier partial responses."""
    return LlmResponse(
        content=types.Content(role="model", parts=[]),
        partial=True,
        custom_metadata={RESTARTED: True},
    )


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of an error, Ostinato's or an SDK's, or None if it has none."""
    for name in ("status", "status_code", "code"):
        status = getattr(error, name, None)
        if isinstance(status, int):
            return status
    return None


def cause_of(error: Exception) -> str:
    """Return a short cause without the error's message, which may contain keys."""
    status = status_of(error)
    return type(error).__name__ + (f" (HTTP {status})" if status is not None else "")
