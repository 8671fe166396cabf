"""LiteLlmErrors, which maps LiteLLM's errors (those of OpenAI's SDK) to ProviderErrors."""

from __future__ import annotations

import json
from typing import Any

from ..errors import ModelRequestError, ProviderError
from .openai_errors_llm import OpenAIErrorsLlm
from .retry_after import retry_after
from .wire.faults import BadAnswer, Unsendable
from .wire.openai_errors import said_by, status_of

_SDKS = ("openai", "litellm")
_HTTP = ("httpx", "httpx2")  # the SDK lets these errors through if a stream breaks
_CUT_OFF = {"ReadError", "RemoteProtocolError", "DecodingError"}
_PAGE = "<html"


class LiteLlmErrors(OpenAIErrorsLlm):
    """A model behind the LiteLLM library, with its errors mapped."""

    def _explain(self, error: Exception) -> ProviderError | None:
        """Map an error; LiteLLM reports some other errors as a server error, too."""
        text = str(error)
        if type(error).__name__ in ("InternalServerError", "APIConnectionError"):
            if "Connection error" in text or "Cannot connect" in text:
                return self._unreachable("no connection")
            if _PAGE in text.lower():
                return self._bad_answer(_PAGE)
            if "Traceback" in text or "invalid response" in text.lower() or "Expecting" in text:
                return self._bad_answer("it is not in the format of chat completions, or cut off")
        if isinstance(error, Unsendable):
            return ModelRequestError(
                f"{self.provider.title} (model {self.model!r}) cannot be sent {error}",
                provider=self.provider.name,
                model=self.model,
            )
        if isinstance(error, BadAnswer):
            return self._bad_answer(str(error), retryable=error.retryable)
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            return self._bad_answer("it is not JSON")
        return self._explain_sdk_error(error)

    def _sdk_error_class(self, error: Exception, known: ProviderError) -> type[Exception] | None:
        return type(error) if _is_sdk(type(error)) else None

    def _explain_sdk_error(self, error: Exception) -> ProviderError | None:
        # By name, so that the SDK need not be imported where it was never used.
        kinds = {kind.__name__ for kind in type(error).__mro__ if _is_sdk(kind)}
        if "APITimeoutError" in kinds or _is_timeout(error):
            return self._timed_out()
        if "APIConnectionError" in kinds:
            return self._connection_failed(error)
        wrapped = getattr(error, "original_exception", None)  # what broke a stream
        if wrapped is not None and _is_http(_cause_of(wrapped)):
            return self._connection_failed(wrapped)
        if "APIResponseValidationError" in kinds:
            return self._bad_answer(_detail(error)[0])
        if "APIStatusError" in kinds or ("APIError" in kinds and hasattr(error, "status_code")):
            return self._status_error(error)
        if "APIError" in kinds:  # one that came inside a stream
            detail, hints = _detail(error)
            return self._make_api_error(status_of(getattr(error, "code", None), 500), detail, hints)
        if _is_http(error):
            return self._connection_failed(error)
        return None

    def _status_error(self, error: Any) -> ProviderError:
        detail, hints = _detail(error)
        status = int(error.status_code)
        if status < 400:
            return self._bad_answer(detail)
        kept = getattr(error, "litellm_response_headers", None)  # its `response` is made up
        headers = kept or getattr(getattr(error, "response", None), "headers", None)
        return self._make_api_error(status, detail, hints, retry_after(headers or {}))

    def _connection_failed(self, error: Exception) -> ProviderError:
        """Return the error for a connection that could not be opened, or that broke."""
        cause = _cause_of(error)
        if cause is not None and _is_timeout(cause):
            return self._timed_out()
        name = type(cause).__name__ if cause is not None else ""
        if {name, type(error).__name__} & _CUT_OFF:
            return self._bad_answer("the connection broke before the answer was complete")
        return self._unreachable(str(cause or error) or name)


def _is_http(error: BaseException | None) -> bool:
    return type(error).__module__.partition(".")[0] in _HTTP


def _is_timeout(error: BaseException) -> bool:
    kinds = (kind.__name__ for kind in type(error).__mro__)
    return _is_http(error) and "TimeoutException" in kinds


def _cause_of(error: BaseException) -> BaseException | None:
    return error.__cause__ or error.__context__


def _is_sdk(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _SDKS


def _detail(error: Any) -> tuple[str, str]:
    """Return what the provider said, and all that tells what kind of error it is."""
    message, hints = said_by(getattr(error, "body", None))
    message = message or str(getattr(error, "message", "") or error)
    if "<html" in message[:500].lower():  # it quotes the page of a proxy
        message = "The server answered with an HTML page, which the API never does"
    return message, f"{hints} {message} {getattr(error, 'code', '') or ''}"
