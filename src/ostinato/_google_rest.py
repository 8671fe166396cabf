"""GoogleRestClient: requests to Google's REST services with a login of google-auth.

The tools of BigQuery, Vertex AI's RAG Engine and Example Store and Cloud Speech are asked through
it. It blocks: callers use worker threads.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from ._google_retries import FIRST_WAIT_S, PASSING
from ._optional import need
from ._secret_values import redact_values
from .errors import OstinatoError
from .features.environment import find_variable

EXTRA = "vertex"
CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_MOST_BYTES = 100 * 2**20
_LONGEST_MESSAGE = 2_000  # characters
_MOST_READ = 100_000  # characters of an error that are searched for secrets
_ATTEMPTS = 4
_LEAST_WAIT_S = 0.001
_OPENED = (".connect_tcp.complete", ".start_tls.complete")  # events that name a new stream

_Record = TypeVar("_Record", bound=BaseModel)


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


def read_record(
    shape: type[_Record], value: Any, who: str, error: type[GoogleApiError] = GoogleApiError
) -> _Record:
    """Return JSON that a service answered as a record.

    Args:
      shape: the class of the record, with the fields that are used.
      value: the JSON.
      who: the service, for the error.
      error: the class of the error.

    Raises:
      GoogleApiError: the JSON has another shape; it names the first field that is wrong.
    """
    try:
        return shape.model_validate(value)
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        problem = "it is not an object" if first["type"] == "model_type" else first["msg"]
        raise error(
            f"{who} answered with JSON of another shape than it documents: {place}: {problem}. A "
            "proxy or another service may stand between."
        ) from None


class GoogleRestClient:
    """Sends JSON to one Google service. A context manager: leaving it closes the connections.

    Several threads may use one client.

    Args:
      service: the service's name, for errors.
      credentials: a login of google-auth; the machine's own identity if None.
      user_agent: the `User-Agent` header; the HTTP library's if empty.
      timeout_seconds: how long a request may take, with its attempts, from when it is sent to the
        last byte of the answer.
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
        self._gate = threading.Lock()
        self._limit = _TimeLimit()

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
        login = self.authorize()
        self._limit.start(self._timeout_seconds)
        attempt = 0
        while True:
            attempt += 1
            failure, again = self._attempt_request(method, url, query, content, login, repeatable)
            if not isinstance(failure, GoogleApiError):
                return failure
            wait = FIRST_WAIT_S * 2 ** (attempt - 1)
            if not again or attempt == _ATTEMPTS or wait > self._limit.remaining_seconds():
                raise failure
            pause(wait)

    def read_record(self, shape: type[_Record], answer: Any) -> _Record:
        """Return an answer as a record.

        Args:
          shape: the class of the record, with the fields that are used.
          answer: the answer's JSON.

        Raises:
          GoogleApiError: the answer has another shape; it names the first field that is wrong.
        """
        return read_record(shape, answer, self._service)

    def _attempt_request(
        self,
        method: str,
        url: str,
        query: dict[str, str],
        content: dict[str, Any],
        login: dict[str, str],
        repeatable: bool,
    ) -> tuple[Any, bool]:
        """Return the answer's JSON, or the error and whether another attempt may help."""
        http = need("httpx2", extra=EXTRA)
        headers = {**content.get("headers", {}), **self._headers, **login}
        options = {**content, "headers": headers, "extensions": {"trace": self._limit.trace}}
        try:
            with self._open_client(url).stream(method, url, params=query, **options) as answer:
                status: int = answer.status_code
                data = self._read_body(answer)
        except http.HTTPError as error:
            if self._limit.remaining_seconds() <= 0:
                return self._too_slow(), False
            unsent = isinstance(error, http.ConnectError)
            problem = f"{self._service} cannot be reached ({type(error).__name__})."
            return GoogleApiError(f"{problem} Check the network."), repeatable or unsent
        if status >= 300:
            reason = self._redact(_read_message(data))
            said = f"{self._service} answered {status}: {reason}"
            return GoogleApiError(said, status=status), repeatable and status in PASSING
        try:
            return (json.loads(data) if data.strip() else {}), False
        except (ValueError, RecursionError):
            said = f"{self._service} answered with something that is not JSON."
            return GoogleApiError(f"{said} A proxy may stand between.", status=status), False

    def _open_client(self, url: str) -> Any:
        with self._gate:
            if self._http is None:
                verify = _tls_settings() if url.startswith("https:") else False
                client = need("httpx2", extra=EXTRA).Client
                self._http = client(verify=verify, timeout=self._timeout_seconds)
            return self._http

    def _redact(self, text: str) -> str:
        token = getattr(self._credentials, "token", None)
        secrets = [token] if isinstance(token, str) else []
        return redact_values(text, secrets)[:_LONGEST_MESSAGE]

    def _too_slow(self) -> GoogleApiError:
        return GoogleApiError(
            f"{self._service} did not answer within {self._timeout_seconds:g} s. Try again, or "
            "ask for less."
        )

    def _read_body(self, answer: Any) -> bytes:
        body = bytearray()
        for piece in answer.iter_bytes():
            body += piece
            if self._limit.remaining_seconds() <= 0:
                raise self._too_slow()
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
            # Two threads that refresh one login at once can leave it without a token.
            with self._gate:
                if self._credentials is None:
                    self._credentials, _ = auth.default(scopes=[CLOUD_SCOPE])
                if not self._credentials.valid:
                    self._credentials.refresh(transport.Request())
                headers: dict[str, str] = {}
                self._credentials.apply(headers)
                return headers
        except errors.GoogleAuthError as error:
            raise GoogleApiError(
                f"There is no login for {self._service} ({type(error).__name__}). Run `gcloud "
                "auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS, or give a "
                "toolset a credentials_config."
            ) from None


class _TimeLimit(threading.local):
    """When the request of this thread has to be answered.

    The library bounds each read and each write alone, so a server that sends a byte now and then
    could keep a request waiting forever.
    """

    _end = math.inf

    def start(self, seconds: float) -> None:
        """Begin a request that may take so long."""
        self._end = time.monotonic() + seconds

    def remaining_seconds(self) -> float:
        """Return how many seconds are left; fewer than 0 if the time is over."""
        return self._end - time.monotonic()

    def trace(self, name: str, info: Mapping[str, Any]) -> None:
        """Bound the reads and writes of a network stream that the library has opened."""
        if not name.endswith(_OPENED):
            return
        stream = info["return_value"]
        stream.read, stream.write = self._bound(stream.read), self._bound(stream.write)

    def _bound(self, transfer: Callable[..., Any]) -> Callable[..., Any]:
        def transfer_in_time(data: Any, timeout: float | None = None) -> Any:
            return transfer(data, timeout=self._shorten(timeout))

        return transfer_in_time

    def _shorten(self, timeout: float | None) -> float:
        remaining = max(self.remaining_seconds(), _LEAST_WAIT_S)
        return remaining if timeout is None else min(timeout, remaining)


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
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        pass
    return text[:_MOST_READ] or "it gives no reason."
