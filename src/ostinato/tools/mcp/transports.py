"""Transports of MCP connections: the SDK's, watched for their end."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TextIO, cast

from pydantic import ValidationError

from ..._optional import need
from .broken_characters import repair
from .connection_params import (
    EXTRA,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from .http_client import MAX_ANSWER_BYTES, HttpClient
from .line_codec import NAME as LINE_ENCODING
from .line_codec import OPTIONS, LineOptions
from .list_pages import ListPages

Headers = Callable[[], Mapping[str, str]]
Lost = Callable[[str], None]

_START = "_create_platform_compatible_process"  # of the SDK
_started: ContextVar[list[Any] | None] = ContextVar("ostinato_mcp_started", default=None)

UNREADABLE = -32_091
"""Code of the error that a call ends with if its answer cannot be read; no server sends it."""

_HEAD, _TAIL = 1_000, 100  # characters of a broken line in which its id is looked for
# Strings, maybe names of members with numbers as values, and what opens and closes.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\s*(:)\s*(\d{1,15}\b)?)?|[\[\]{}]', re.DOTALL)
# Servers of the TypeScript SDK write the id behind the result.
_LAST_ID = re.compile(r'[,}]\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?}\s*\Z')
_OF_ANSWER = frozenset(("jsonrpc", "result", "error"))


class _WatchedReader:
    """A stream of messages that reports its end.

    It fails the calls whose answers are broken, and leaves what is invalid out of lists.
    """

    def __init__(self, inner: Any, on_end: Callable[[], None], pages: ListPages) -> None:
        self._inner = inner
        self._on_end = on_end
        self._pages = pages

    @property
    def last_context(self) -> Any:
        """The context of the newest message's sender, or None; the SDK reads it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        """Return the next message."""
        anyio = need("anyio", extra=EXTRA)
        try:
            return self._check(await self._inner.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._on_end()
            raise

    def __aiter__(self) -> _WatchedReader:
        return self

    async def __anext__(self) -> Any:
        try:
            return self._check(await self._inner.__anext__())
        except StopAsyncIteration:
            self._on_end()
            raise

    def _check(self, message: Any) -> Any:
        if isinstance(message, ValidationError):
            message = _repair(message)
        self._pages.clean(message)
        _drop_huge_progress(message)
        return _answer_broken(message)

    def close(self) -> None:
        """Close the stream."""
        self._inner.close()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> _WatchedReader:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)


def _repair(fault: ValidationError) -> Any:
    """Return the message that only half a character makes invalid; any other fault itself."""
    given: Any = fault.errors(include_url=False, include_context=False)[0].get("input")
    if not isinstance(given, str):
        return fault
    line = given.encode("utf-8", "replace")
    repaired = repair(line)
    if repaired == line:
        return fault
    adapter = need("mcp.types", extra=EXTRA).jsonrpc_message_adapter
    try:
        message = adapter.validate_json(repaired, by_name=False)
    except ValidationError as other:
        return other
    return need("mcp.shared.message", extra=EXTRA).SessionMessage(message=message)


def _drop_huge_progress(message: Any) -> None:
    """Take numbers out of a notification of progress that no float can hold.

    The SDK converts them outside of any call, so that the failure would end the connection.
    """
    notification = getattr(message, "message", None)
    if getattr(notification, "method", "") != "notifications/progress":
        return
    params: Any = getattr(notification, "params", None)
    if not isinstance(params, dict):
        return
    fields = cast("dict[str, Any]", params)
    for name in ("progress", "total"):
        value = fields.get(name)
        if isinstance(value, int):
            try:
                float(value)
            except OverflowError:
                fields[name] = None


def _answer_broken(message: Any) -> Any:
    """Return a message; an error response in place of an answer that cannot be read.

    The SDK drops what is not JSON-RPC, as it should with lines of a log; the call that such an
    answer belongs to would wait until its time is over.
    """
    if not isinstance(message, ValidationError):
        return message
    fault = message.errors(include_url=False, include_context=False)[0]
    given: Any = fault.get("input")
    fields, number = cast("dict[str, Any]", given) if isinstance(given, dict) else {}, None
    if isinstance(given, str) and given.lstrip().startswith("{"):
        fields = _read_members(given)
    if "method" not in fields and not _OF_ANSWER.isdisjoint(fields):
        number = fields.get("id")
    if type(number) is not int:
        return message
    kinds = need("mcp.types", extra=EXTRA)
    error = kinds.ErrorData(code=UNREADABLE, message=describe_unreadable(fault["msg"]))
    response = kinds.JSONRPCError(jsonrpc="2.0", id=number, error=error)
    return need("mcp.shared.message", extra=EXTRA).SessionMessage(message=response)


def _read_members(line: str) -> dict[str, Any]:
    """Return the names of a broken message's own members, with the id among them as a number."""
    found: dict[str, Any] = {}
    level = 0
    for token in _TOKEN.finditer(line[:_HEAD]):
        level += token[0] in "[{"
        level -= token[0] in "]}"
        if level == 1 and token[2]:
            found[token[1]] = int(token[3]) if token[3] else None
    last = _LAST_ID.search(line[-_TAIL:])
    if last is not None:
        found.setdefault("id", int(last[1]))
    return found


def describe_unreadable(problem: str) -> str:
    """Return what is wrong with an answer.

    Args:
      problem: what the reader of JSON says.
    """
    if "recursion limit" in problem:
        return "its answer is nested more than 200 levels deep"
    return "its answer is not valid JSON-RPC"


@asynccontextmanager
async def open_transport(
    params: StdioConnectionParams | SseConnectionParams | StreamableHTTPConnectionParams,
    *,
    errlog: TextIO | None,
    headers: Headers,
    on_end: Callable[[], None],
    on_lost: Lost,
    on_long_line: Lost,
    pages: ListPages,
) -> AsyncGenerator[tuple[Any, Any]]:
    """Open the transport to a server; the same task leaves it that enters it.

    Args:
      params: the connection's parameters.
      errlog: where a server on standard input and output writes its errors.
      headers: returns the connection's newest headers.
      on_end: called when the server sends nothing any more.
      on_lost: called when a request fails whose failure the transport would hide.
      on_long_line: called when a line of a server on standard input and output is too long.
      pages: checks the pages of the server's lists.

    Yields:
      The streams to read messages from and to write them to.
    """
    if isinstance(params, StdioConnectionParams):
        transport = _open_stdio(params, errlog, on_long_line)
    elif isinstance(params, SseConnectionParams):
        transport = _make_sse(params, headers, on_lost)
    else:
        transport = _open_streamable(params, headers)
    async with transport as (reader, writer):
        yield _WatchedReader(reader, on_end, pages), writer


@asynccontextmanager
async def _open_stdio(
    params: StdioConnectionParams, errlog: TextIO | None, on_long_line: Lost
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start a server; at the end, end it and the helpers in its process group.

    The SDK ends the group of a server only if that does not end by itself.
    """
    _watch_starts()
    started: list[Any] = []
    _started.set(started)  # the connection's task has a context of its own
    try:
        async with _make_stdio(params, errlog, on_long_line) as streams:
            yield streams
    finally:
        if sys.platform != "win32":  # there the SDK's job object ends them all
            end_group = need("mcp.os.posix.utilities", extra=EXTRA).terminate_posix_process_tree
            with need("anyio", extra=EXTRA).CancelScope(shield=True):
                for process in started:
                    await end_group(process)


def _watch_starts() -> None:
    """Note in `_started` the processes that the SDK starts and does not show."""
    stdio: Any = need("mcp.client.stdio", extra=EXTRA)
    start = getattr(stdio, _START, None)
    if start is None or getattr(start, "is_watched", False):
        return

    @wraps(start)
    async def start_and_note(*args: Any, **options: Any) -> Any:
        process = await start(*args, **options)
        noted = _started.get()
        if noted is not None:
            noted.append(process)
        return process

    watched: Any = start_and_note
    watched.is_watched = True
    setattr(stdio, _START, watched)


def _make_stdio(params: StdioConnectionParams, errlog: TextIO | None, on_long_line: Lost) -> Any:
    server = params.server_params
    OPTIONS.set(LineOptions(server.encoding, on_long_line))
    changes = {"encoding": LINE_ENCODING}
    if "encoding_error_handler" not in server.model_fields_set:
        # One invalid byte, such as in a line of a log, must not end the connection.
        changes["encoding_error_handler"] = "replace"
    server = server.model_copy(update=changes)
    return need("mcp.client.stdio", extra=EXTRA).stdio_client(server, errlog=_find_file(errlog))


def _find_file(errlog: TextIO | None) -> Any:
    """Return a file that a process can write to: `errlog`, the real stderr, or none at all."""
    for candidate in (errlog, sys.__stderr__):
        try:
            if candidate is not None:
                candidate.fileno()
                return candidate
        except (OSError, ValueError, AttributeError):
            continue  # a stream in memory, or a closed one
    return subprocess.DEVNULL


def _make_client(
    params: SseConnectionParams | StreamableHTTPConnectionParams,
    headers: Headers,
    on_lost: Lost | None,
) -> HttpClient:
    timeout = need("httpx2").Timeout(params.timeout, read=params.sse_read_timeout)
    own = {name: str(value) for name, value in (params.headers or {}).items()}
    client = params.httpx_client_factory(headers=own, timeout=timeout, auth=None)
    return HttpClient(client, headers, on_lost)


def _make_sse(params: SseConnectionParams, headers: Headers, on_lost: Lost) -> Any:
    def make_client(**_: Any) -> HttpClient:
        return _make_client(params, headers, on_lost)

    return need("mcp.client.sse", extra=EXTRA).sse_client(
        params.url,
        timeout=params.timeout,
        sse_read_timeout=params.sse_read_timeout,
        httpx_client_factory=make_client,
    )


@asynccontextmanager
async def _open_streamable(
    params: StreamableHTTPConnectionParams, headers: Headers
) -> AsyncGenerator[tuple[Any, Any]]:
    sdk = need("mcp.client.streamable_http", extra=EXTRA)
    async with (
        _make_client(params, headers, None) as client,
        sdk.streamable_http_client(
            params.url,
            http_client=client,
            terminate_on_close=params.terminate_on_close,
            max_sse_event_size=MAX_ANSWER_BYTES,
        ) as streams,
    ):
        yield streams
