"""OpenAIErrorsLlm, the base class of adapters to APIs with OpenAI's error format."""

from __future__ import annotations

from ..errors import ProviderError
from .provider_llm import ProviderLlm
from .wire.openai_errors import is_quota, remedy


class OpenAIErrorsLlm(ProviderLlm):
    """A model behind an API with OpenAI's error format."""

    def _make_api_error(
        self, status: int, detail: str, hints: str, retry_after: float | None = None
    ) -> ProviderError:
        """Return the ProviderError for an error that a provider reports, with a remedy.

        Args:
          status: the HTTP status, or the one that it stands for.
          detail: the provider's message.
          hints: text that identifies the kind of error.
          retry_after: seconds.
        """
        to_do = remedy(hints) if status in (400, 402, 403, 413, 422, 429) else ""
        text = f"{self._clean_detail(detail)} {to_do}" if to_do else detail
        known = self._make_status_error(status, text, retry_after=retry_after)
        if status == 429 and is_quota(hints):
            known.retryable = False
        return known
