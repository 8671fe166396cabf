"""OpenAIErrorsLlm: an adapter whose SDK raises OpenAI's errors, that is its own SDK and LiteLLM.

Its subclasses are the adapters; here their errors become ours.
"""

from __future__ import annotations

import json
from typing import Any

from ..errors import ModelRequestError, ProviderError
from .provider_llm import ProviderLlm
from .retry_after import retry_after
from .wire.faults import BadAnswer, Unsendable
from .wire.openai_errors import is_quota, remedy, said_by, status_of

_SDKS = ("openai", "litellm")


class OpenAIErrorsLlm(ProviderLlm):
    """An adapter over an SDK that raises OpenAI's errors."""

    def _explain(self, error: Exception) -> ProviderError | None:
        if isinstance(error, Unsendable):
            return ModelRequestError(
                f"{self.provider.title} (model {self.model!r}) cannot be sent {error}",
                provider=self.provider.name,
                model=self.model,
            )
        if isinstance(error, BadAnswer):
            return self._bad_answer(str(error), retryable=error.retryable)
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            return self._bad_answer("it is no JSON")
        # By name, so that the SDK need not be imported where it was never used.
        kinds = {kind.__name__ for kind in type(error).__mro__ if _is_sdk(kind)}
        if "APITimeoutError" in kinds:
            return self._timed_out()
        if "APIConnectionError" in kinds:
            return self._connection_failed(error)
        if "APIResponseValidationError" in kinds:
            return self._bad_answer(_detail(error)[0])
        if "APIStatusError" in kinds or ("APIError" in kinds and hasattr(error, "status_code")):
            return self._status_error(error)
        if "APIError" in kinds:  # one that came inside a stream
            detail, hints = _detail(error)
            return self._said(status_of(getattr(error, "code", None), 500), detail, hints)
        return None

    def _said(
        self, status: int, detail: str, hints: str, retry_after: float | None = None
    ) -> ProviderError:
        """Return the error for what a provider says went wrong, with a remedy.

        Args:
          status: the HTTP status, or the one that it stands for.
          detail: the provider's message.
          hints: all that tells the kind of error.
          retry_after: seconds.
        """
        to_do = remedy(hints) if status in (400, 402, 403, 413, 422, 429) else ""
        text = f"{self._cleaned(detail)} {to_do}" if to_do else detail
        known = self._refused(status, text, retry_after=retry_after)
        if status == 429 and is_quota(hints):
            known.retryable = False
        return known

    def _status_error(self, error: Any) -> ProviderError:
        detail, hints = _detail(error)
        status = int(error.status_code)
        if status < 400:
            return self._bad_answer(detail)
        kept = getattr(error, "litellm_response_headers", None)  # its `response` is made up
        headers = kept or getattr(getattr(error, "response", None), "headers", None)
        return self._said(status, detail, hints, retry_after(headers or {}))

    def _connection_failed(self, error: Exception) -> ProviderError:
        """Return the error for a connection that did not come about, or that broke."""
        cause = error.__cause__ or error.__context__
        name = type(cause).__name__ if cause is not None else ""
        if name in ("ReadError", "RemoteProtocolError", "DecodingError"):
            return self._bad_answer("the connection broke before the answer was complete")
        return self._unreachable(str(cause or error) or name)


def _is_sdk(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _SDKS


def _detail(error: Any) -> tuple[str, str]:
    """Return what the provider said, and all that tells what kind of error it is."""
    message, hints = said_by(getattr(error, "body", None))
    message = message or str(getattr(error, "message", "") or error)
    return message, f"{hints} {message} {getattr(error, 'code', '') or ''}"
