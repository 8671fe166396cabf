"""Transport errors. Adapters map them to `ProviderError`; no message contains a secret."""

from __future__ import annotations

from collections.abc import Mapping


class HttpError(Exception):
    """A request got no usable answer.

    Attributes:
      request_id: the provider's id of the request, empty if no answer named one.
      redirected_to: the server that failed, as scheme and host, if another one had redirected the
        request to it; else empty.
    """

    redirected_to: str = ""

    def __init__(self, message: str, *, request_id: str = "") -> None:
        super().__init__(message)
        self.request_id = request_id


class HttpRequestError(HttpError):
    """The request is invalid; nothing was sent."""


class HttpKeyError(HttpRequestError):
    """The key is missing or cannot be sent; the message names where it comes from.

    Attributes:
      retryable: True if a function could not fetch it for now.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class HttpConnectError(HttpError):
    """The server cannot be reached."""


class HttpEnvironmentError(HttpError):
    """The environment names a proxy or certificates that cannot be used; nothing was sent."""


class HttpTimeoutError(HttpError):
    """The server was silent for too long, or the whole answer took too long.

    Attributes:
      phase: "connect", "first byte", "between chunks" or "whole".
      seconds: the limit that passed.
    """

    def __init__(self, phase: str, seconds: float, *, request_id: str = "") -> None:
        super().__init__(
            f"The limit of {seconds:g} seconds ({phase}) passed.", request_id=request_id
        )
        self.phase, self.seconds = phase, seconds


class HttpAnswerError(HttpError):
    """An answer came that cannot be used.

    Attributes:
      retryable: False if the same would come again.
    """

    def __init__(self, message: str, *, request_id: str = "", retryable: bool = True) -> None:
        super().__init__(message, request_id=request_id)
        self.retryable = retryable


class HttpCutOffError(HttpAnswerError):
    """The connection broke before the answer was complete."""


class HttpTooLargeError(HttpAnswerError):
    """An answer, or a part of it, is larger than the bound."""

    def __init__(self, what: str, bound: int, *, request_id: str = "") -> None:
        size = f"{bound // 2**20} MB" if bound >= 2**20 else f"{bound} bytes"
        super().__init__(f"{what} is larger than {size}", request_id=request_id, retryable=False)


class HttpStatusError(HttpError):
    """The server answered with a status of 300 or more.

    Attributes:
      status: the HTTP status.
      headers: those of the answer, by lower-case name.
      body: the start of the answer's body.
    """

    def __init__(
        self, status: int, headers: Mapping[str, str], body: bytes, *, request_id: str = ""
    ) -> None:
        super().__init__(f"HTTP status {status}", request_id=request_id)
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")
