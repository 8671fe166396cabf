"""One call of a tool on an MCP server: sent at most once, with errors that the model may read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import cache, partial
from typing import Annotated, Any, NamedTuple, cast

from pydantic import Discriminator, Tag, TypeAdapter, ValidationError

from ..._optional import need
from ..._secret_values import redact_tree
from ...errors import ToolTimeoutError
from ..call_doubt import CallNotRun, UnknownOutcome
from .connection import McpConnection, Request
from .connection_params import EXTRA
from .elicitation import MAX_ROUNDS, Resumption, answer_at_once
from .errors import McpCallError, McpConnectionError
from .http_client import RequestTrace
from .sampling import Sampler
from .session_manager import MCPSessionManager
from .transports import UNREADABLE, describe_unreadable

FAILED = "MCP tool execution failed: "
_LONGEST_TOLD = 4_000  # characters of what a server says
_UNKNOWN = (
    "The request was sent, so the call may have taken effect; it was not repeated. Check what "
    "happened before you call again."
)
_NOT_RUN = "The call was not run."
_OPEN = (408, 429)  # statuses that leave the outcome open: a proxy may have answered with them
_FORGOTTEN = (
    "the server does not know any more which question the user answered ({reason}), so the answer "
    "was not used. If the call has not taken effect before, it may be made again; then the user is "
    "asked anew"
)
_LOST = ("Connection closed", "SSE stream ")  # what the SDK says where an answer is lost
_COMPLETE = "complete"
_NOTHING = nullcontext[None]()


class PendingQuestions(NamedTuple):
    """Questions that only the user can answer.

    Attributes:
      result: the SDK's InputRequiredResult.
      answered: answers of callbacks to other questions, by key.
    """

    result: Any
    answered: Mapping[str, Any]


class ServerCall:
    """A call of one tool.

    Args:
      manager: the connections to the server.
      tool: the server's description of the tool.
      identity: whose connection is used.
      headers: the caller's headers.
      needs_list: whether the session must have read the list of tools first, from which it learns
        which arguments travel as headers.
    """

    def __init__(
        self,
        manager: MCPSessionManager,
        *,
        tool: Any,
        identity: str,
        headers: Mapping[str, str],
        needs_list: bool = False,
    ) -> None:
        self._manager = manager
        self._tool = tool
        self._identity = identity
        self._headers = headers
        self._needs_list = needs_list
        self._connection: McpConnection | None = None

    async def send(
        self,
        args: Mapping[str, Any],
        *,
        meta: Mapping[str, Any],
        before: Callable[[], Awaitable[None]],
        on_progress: Any = None,
        resumption: Resumption | None = None,
        sampler: Sampler | None = None,
    ) -> Any:
        """Send the call and return the server's result.

        Args:
          args: the arguments.
          meta: the request's `_meta`.
          before: called once the connection is there, before the request is sent.
          on_progress: `async (progress, total, message)`, or None.
          resumption: the answers to the server's questions, if it asked some before.
          sampler: answers the server's requests to the model, or None.

        Returns:
          The SDK's `CallToolResult`; a PendingQuestions; a list of addresses that the user has to
          visit first; or a dict with `error` for the model, which is an UnknownOutcome if the call
          may have taken effect, and a CallNotRun if it was not run.

        Raises:
          ToolTimeoutError: the server gave neither an answer nor progress in time.
        """
        request = {"name": self._tool.name, "arguments": dict(args), "_meta": dict(meta)}
        trace = RequestTrace(self._headers)
        try:
            connection = await self._connect(trace)
            await before()
            if not connection.is_open:  # it made room for another caller meanwhile
                connection = await self._connect(trace)
            work = partial(self._converse, request, on_progress, resumption, sampler)
            return await self._run(connection, work, trace, resumption)
        except McpConnectionError as error:
            if trace.never_sent:
                return CallNotRun(error=f"{FAILED}{error} {_NOT_RUN}")
            return UnknownOutcome(error=f"{FAILED}{error} {_UNKNOWN}")

    def redact(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return what the server said of a failure, without the secrets that it was sent.

        Args:
          found: JSON, such as the result of a tool that failed.
        """
        connection = self._connection
        secrets = () if connection is None else connection.list_secrets(self._headers)
        told = redact_tree(found, secrets, skip=("data", "blob"))
        kind = type(found)
        return kind(told) if kind in (UnknownOutcome, CallNotRun) else told

    async def _converse(
        self,
        fields: dict[str, Any],
        on_progress: Any,
        resumption: Resumption | None,
        sampler: Sampler | None,
        session: Any,
        request: Request,
    ) -> Any:
        """Send the call, and again with the answers of callbacks to what the server asks.

        Raises:
          MCPError: the server answers with an error, or asks without end.
        """
        kinds = need("mcp.types", extra=EXTRA)

        async def note_progress(done: float, total: float | None, message: str | None) -> None:
            request.extend()
            if on_progress is not None:
                await on_progress(done, total, message)

        responses = None if resumption is None else resumption.responses
        state = None if resumption is None else resumption.state
        for turn in range(MAX_ROUNDS):
            answers = {"inputResponses": responses, "requestState": state}
            params = kinds.CallToolRequestParams.model_validate({**fields, **answers})
            with self._manager.live_sampling.serve(session, sampler) if sampler else _NOTHING:
                result = await session.send_request(
                    kinds.CallToolRequest(params=params),
                    _result_adapter(),
                    progress_callback=note_progress,
                )
            if not isinstance(result, kinds.InputRequiredResult):
                kind = getattr(result, "result_type", None) or _COMPLETE
                if kind != _COMPLETE:
                    raise need("mcp", extra=EXTRA).MCPError(
                        UNREADABLE, f"its answer is of the kind {kind!r}, which is not known"
                    )
                return result
            with_elicitation = self._manager.answers_questions
            responses = await answer_at_once(session, result, with_elicitation, sampler)
            request.extend()
            if len(responses) < len(result.input_requests or ()):
                return PendingQuestions(result, responses)
            state = result.request_state
            if not result.input_requests:  # the server is not ready yet
                await asyncio.sleep(min(0.05 * 2**turn, 1.0))
        raise need("mcp", extra=EXTRA).MCPError(
            kinds.INTERNAL_ERROR, f"it asked more than {MAX_ROUNDS} times for one call"
        )

    async def _connect(self, trace: RequestTrace) -> McpConnection:
        trace.never_sent = True
        connection = await self._manager.connect(self._identity, self._headers)
        self._connection = connection
        if self._needs_list:
            await self._load_list(connection)
        trace.never_sent = False
        return connection

    async def _load_list(self, connection: McpConnection) -> None:
        """Let the session read the list of tools.

        Raises:
          McpConnectionError: the list cannot be read.
        """
        trace = RequestTrace(self._headers)
        seconds = self._manager.call_seconds
        error_type = need("mcp", extra=EXTRA).MCPError
        try:
            await connection.lists.load("tools", lambda work: connection.run(work, trace, seconds))
        except (TimeoutError, ValidationError, McpCallError, error_type) as error:
            reason = trace.fault or type(error).__name__
            raise McpConnectionError(
                f"MCP server {connection.label}: its list of tools cannot be read ({reason})."
            ) from error

    async def _run(
        self,
        connection: McpConnection,
        work: Any,
        trace: RequestTrace,
        resumption: Resumption | None,
    ) -> Any:
        seconds = self._manager.call_seconds
        try:
            return await connection.run(work, trace, seconds)
        except TimeoutError as error:
            raise ToolTimeoutError(
                f"MCP tool {self._tool.name!r} of {connection.label} gave neither an answer nor "
                f"progress for {seconds:g} s. {_UNKNOWN} A tool that takes longer needs "
                "call_timeout=seconds in its connection parameters."
            ) from error
        except ValidationError as error:
            problem = f"its answer is not in the format of MCP ({error.error_count()} faults)."
            return self._describe_failure(connection, problem, UnknownOutcome)
        except need("mcp", extra=EXTRA).MCPError as error:
            addresses = _read_addresses(error)
            if addresses:
                return addresses
            if resumption is not None and resumption.state is not None and _has_forgotten(error):
                reason = connection.redact(str(error.message), self._headers)[:200]
                return self._describe_failure(connection, _FORGOTTEN.format(reason=reason) + ".")
            problem, kind = self._read_error(connection, error, trace)
            return self._describe_failure(connection, problem, kind)

    def _read_error(
        self, connection: McpConnection, error: Any, trace: RequestTrace
    ) -> tuple[str, type[dict[str, Any]]]:
        """Return what an error of the protocol or the transport means for the call, and the class
        of its result: UnknownOutcome if it may have taken effect, CallNotRun if it was not run.
        """
        kinds = need("mcp.types", extra=EXTRA)
        if trace.status in (401, 403):
            return (
                f"the server refuses the credentials (HTTP {trace.status}). {_NOT_RUN}",
                CallNotRun,
            )
        if trace.status == 404:
            connection.retire("the server has ended the session")
            problem = f"the server has ended the session (HTTP 404). {_NOT_RUN} Call again."
            return problem, CallNotRun
        if error.code == kinds.HEADER_MISMATCH:
            connection.lists.note_change("notifications/tools/list_changed")
            return f"{error.message}. {_NOT_RUN} The server has changed the tool.", CallNotRun
        if trace.never_sent:
            return f"{error.message}. {_NOT_RUN}", CallNotRun
        if trace.fault:
            return f"{trace.fault}.", UnknownOutcome
        if error.code == kinds.PARSE_ERROR:
            return f"{describe_unreadable(str(error.message))}.", UnknownOutcome
        status = trace.status or 0
        is_lost = error.code == UNREADABLE or _is_of_sdk(connection, error)
        if is_lost or status in _OPEN or status >= 500:
            return f"{error.message}.", UnknownOutcome
        return str(error.message), dict[str, Any]

    def _describe_failure(
        self,
        connection: McpConnection,
        problem: str,
        kind: type[dict[str, Any]] = dict[str, Any],
    ) -> dict[str, Any]:
        # Cut last: a part of a secret would not be recognised.
        told = connection.redact(problem, self._headers)[:_LONGEST_TOLD]
        text = f"{FAILED}{self._tool.name} of {connection.label}: {told}"
        return kind(error=f"{text} {_UNKNOWN}" if kind is UnknownOutcome else text)


def _is_of_sdk(connection: McpConnection, error: Any) -> bool:
    """Return whether an error is the SDK's about a lost answer: servers send its code, too."""
    if error.code != need("mcp.types", extra=EXTRA).CONNECTION_CLOSED:
        return False
    return not connection.is_open or str(error.message).startswith(_LOST)


def _has_forgotten(error: Any) -> bool:
    """Return whether a server refuses the state of a question that it asked before."""
    if error.code != need("mcp.types", extra=EXTRA).INVALID_PARAMS:
        return False
    return "requeststate" in re.sub(r"[ _-]", "", f"{error.message} {error.data}").lower()


def _read_addresses(error: Any) -> list[Any]:
    """Return what a user has to visit before the server takes the call; empty if it is nothing."""
    kinds = need("mcp.types", extra=EXTRA)
    data: Any = error.data
    if error.code != kinds.URL_ELICITATION_REQUIRED or not isinstance(data, dict):
        return []
    found: Any = cast("dict[str, Any]", data).get("elicitations")
    return cast("list[Any]", found) if isinstance(found, list) else []


@cache
def _result_adapter() -> TypeAdapter[Any]:
    """Return the reader of a call's result, which costs half of what a plain union does."""
    kinds = need("mcp.types", extra=EXTRA)
    asks = Annotated[kinds.InputRequiredResult, Tag("asks")]
    done = Annotated[kinds.CallToolResult, Tag("done")]
    return TypeAdapter(Annotated[asks | done, Discriminator(_choose_result)])  # type: ignore[valid-type]


def _choose_result(raw: Any) -> str:
    is_dict = isinstance(raw, dict)
    kind: Any = cast("dict[str, Any]", raw).get("resultType") if is_dict else None
    return "asks" if kind == "input_required" else "done"


def has_header_parameters(tool: Any) -> bool:
    """Return whether arguments of a tool travel as HTTP headers, too (`x-mcp-header`)."""
    return "x-mcp-header" in repr(getattr(tool, "input_schema", None))
