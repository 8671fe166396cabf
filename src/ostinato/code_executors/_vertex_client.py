"""VertexClient: requests to the REST resources of Vertex AI that run code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast
from urllib.parse import quote

from pydantic import BaseModel, Field

from .. import _google_retries
from .._google_rest import GoogleApiError, read_record
from .._google_retries import (
    FIRST_WAIT_S,
    NOTHING_DONE,
    PASSING,
    OperationError,
    poll_operation,
)
from .._secrets import redact_text
from ..errors import AgentConfigError
from ..features.environment import find_variable
from ..models.google_credentials import GoogleCredential
from ..models.http.errors import HttpConnectError, HttpError, HttpStatusError
from ..models.http.messages import HttpRequest, Timeouts
from ..models.http.transport import HttpTransport

DEFAULT_LOCATION = "us-central1"

_VERSION = "v1beta1"
_ATTEMPTS = 4
_OPERATION_S = 600.0
_LONGEST_REASON = 500  # characters


class VertexError(GoogleApiError):
    """Vertex AI refused a request, failed, answered something else or cannot be reached."""


class _Named(BaseModel):
    name: str


class _Failure(BaseModel):
    message: str = "it gives no reason."


class _Operation(BaseModel):
    failure: _Failure | None = Field(default=None, alias="error")
    response: _Named | None = None


class VertexClient:
    """Asks Vertex AI. An async context manager: leaving it closes the connections.

    Args:
      credential: the login.
      location: the region whose server is asked.
      seconds: how long an answer may take.
    """

    def __init__(self, credential: GoogleCredential, location: str, seconds: float) -> None:
        self._credential = credential
        self._base = find_variable("GOOGLE_VERTEX_BASE_URL")[1].rstrip("/") or _find_host(location)
        self._seconds = seconds
        self._timeouts = Timeouts.of(seconds)
        self._transport = HttpTransport(credential)
        self.location = location

    async def __aenter__(self) -> VertexClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.aclose()

    async def find_parent(self) -> str:
        """Return the name of the place where resources are made.

        Raises:
          AgentConfigError: no project is known.
        """
        project = find_variable("GOOGLE_CLOUD_PROJECT")[1]
        if not project:
            with _explain_login():
                project = await self._credential.project() or ""
        if not project:
            raise AgentConfigError(
                "No project of Google Cloud is known: set GOOGLE_CLOUD_PROJECT, or give the "
                "executor a resource name."
            )
        return f"projects/{project}/locations/{self.location}"

    async def ask(
        self,
        method: str,
        name: str,
        body: Mapping[str, Any] | None = None,
        *,
        repeatable: bool = True,
    ) -> dict[str, Any]:
        """Send a request and return the answer.

        Args:
          method: the HTTP method.
          name: the resource's name, with `:verb` for a method of its own.
          body: sent as JSON.
          repeatable: whether it may be sent again when its outcome is unknown.

        Raises:
          VertexError: refused or failed, or the answer is no JSON object.
          AgentConfigError: there is no login.
        """
        url = f"{self._base}/{_VERSION}/{quote(name, safe='/:')}"
        data = b"" if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"content-type": "application/json"}
        request = HttpRequest(method, url, headers, data, self._timeouts)
        attempt = 0
        while True:
            attempt += 1
            try:
                # The transport bounds the silence between bytes, and this the whole request.
                async with asyncio.timeout(self._seconds):
                    with _explain_login():
                        answer = (await self._transport.send(request)).text
                break
            except TimeoutError as error:
                raise VertexError(
                    f"Vertex AI did not answer {name} within {self._seconds:g} s. Check the "
                    "network, or set a longer timeout_seconds."
                ) from error
            except HttpError as error:
                status = error.status if isinstance(error, HttpStatusError) else None
                unsent = isinstance(error, HttpConnectError) or status in NOTHING_DONE
                passing = status is None or status in PASSING
                if attempt == _ATTEMPTS or not (unsent or (repeatable and passing)):
                    raise self._translate(error, name) from error
            await _google_retries.pause(FIRST_WAIT_S * 2 ** (attempt - 1))
        try:
            value: Any = json.loads(answer or "{}")
        except (ValueError, RecursionError) as error:
            said = f"Vertex AI answered {name} with something that is not JSON."
            raise VertexError(f"{said} A proxy may stand between.") from error
        if not isinstance(value, dict):
            said = f"Vertex AI answered {name} with JSON that is no object."
            raise VertexError(f"{said} A proxy may stand between.")
        return cast("dict[str, Any]", value)

    async def wait_for_resource(self, operation: dict[str, Any]) -> str:
        """Wait for a long-running operation and return the name of the resource that it made.

        Raises:
          VertexError: it failed, or did not end in time.
        """
        try:
            operation = await poll_operation(
                operation, lambda name: self.ask("GET", name), seconds=_OPERATION_S
            )
        except OperationError as error:
            raise VertexError(f"Vertex AI {error}") from None
        ended = read_record(_Operation, operation, "Vertex AI", VertexError)
        if ended.failure is not None:
            message = self._redact(ended.failure.message)
            raise VertexError(f"Vertex AI did not do what was asked: {message}")
        if ended.response is None:
            raise VertexError("Vertex AI did not name the resource that it made. Try again.")
        return ended.response.name

    def _redact(self, text: str) -> str:
        return redact_text(self._transport.redact(text))[:_LONGEST_REASON]

    def _translate(self, error: HttpError, name: str) -> VertexError:
        if not isinstance(error, HttpStatusError):
            said = self._redact(str(error))
            return VertexError(f"Vertex AI did not answer {name}: {said} Check the network.")
        reason = error.text
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            reason = str(json.loads(error.body)["error"]["message"])
        reason = self._redact(reason)
        remedy = {
            401: "Log in again.",
            403: "Give the account the role roles/aiplatform.user and enable the Vertex AI API.",
            404: "Check the resource name.",
            429: "A quota is used up: wait, or ask for a higher one.",
        }.get(error.status, "")
        return VertexError(
            f"Vertex AI answered {name} with {error.status}: {reason} {remedy}".rstrip(),
            status=error.status,
        )


@contextmanager
def _explain_login() -> Generator[None]:
    """Turn errors of google-auth into ours; they may hold what a login server said."""
    try:
        yield
    except Exception as error:  # boundary: google-auth is loaded only when it is needed
        if not type(error).__module__.startswith("google.auth"):
            raise
        raise AgentConfigError(
            f"There is no login for Vertex AI ({type(error).__name__}): run `gcloud auth "
            "application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS."
        ) from None


def _find_host(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"
