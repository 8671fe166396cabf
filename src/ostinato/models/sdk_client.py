"""Clients of the openai and anthropic SDKs that a program made, in the place of an HTTP client."""

from __future__ import annotations

import inspect
import json
from typing import Any, NamedTuple

from .http.client import is_library_error
from .http.errors import HttpRequestError
from .http.messages import HttpRequest

# Who asks and where is the SDK client's affair; Ostinato's headers of that kind stay out.
_OWN_HEADERS = frozenset(
    {
        "user-agent",
        "authorization",
        "x-api-key",
        "api-key",
        "openai-organization",
        "openai-project",
    }
)
# Has the SDK hand out the response before its body is read, as its `with_streaming_response` does.
_UNREAD = {"x-stainless-raw-response": "stream"}


class _Prepared(NamedTuple):
    """A request for the SDK.

    Attributes:
      method: GET, POST, ...
      path: below the client's base URL.
      headers: Ostinato's headers, which it adds to its own.
      body: the JSON.
      timeout: seconds to wait for the next byte.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    timeout: float


class SdkClient:
    """Sends requests with an `AsyncOpenAI` or `AsyncAnthropic` client, or one derived from them.

    Key, headers, base URL and connections are the client's, and so is what it does to a request
    for Azure, Vertex AI or Bedrock. Its retries are off: the model's RetryPolicy has them.

    Args:
      client: the SDK's client; its owner closes it.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def is_closed(self) -> bool:
        """Whether its owner closed the client."""
        return self._client.is_closed()

    @property
    def base_url(self) -> str:
        """Where the client sends requests, without a slash at the end."""
        return str(self._client.base_url).rstrip("/")

    def build_own_request(
        self, request: HttpRequest, url: str, headers: dict[str, str], extensions: dict[str, Any]
    ) -> _Prepared:
        """Return a request that `send` takes."""
        if not url.startswith(self.base_url):
            raise HttpRequestError("The SDK's client sends requests to its own base_url only.")
        return _Prepared(
            request.method,
            url.removeprefix(self.base_url),
            {name: value for name, value in headers.items() if name.lower() not in _OWN_HEADERS},
            json.loads(request.body) if request.body else None,
            extensions["timeout"]["read"],
        )

    async def send(self, prepared: _Prepared, **_: object) -> Any:
        """Return the response, whatever its status, with its body unread.

        Raises:
          Exception: the HTTP library's error below the SDK's.
        """
        options = {
            "headers": {**prepared.headers, **_UNREAD},
            "timeout": prepared.timeout,
            "max_retries": 0,
        }
        try:
            answer = await self._client.post(
                prepared.path, cast_to=object, body=prepared.body, options=options
            )
            return answer.http_response
        except Exception as error:  # boundary: the SDK wraps what happened in errors of its own
            response = getattr(error, "response", None)
            if response is not None:
                return response
            cause = error.__cause__
            if cause is None or not is_library_error(cause):
                raise
        raise cause  # outside of the block, or the SDK's error would become its context


def find_sdk(client: object) -> str:
    """Return the package of the SDK that a client belongs to: openai, anthropic, google.genai."""
    if client is None:
        return ""
    for kind in type(client).__mro__:
        root, _, rest = kind.__module__.partition(".")
        if root in ("openai", "anthropic"):
            return root
        if root == "google" and rest.partition(".")[0] == "genai":
            return "google.genai"
    return ""


def check_sdk_client(client: object, package: str, adapter: str) -> None:
    """Raise TypeError if an adapter cannot send its requests with an SDK's client.

    Args:
      client: the client.
      package: the SDK whose clients the adapter takes; empty if it takes none.
      adapter: the adapter's name.
    """
    found, name = find_sdk(client), type(client).__name__
    if found != package:
        wanted = f"a client of {package} or " if package else ""
        raise TypeError(
            f"http_client of {adapter} takes {wanted}an httpx2.AsyncClient; got {found}.{name}. "
            "Choose the adapter for this client, or pass base_url, api_key and an "
            "httpx2.AsyncClient."
        )
    if found == "google.genai":
        if not hasattr(client, "aio"):
            raise TypeError(
                f"http_client of {adapter} takes a google.genai.Client; got {name}. Pass the "
                "client itself, not a part of it."
            )
    elif not inspect.iscoroutinefunction(getattr(client, "post", None)):
        raise TypeError(
            f"http_client of {adapter} takes an asynchronous client; got {found}.{name}, which is "
            f"synchronous: use Async{name}."
        )
