"""LiveLlm, the base class of adapters with live connections (`Gemini`, `OpenAIRealtimeLlm`). It
opens and closes a connection and maps WebSocket errors to ProviderErrors.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from .._optional import need
from ..errors import (
    ModelAuthError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelServerError,
    ProviderError,
)
from .provider_llm import ProviderLlm

MAX_MESSAGE = 16 * 1024 * 1024  # bytes of one message from a server

_CLOSE_TIMEOUT_S = 2
_LONGEST_BODY = 2000
# Words in the reason of a refusal (1008) that speak of the login, not of the request.
_LOGIN_WORDS = ("api key", "api_key", "permission", "credential", "unauthenticated", "authenticat")


def open_socket(url: str, headers: Mapping[str, str]) -> AbstractAsyncContextManager[Any]:
    """Return the context manager of a WebSocket to a provider.

    Args:
      url: its address.
      headers: those of the handshake.
    """
    client = need("websockets.asyncio.client", extra="live")
    return client.connect(
        url, additional_headers=headers, max_size=MAX_MESSAGE, close_timeout=_CLOSE_TIMEOUT_S
    )


class LiveLlm(ProviderLlm):
    """A model behind a provider's API that supports live connections."""

    @asynccontextmanager
    async def _opened_live(self, manager: Any) -> AsyncGenerator[Any]:
        """Enter an SDK's context manager of a connection, and map the errors of opening it.

        Raises:
          ProviderError: the connection could not be opened.
        """
        try:
            async with asyncio.timeout(self.timeout):
                connection = await manager.__aenter__()
        except Exception as error:  # boundary: map the SDK's errors to ours
            raise self._live_error(error) from None
        try:
            yield connection
        finally:
            await manager.__aexit__(None, None, None)

    def _live_error(self, error: Exception) -> Exception:
        """Return the ProviderError for an error of a live connection, or the error if unknown."""
        if isinstance(error, ProviderError):
            return error
        return self._explain_socket(error) or self._to_provider_error(error) or error

    def _explain_socket(self, error: Exception) -> ProviderError | None:
        """Return the ProviderError for an error of the WebSocket library or of the network."""
        websockets: Any = sys.modules.get("websockets.exceptions")
        if websockets is not None:
            if isinstance(error, websockets.InvalidStatus):
                return self._explain_handshake(error)
            if isinstance(error, websockets.ConnectionClosed):
                frame: Any = getattr(error, "rcvd", None) or getattr(error, "sent", None)
                return self._make_close_error(
                    frame.code if frame else 1006, frame.reason if frame else ""
                )
            if isinstance(error, websockets.InvalidURI):
                return self._unreachable("the address is not one of a WebSocket")
            if isinstance(error, (websockets.InvalidHandshake, websockets.InvalidMessage)):
                return self._bad_answer(f"no WebSocket answers there ({_causes(error)})")
        if isinstance(error, TimeoutError):
            return self._timed_out()
        if isinstance(error, OSError):
            return self._unreachable(error.strerror or str(error))
        return None

    def _explain_handshake(self, error: Any) -> ProviderError:
        """Return the ProviderError for a rejected WebSocket handshake."""
        answer = error.response
        body = bytes(answer.body or b"")[:_LONGEST_BODY].decode(errors="replace")
        if answer.status_code < 400:
            return self._bad_answer(body or f"no WebSocket, but HTTP {answer.status_code}")
        after = str(answer.headers.get("retry-after", ""))
        return self._make_status_error(
            answer.status_code,
            body or answer.reason_phrase,
            retry_after=float(after) if after.isdigit() else None,
        )

    def _make_close_error(self, code: int, reason: str) -> ProviderError:
        """Return the ProviderError for a connection that the server closed.

        Args:
          code: the close code of RFC 6455.
          reason: the server's reason.
        """
        said = reason.lower()
        who = f"{self.provider.title} closed the live connection to model {self.model!r}"
        remedy = ""
        if "quota" in said or "rate limit" in said:
            kind = ModelRateLimitError
        elif code == 1008 and any(word in said for word in _LOGIN_WORDS):
            kind, remedy = ModelAuthError, f"Check {' or '.join(self.provider.keys)}."
        elif code == 1009:
            kind, remedy = ModelRequestError, "Send smaller pieces, or compact the session."
        elif code in (1003, 1007, 1008) or 3000 <= code < 5000:
            kind, remedy = ModelRequestError, "Check the model's name and RunConfig."
        elif code in (1011, 1013):
            kind = ModelServerError
        else:
            kind = ModelConnectionError
        detail = self._clean_detail(reason) if reason else "it gave no reason."
        return kind(
            f"{who} (code {code}): {detail} {remedy}".rstrip(),
            provider=self.provider.name,
            model=self.model,
        )


def _causes(error: BaseException) -> str:
    """Return an error's message with the messages of its causes, which say more."""
    words: list[str] = []
    inner: BaseException | None = error
    while inner is not None:
        words.append(str(inner))
        inner = inner.__cause__
    return ": ".join(dict.fromkeys(filter(None, words)))
