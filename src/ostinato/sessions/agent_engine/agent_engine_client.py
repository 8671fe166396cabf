"""Agent Engine of Vertex AI over REST: where it is, who asks, retries, pages and operations.

The session service and the Memory Bank ask through it. It needs google-auth and httpx2, not the
client libraries of Google Cloud.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import threading
import weakref
from collections.abc import AsyncGenerator, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from ... import _google_retries
from ..._bounded_body import read_body
from ..._google_retries import (
    FIRST_WAIT_S,
    NOTHING_DONE,
    PASSING,
    OperationError,
    poll_operation,
)
from ..._log import get_logger
from ..._optional import need
from ..._secret_values import redact_values
from ...errors import InputValidationError, StoreError
from ...features.environment import is_enterprise_mode_enabled

logger = get_logger(__name__)

EXTRA = "vertex"
_VERSION = "v1beta1"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_GLOBAL = "global"
_MULTI_REGIONS = ("us", "eu")
_SHORT_ID = re.compile(r"[A-Za-z0-9_-]+")

_ATTEMPTS = 5
_LONGEST_WAIT_S = 30.0
_OPERATION_S = 300.0
_TIMEOUT_S = 60.0
_MOST_BYTES = 100 * 2**20
_MOST_READ = 100_000  # characters of an error that are searched for secrets
_LONGEST_REASON = 500  # characters


class AgentEngineError(StoreError):
    """Agent Engine refused or failed.

    Args:
      message: names the engine and the remedy, and no key.
      status: the HTTP status, or None if there was no response.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def check_engine(agent_engine_id: str) -> str:
    """Return an engine's id.

    Raises:
      InputValidationError: it is not an id, for example a whole resource name.
    """
    if not _SHORT_ID.fullmatch(agent_engine_id):
        last = agent_engine_id.rpartition("/")[2]
        raise InputValidationError(
            f"agent_engine_id {agent_engine_id!r} is not an id: letters, digits, - and _. "
            + (f"Pass only {last!r}." if _SHORT_ID.fullmatch(last) else "Pass the engine's number.")
        )
    return agent_engine_id


def get_express_mode_api_key(
    project: str | None, location: str | None, express_mode_api_key: str | None
) -> str | None:
    """Return the API key of express mode, or None if requests go to a project.

    It is the one given, or GOOGLE_API_KEY where nothing is given and the environment asks for
    Google Cloud (FEATURES row 195).

    Raises:
      InputValidationError: a key and a project or location were given.
    """
    if express_mode_api_key is not None and (project is not None or location is not None):
        raise InputValidationError(
            "Cannot specify project or location and express_mode_api_key. Either use project and "
            "location, or just the express_mode_api_key."
        )
    if express_mode_api_key is None and project is None and location is None:
        return (os.environ.get("GOOGLE_API_KEY") or None) if is_enterprise_mode_enabled() else None
    return express_mode_api_key or None


class _Answer(NamedTuple):
    """A complete answer of HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Login:
    """The right to ask: an API key, or credentials of google-auth, which it keeps fresh."""

    def __init__(self, api_key: str | None, project: str | None) -> None:
        self.api_key, self.project = api_key, project
        self._credentials: Any = None
        self._gate = threading.Lock()

    @property
    def secret(self) -> str | None:
        """The key or token, which no message may show."""
        return self.api_key or getattr(self._credentials, "token", None)

    async def headers(self) -> dict[str, str]:
        """Return the headers that carry it.

        Raises:
          AgentEngineError: there is no login, or it was refused.
        """
        if self.api_key is not None:
            return {"x-goog-api-key": self.api_key}
        credentials = self._credentials
        if credentials is None or not credentials.valid:
            credentials = await asyncio.to_thread(self._refresh_token)
        headers: dict[str, str] = {}
        credentials.apply(headers)
        return headers

    def _refresh_token(self) -> Any:
        """Find the credentials and renew their token; both may ask servers."""
        auth = need("google.auth", extra=EXTRA)
        transport = need("google.auth.transport.requests", extra=EXTRA)
        with self._gate:
            try:
                if self._credentials is None:
                    found, project = auth.default(scopes=[_SCOPE])
                    self._credentials, self.project = found, self.project or project
                if not self._credentials.valid:
                    self._credentials.refresh(transport.Request())
                return self._credentials
            except auth.exceptions.DefaultCredentialsError:
                raise AgentEngineError(
                    "No login for Agent Engine of Vertex AI: run `gcloud auth application-default "
                    "login`, set GOOGLE_APPLICATION_CREDENTIALS, or pass express_mode_api_key."
                ) from None
            except auth.exceptions.GoogleAuthError as error:
                raise AgentEngineError(
                    f"Google Cloud did not renew the login for Agent Engine "
                    f"({type(error).__name__}). Log in again, or check the credentials."
                ) from None


class AgentEngineClient:
    """Asks the REST resources of a project's engines.

    A request that fails in passing is sent again: all of them where `repeatable` says that twice
    does what once does, otherwise only where the service said that it did nothing.

    Args:
      project: the project; GOOGLE_CLOUD_PROJECT, or the login's own, where it is None.
      location: its region; GOOGLE_CLOUD_LOCATION, or `global`, where it is None.
      api_key: key of express mode, in place of project and location.
      timeout: how long an answer may take, seconds.
    """

    def __init__(
        self,
        project: str | None,
        location: str | None,
        api_key: str | None,
        *,
        timeout: float = _TIMEOUT_S,
    ) -> None:
        named = project or os.environ.get("GOOGLE_CLOUD_PROJECT") or None
        self._login = _Login(api_key, named)
        self.location = location or os.environ.get("GOOGLE_CLOUD_LOCATION") or _GLOBAL
        self._base = os.environ.get("GOOGLE_VERTEX_BASE_URL", "").rstrip("/") or _service_host(
            _GLOBAL if api_key is not None else self.location
        )
        self._http: Any = need("httpx2", extra=EXTRA)
        need("google.auth", extra=EXTRA)
        self._timeout = timeout
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = (
            weakref.WeakKeyDictionary()
        )

    async def close(self) -> None:
        """Close the running loop's connections; the next request opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def ask(
        self,
        method: str,
        engine: str,
        resource: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        repeatable: bool = True,
    ) -> dict[str, Any]:
        """Ask for a resource of an engine and return the JSON of the answer.

        Raises:
          AgentEngineError: refused or failed; `status` tells which.
          InputValidationError: the service does not take the request.
        """
        headers = await self._login.headers()
        place = self._engine_name(engine)
        url = f"{self._base}/{_VERSION}/{place}/{resource}"
        return await self._send_request(method, url, engine, headers, query, body, repeatable)

    async def items(
        self, engine: str, resource: str, key: str, query: Mapping[str, str]
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield what a list has, page by page.

        Args:
          key: the field that holds a page's items.
        """
        token = ""
        while True:
            asked = {**query, "pageToken": token} if token else query
            page = await self.ask("GET", engine, resource, query=asked)
            items: Any = page.get(key) or []
            if not isinstance(items, list):
                raise self._shape_error(engine, resource, key)
            for item in cast("list[Any]", items):
                if not isinstance(item, dict):
                    raise self._shape_error(engine, resource, key)
                yield cast("dict[str, Any]", item)
            token = page.get("nextPageToken") or ""
            if not token:
                return

    def _shape_error(self, engine: str, resource: str, key: str) -> AgentEngineError:
        return AgentEngineError(
            f"{self._describe_engine(engine)} answered {resource} with JSON of another shape than "
            f"it documents: {key} is no list of objects. A proxy may stand between."
        )

    async def wait_for_operation(self, engine: str, operation: dict[str, Any]) -> dict[str, Any]:
        """Wait for a long-running operation and return its response.

        Raises:
          AgentEngineError: it failed, or did not end in time.
        """

        async def ask(name: str) -> dict[str, Any]:
            headers = await self._login.headers()
            url = f"{self._base}/{_VERSION}/{name}"
            return await self._send_request("GET", url, engine, headers, None, None, True)

        try:
            operation = await poll_operation(operation, ask, seconds=_OPERATION_S)
        except OperationError as error:
            raise AgentEngineError(
                f"{self._describe_engine(engine)} {error} Look at the operation, or try again."
            ) from None
        failure: Any = operation.get("error") or {}
        response: Any = operation.get("response") or {}
        if not isinstance(failure, dict) or not isinstance(response, dict):
            raise AgentEngineError(
                f"{self._describe_engine(engine)} answered with a long-running operation of "
                "another shape than it documents. A proxy may stand between."
            )
        failure = cast("dict[str, Any]", failure)
        if failure:
            raise AgentEngineError(
                f"{self._describe_engine(engine)} did not do what was asked: "
                f"{self._redact_secrets(str(failure.get('message')))} "
                f"(code {failure.get('code')}).",
                status={5: 404, 6: 409}.get(failure.get("code")),
            )
        return cast("dict[str, Any]", response)

    async def _send_request(
        self,
        method: str,
        url: str,
        engine: str,
        headers: dict[str, str],
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        repeatable: bool,
    ) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers = {**headers, "content-type": "application/json"}
        attempt = 0
        while True:
            attempt += 1
            asked_wait = 0.0
            try:
                # The library bounds the silence between bytes, and this the whole answer.
                async with asyncio.timeout(self._timeout):
                    answer = await self._fetch_answer(
                        method, url, engine, params=query or {}, headers=headers, content=content
                    )
            except (self._http.HTTPError, TimeoutError) as error:
                again = repeatable or isinstance(error, self._http.ConnectError)
                failure = self._no_answer_error(error, engine, method, url)
            else:
                if answer.status < 300:
                    return self._read_answer(answer, engine, method, url)
                status = answer.status
                again = status in (PASSING if repeatable else NOTHING_DONE)
                failure = self._refusal_error(answer, engine, method, url)
                asked_wait = _parse_seconds(answer.headers.get("retry-after", ""))
            if not again or attempt == _ATTEMPTS:
                raise failure from None
            wait = FIRST_WAIT_S * 2 ** (attempt - 1) * (0.5 + random.random())
            logger.warning("%s Attempt %d of %d follows.", failure, attempt + 1, _ATTEMPTS)
            await _google_retries.pause(min(max(wait, asked_wait), _LONGEST_WAIT_S))

    async def _fetch_answer(self, method: str, url: str, engine: str, **options: Any) -> Any:
        """Send a request and return the answer with its whole body, which is bounded."""
        async with self._loop_client().stream(method, url, **options) as answer:
            body = await read_body(answer, _MOST_BYTES)
        if len(body) > _MOST_BYTES:
            raise AgentEngineError(
                f"{self._describe_engine(engine)} answered {method} {_tail_of(url)} with more than "
                f"{_MOST_BYTES} bytes. Ask for less.",
                status=answer.status_code,
            )
        return _Answer(answer.status_code, answer.headers, body)

    def _loop_client(self) -> Any:
        """Return the running loop's HTTP client; connections belong to a loop."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._http.AsyncClient(timeout=self._timeout, verify=_tls_settings())
            self._clients[loop] = client
        return client

    def _engine_name(self, engine: str) -> str:
        """Return the resource name of an engine; the login is known."""
        if self._login.api_key is not None:
            return f"reasoningEngines/{engine}"
        project = self._login.project
        if not project:
            raise InputValidationError(
                f"No project for Agent Engine {engine}: pass project=..., or set "
                "GOOGLE_CLOUD_PROJECT."
            )
        return f"projects/{project}/locations/{self.location}/reasoningEngines/{engine}"

    def _describe_engine(self, engine: str) -> str:
        if self._login.api_key is not None:
            return f"Agent Engine {engine} (express mode)"
        return f"Agent Engine {engine} (project {self._login.project}, location {self.location})"

    def _read_answer(self, answer: _Answer, engine: str, method: str, url: str) -> dict[str, Any]:
        try:
            value: Any = json.loads(answer.body) if answer.body else {}
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise AgentEngineError(
                f"{self._describe_engine(engine)} answered {method} {_tail_of(url)} with "
                "something that is no JSON object. A proxy may stand between; try again."
            ) from None
        return cast(dict[str, Any], value)

    def _no_answer_error(self, error: Exception, engine: str, method: str, url: str) -> Exception:
        late = isinstance(error, (self._http.TimeoutException, TimeoutError))
        why = f"within {self._timeout:g} s" if late else f"({type(error).__name__})"
        return AgentEngineError(
            f"{self._describe_engine(engine)} did not answer {method} {_tail_of(url)} {why}. "
            "Check the network, the location and GOOGLE_VERTEX_BASE_URL, or try again."
        )

    def _refusal_error(self, answer: _Answer, engine: str, method: str, url: str) -> Exception:
        status = answer.status
        said = _end_sentence(self._redact_secrets(_error_message(answer.body)))
        engine = self._describe_engine(engine)
        told = f"{engine} answered {method} {_tail_of(url)} with {status}: {said}"
        if status == 400:
            return InputValidationError(f"{told} Change what was asked for.")
        return AgentEngineError(f"{told} {_error_remedy(status)}", status=status)

    def _redact_secrets(self, text: str) -> str:
        """Return a text of the service without what the login keeps secret."""
        secret = self._login.secret
        return redact_values(text, [secret] if secret else [])


@cache
def _tls_settings() -> Any:
    """Return the settings of encryption, which take a tenth of a second to make."""
    return need("httpx2", extra=EXTRA).create_ssl_context()


def _service_host(location: str) -> str:
    if location == _GLOBAL:
        return "https://aiplatform.googleapis.com"
    if location in _MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _tail_of(url: str) -> str:
    """Return a URL's part below the engine."""
    return url.partition("/reasoningEngines/")[2].partition("/")[2] or url.rpartition("/")[2]


def _error_message(body: bytes) -> str:
    """Return what an answer says went wrong."""
    try:
        error: Any = json.loads(body)["error"]
        text = f"{error.get('status', '')}: {error.get('message', '')}".strip(": ")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        text = body.decode("utf-8", "replace").strip()
    return text[:_MOST_READ]


def _end_sentence(text: str) -> str:
    """Return the start of a text, with a full stop."""
    text = text[:_LONGEST_REASON] or "it says nothing"
    return text if text.endswith((".", "!", "?")) else text + "."


def _error_remedy(status: int) -> str:
    if status == 401:
        return "Log in again, or check the key."
    if status == 403:
        return "Give the account the role roles/aiplatform.user and enable the Vertex AI API."
    if status == 404:
        return "Check the engine's id, the project and the location."
    if status == 429:
        return "A quota is used up: wait, or ask for a higher one."
    return "Try again later."


def _parse_seconds(text: str) -> float:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else 0.0
