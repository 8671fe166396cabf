"""GoogleRestClient: requests to Google's REST services with a login of google-auth.

The tools of BigQuery, Vertex AI's RAG Engine and Example Store and Cloud Speech are asked through
it. It blocks: callers use worker threads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from ._google_retries import FIRST_WAIT_S, PASSING
from ._optional import need
from .errors import OstinatoError
from .features.environment import find_variable

EXTRA = "vertex"
CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_MOST_BYTES = 100 * 2**20
_LONGEST_MESSAGE = 2_000  # characters
_SHORTEST_TOKEN = 6  # characters
_ATTEMPTS = 4


def vertex_server(location: str) -> str:
    """Return the address of Vertex AI in a location, or GOOGLE_VERTEX_BASE_URL if it is set."""
    given = find_variable("GOOGLE_VERTEX_BASE_URL")[1].rstrip("/")
    return given or f"https://{location}-aiplatform.googleapis.com"


def pause(seconds: float) -> None:
    """Wait; a function, so that a test can put its own in place."""
    time.sleep(seconds)


class GoogleApiError(OstinatoError):
    """A Google service refused a request, failed or cannot be reached.

    Args:
      message: names the service and the reason; holds no token.
      status: the HTTP status, or None if there was no answer.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class GoogleRestClient:
    """Sends JSON to one Google service. A context manager: leaving it closes the connections.

    Args:
      service: the service's name, for errors.
      credentials: a login of google-auth; the machine's own identity if None.
      user_agent: the `User-Agent` header; the HTTP library's if empty.
      timeout_seconds: how long to wait for a connection, and for the next bytes of an answer.
    """

    def __init__(
        self,
        service: str,
        *,
        credentials: Any = None,
        user_agent: str = "",
        timeout_seconds: float = 60.0,
    ) -> None:
        self._service = service
        self._credentials = credentials
        self._headers = {"user-agent": user_agent} if user_agent else {}
        self._timeout_seconds = timeout_seconds
        self._http: Any = None

    def __enter__(self) -> GoogleRestClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        http, self._http = self._http, None
        if http is not None:
            http.close()

    def send_request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str | int | None] | None = None,
        body: Mapping[str, Any] | None = None,
        form: Mapping[str, tuple[str | None, str | bytes]] | None = None,
        repeatable: bool = True,
    ) -> Any:
        """Send a request and return the answer's JSON.

        Args:
          method: the HTTP method.
          url: the address.
          params: of the query; those that are None are left out.
          body: sent as JSON.
          form: sent as a form in parts, in place of `body`: the file name, if any, and the content
            of each field.
          repeatable: whether the request may be sent again when its outcome is unknown.

        Raises:
          GoogleApiError: the service refused, failed or cannot be reached; or there is no login.
          MissingExtraError: google-auth is not installed.
        """
        query = {name: str(value) for name, value in (params or {}).items() if value is not None}
        content: dict[str, Any] = {}
        if form is not None:
            content = {"files": form, "headers": {"x-goog-upload-protocol": "multipart"}}
        elif body is not None:
            headers = {"content-type": "application/json"}
            content = {"content": json.dumps(body).encode(), "headers": headers}
        attempt = 0
        while True:
            attempt += 1
            failure, again = self._attempt_request(method, url, query, content, repeatable)
            if not isinstance(failure, GoogleApiError):
                return failure
            if not again or attempt == _ATTEMPTS:
                raise failure
            pause(FIRST_WAIT_S * 2 ** (attempt - 1))

    def _attempt_request(
        self,
        method: str,
        url: str,
        query: dict[str, str],
        content: dict[str, Any],
        repeatable: bool,
    ) -> tuple[Any, bool]:
        """Return the answer's JSON, or the error and whether another attempt may help."""
        http = need("httpx2", extra=EXTRA)
        headers = {**content.get("headers", {}), **self._headers, **self.authorize()}
        if self._http is None:
            secure = url.startswith("https:")
            self._http = http.Client(
                verify=_tls_settings() if secure else False, timeout=self._timeout_seconds
            )
        try:
            with self._http.stream(
                method, url, params=query, **{**content, "headers": headers}
            ) as answer:
                status: int = answer.status_code
                data = self._read_body(answer)
        except http.HTTPError as error:
            unsent = isinstance(error, http.ConnectError)
            problem = f"{self._service} cannot be reached ({type(error).__name__})."
            return GoogleApiError(f"{problem} Check the network."), repeatable or unsent
        if status >= 300:
            reason = self._redact_token(_read_message(data))
            said = f"{self._service} answered {status}: {reason}"
            return GoogleApiError(said, status=status), repeatable and status in PASSING
        try:
            return (json.loads(data) if data.strip() else {}), False
        except ValueError:
            said = f"{self._service} answered with something that is not JSON."
            return GoogleApiError(f"{said} A proxy may stand between.", status=status), False

    def _redact_token(self, text: str) -> str:
        token = getattr(self._credentials, "token", None)
        is_token = isinstance(token, str) and len(token) >= _SHORTEST_TOKEN
        return text.replace(str(token), "***") if is_token else text

    def _read_body(self, answer: Any) -> bytes:
        body = bytearray()
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > _MOST_BYTES:
                raise GoogleApiError(
                    f"{self._service} answered with more than {_MOST_BYTES} bytes. Ask for less.",
                    status=answer.status_code,
                )
        return bytes(body)

    def authorize(self) -> dict[str, str]:
        """Return the headers that carry the login, refreshed if need be.

        Raises:
          GoogleApiError: there is no login.
          MissingExtraError: google-auth is not installed.
        """
        auth = need("google.auth", extra=EXTRA)
        errors = need("google.auth.exceptions", extra=EXTRA)
        transport = need("google.auth.transport.requests", extra=EXTRA)
        try:
            if self._credentials is None:
                self._credentials, _ = auth.default(scopes=[CLOUD_SCOPE])
            if not self._credentials.valid:
                self._credentials.refresh(transport.Request())
        except errors.GoogleAuthError as error:
            raise GoogleApiError(
                f"There is no login for {self._service} ({type(error).__name__}). Run `gcloud "
                "auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS, or give a "
                "toolset a credentials_config."
            ) from None
        headers: dict[str, str] = {}
        self._credentials.apply(headers)
        return headers


@cache
def _tls_settings() -> Any:
    """Return the settings of encryption, which take a tenth of a second to make."""
    return need("httpx2", extra=EXTRA).create_ssl_context()


def _read_message(data: bytes) -> str:
    """Return what an answer says went wrong."""
    text = data.decode("utf-8", "replace").strip()
    try:
        # A stream of JSON answers with a list of one error.
        value: Any = json.loads(text)
        first: Any = cast("list[Any]", value)[0] if isinstance(value, list) else value
        text = str(first["error"]["message"])
    except (ValueError, TypeError, KeyError, IndexError):
        pass
    return text[:_LONGEST_MESSAGE] or "it gives no reason."
