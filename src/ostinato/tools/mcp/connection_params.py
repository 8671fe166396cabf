"""Parameters of connections to MCP servers: a command, or an address with its kind of HTTP."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..._optional import need
from ...errors import AgentConfigError

EXTRA = "mcp"
CONNECT_SECONDS = 5.0
READ_SECONDS = 300.0
_PLAIN_WORD = re.compile(r"[A-Za-z-]{0,16}|v\d+")
_LAUNCHERS = ("python", "node", "npx", "uvx", "bunx", "deno")


@runtime_checkable
class CheckableMcpHttpClientFactory(Protocol):
    """Makes the HTTP client of a connection; `headers`, `timeout` and `auth` as httpx2 has them."""

    def __call__(
        self, headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None
    ) -> Any: ...


def make_http_client(
    headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None
) -> Any:
    """Return an httpx2 client, which follows no redirects by itself.

    Args:
      headers: sent with each request.
      timeout: an `httpx2.Timeout`, or seconds.
      auth: an `httpx2.Auth`.
    """
    return need("httpx2").AsyncClient(headers=headers, timeout=timeout, auth=auth)


class _Params(BaseModel):
    """What all kinds of connections share.

    Attributes:
      timeout: seconds to connect: to start the server or to reach it, and to agree on a protocol.
      call_timeout: seconds that a call may take without an answer or progress; progress begins
        them anew. None waits without a limit.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    timeout: float = Field(default=CONNECT_SECONDS, gt=0)
    call_timeout: float | None = Field(default=READ_SECONDS, gt=0)


class StdioConnectionParams(_Params):
    """A server that this process starts and speaks with over standard input and output.

    Attributes:
      server_params: `mcp.StdioServerParameters`, or a dict with its fields.
      timeout: seconds to start the server and to agree on a protocol.
      call_timeout: seconds that a call may take without an answer or progress.
    """

    server_params: Any

    @field_validator("server_params", mode="before")
    @classmethod
    def _read_server(cls, value: Any) -> Any:
        return make_server_params(value)


class _HttpParams(_Params):
    """What both kinds of HTTP connections share.

    Attributes:
      url: the server's address.
      headers: sent with each request.
      sse_read_timeout: seconds that a stream of the server may be silent.
      call_timeout: seconds that a call may take without an answer or progress; None takes
        `sse_read_timeout`.
      httpx_client_factory: makes the HTTP client.
    """

    url: str
    headers: dict[str, Any] | None = None
    sse_read_timeout: float = Field(default=READ_SECONDS, gt=0)
    call_timeout: float | None = Field(default=None, gt=0)
    httpx_client_factory: CheckableMcpHttpClientFactory = make_http_client

    @field_validator("url")
    @classmethod
    def _check_address(cls, value: str) -> str:
        split = urlsplit(value)
        if split.scheme not in ("http", "https") or not split.hostname:
            raise ValueError(f"{value!r} is not an http or https address")
        return value


class SseConnectionParams(_HttpParams):
    """A server that speaks HTTP with server-sent events, as before March 2025."""


class StreamableHTTPConnectionParams(_HttpParams):
    """A server that speaks streamable HTTP.

    Attributes:
      terminate_on_close: whether the server is told that its session ends.
    """

    terminate_on_close: bool = True


class InProcessConnectionParams(_Params):
    """A server object of the SDK in this process, for tests and for servers of one's own.

    Attributes:
      server: an `mcp.server.MCPServer` or `mcp.server.lowlevel.Server`.
      mode: `auto` for the newest protocol, `legacy` for those with a handshake.
    """

    server: Any
    mode: Literal["auto", "legacy"] = "auto"


ConnectionParams: TypeAlias = (
    StdioConnectionParams
    | SseConnectionParams
    | StreamableHTTPConnectionParams
    | InProcessConnectionParams
)


def make_server_params(value: Any) -> Any:
    """Return `mcp.StdioServerParameters` for themselves, or for a dict with their fields.

    Raises:
      MissingExtraError: the extra `mcp` is not installed.
    """
    return need("mcp.client.stdio", extra=EXTRA).StdioServerParameters.model_validate(
        value, from_attributes=True
    )


def make_connection_params(value: Any) -> ConnectionParams:
    """Return connection parameters for themselves, or for bare `mcp.StdioServerParameters`.

    Raises:
      AgentConfigError: the value is neither.
    """
    if isinstance(value, StdioConnectionParams | SseConnectionParams):
        return value
    if isinstance(value, StreamableHTTPConnectionParams | InProcessConnectionParams):
        return value
    if value and isinstance(getattr(value, "command", None), str):
        return StdioConnectionParams(server_params=value)
    raise AgentConfigError(
        "An MCP toolset needs connection_params: StdioConnectionParams, SseConnectionParams or "
        f"StreamableHTTPConnectionParams, not {type(value).__name__}."
    )


def server_label(params: ConnectionParams) -> str:
    """Return a name of a server for messages: its program, or its address without secrets."""
    if isinstance(params, InProcessConnectionParams):
        return str(params.server.name)
    if isinstance(params, StdioConnectionParams):
        server = params.server_params
        program = _last_part(server.command)
        script = next((word for word in server.args if not word.startswith("-")), "")
        # Other programs' arguments may be secrets.
        return f"{program} {_last_part(script)}".strip() if _is_launcher(program) else program
    split = urlsplit(params.url)
    port = f":{split.port}" if split.port else ""
    # Some services have a secret in the path.
    plain = "/".join(takewhile(_PLAIN_WORD.fullmatch, split.path.split("/")))
    return f"{split.scheme}://{split.hostname}{port}{plain}"


def digest_address(params: ConnectionParams) -> str:
    """Return what tells a server apart from others with the same `server_label`.

    Returns:
      A digest of the command or the URL, empty if the label says all of it. Behind a dot, a digest
      of the settings that may change while the server stays the same: environment, folder, headers.
      They are too short to find out a secret.
    """
    if isinstance(params, InProcessConnectionParams):
        return ""
    if isinstance(params, StdioConnectionParams):
        server, program = params.server_params, _last_part(params.server_params.command)
        # Where a launcher is installed says nothing about the server.
        command = program if _is_launcher(program) else server.command
        words: list[str] = [command, *server.args]
        settings = [getattr(server, "cwd", None), getattr(server, "env", None)]
    else:
        words, settings = [params.url], [params.headers]
    place = "" if " ".join(words) == server_label(params) else _digest(words)
    return f"{place}.{_digest(settings)}" if any(settings) else place


def _is_launcher(program: str) -> bool:
    return program.lower().startswith(_LAUNCHERS)


def _digest(value: Sequence[Any]) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:4]


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def call_seconds(params: ConnectionParams) -> float | None:
    """Return how long a call may take without an answer or progress, or None for no limit."""
    if isinstance(params, StdioConnectionParams | InProcessConnectionParams):
        return params.call_timeout
    return params.call_timeout or params.sse_read_timeout
