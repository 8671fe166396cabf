"""Endpoint: one row of the server's table, from which routes and the OpenAPI document are built."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .._log import CURRENT, UNKNOWN, RunLabel
from ..events.event import Event
from ..execution.run_handle import Run
from ..sessions.store.durable_store import Place
from ..sessions.store.keyed_requests import REQUEST_DIGEST
from .bodies import PartCount, read_json, validate_record
from .host import Host
from .idempotency import digest_request, read_key, refuse_key
from .names import LONGEST_NAME, LONGEST_PACKED, LONGEST_QUERY, check_id, check_text
from .place import check_place
from .problems import Problem, on_problem, problem_of_event
from .sse import SseResponse

SESSION_PATH = "/apps/{app}/users/{user}/sessions/{session}"


class Empty(BaseModel):
    """No fields; others are ignored, as google-adk's server does."""


class NoQuery(BaseModel):
    """No fields; the routes that google-adk's server lacks refuse others."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Call:
    """One request, as handlers see it.

    Attributes:
      request: the request.
      host: the server's host.
      path: the path parameters, by name.
      body: the body as the endpoint's record, or None.
      query: the query as the endpoint's record.
    """

    request: Request
    host: Host
    path: dict[str, str]
    body: Any
    query: Any

    @property
    def key(self) -> str | None:
        """The idempotency key, or None."""
        return read_key(self.request.headers)

    @property
    def is_detached(self) -> bool:
        """Whether the run continues without its reader: on request, or with a key for retries."""
        return self.key is not None or bool(getattr(self.query, "detach", False))

    async def run_events(self, run: Run) -> AsyncGenerator[Event, None]:
        """Yield the events of the request's run.

        Raises:
          Exception: the run failed.
          Problem: the run repeats one that failed.
        """
        last: Event | None = None
        async for event in run:
            last = event
            yield event
        problem = None if self.key is None or last is None else problem_of_event(last)
        if problem is not None:
            raise problem

    def key_metadata(self) -> dict[str, Any]:
        """Return the metadata for the events of the key's run; empty without a key.

        The store then refuses the key for another request.
        """
        return {} if self.key is None else {REQUEST_DIGEST: digest_request(self.body)}

    def stream_frames(self, frames: AsyncGenerator[bytes, None]) -> SseResponse:
        """Return the response that streams frames."""
        settings = self.host.settings
        return SseResponse(
            frames, heartbeat=settings.heartbeat, write_timeout=settings.write_timeout
        )

    def read_place(self) -> Place:
        """Return the session in the path.

        Raises:
          InputValidationError: a name is not valid.
        """
        return check_place(Place(self.path["app"], self.path["user"], self.path["session"]))


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method on a path, with its handler and its description.

    Attributes:
      method: the HTTP method.
      path: the path; names in braces are parameters, `{name:path}` may contain slashes.
      summary: what it does, in one line.
      handler: the handler; its result is written as JSON, unless it is a Response.
      body: record of the body, or None.
      optional: whether the body may be left out.
      query: record of the query.
      answer: type of the result; None for null.
      status: the status of success.
      problems: statuses of errors, besides those of every endpoint.
      media: media type of the response.
      long: no time limit, for runs and streams.
      upload: the body may contain files.
      open: no token is needed.
      on_error: returns the response to an error, in the format of the endpoint's protocol.
      headers: request headers that it reads.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    body: type[BaseModel] | None = None
    optional: bool = False
    query: type[BaseModel] = Empty
    answer: Any = None
    status: int = 200
    problems: tuple[int, ...] = ()
    media: str = "application/json"
    long: bool = False
    upload: bool = False
    open: bool = False
    headers: tuple[str, ...] = ()
    on_error: Callable[[Request, Exception], Awaitable[Response]] = on_problem

    async def __call__(self, request: Request) -> Response:
        """Answer a request."""
        host: Host = request.app.state.host
        settings = host.settings
        _check_names(request)
        if "Idempotency-Key" in self.headers:
            read_key(request.headers)
        else:
            refuse_key(self.method, request.headers)
        _label_log(request.path_params)
        body = None
        if self.body is not None:
            limit = settings.max_upload if self.upload else settings.max_body
            value = await read_json(request, limit, settings.request_timeout)
            if value is not None or not self.optional:
                parts = PartCount(settings.max_parts)
                body = validate_record(self.body, {} if value is None else value, "body", parts)
        query = validate_record(self.query, self._read_query(request), "query")
        _label_log(request.path_params, body)
        call = Call(request, host, request.path_params, body, query)
        if self.long:
            found = await self.handler(call)
        else:
            try:
                async with asyncio.timeout(settings.request_timeout):
                    found = await self.handler(call)
            except TimeoutError as error:
                raise Problem(504, "Timeout", "The request took too long; try again.") from error
        return found if isinstance(found, Response) else json_response(found, self.status)

    def _read_query(self, request: Request) -> dict[str, str]:
        """Return the query's parameters; a route that refuses unknown ones refuses repeated ones.

        Raises:
          Problem: a parameter is repeated.
        """
        given = request.query_params
        if self.query.model_config.get("extra") == "forbid":
            for name in given:
                if len(given.getlist(name)) > 1:
                    message = f"query.{name}: the parameter is given more than once"
                    found = {"type": "value_error", "loc": ["query", name], "msg": message}
                    raise Problem(422, "ValidationError", message, detail=[found])
        return dict(given)

    def make_route(self, prefix: str) -> Route:
        """Return the route of the endpoint."""

        async def answer_request(request: Request) -> Response:
            try:
                return await self(request)
            except Exception as error:  # boundary: every error becomes a response
                return await self.on_error(request, error)

        name = f"{self.method} {self.path}"
        return Route(prefix + self.path, answer_request, methods=[self.method], name=name)


def _label_log(path: Mapping[str, Any], body: BaseModel | None = None) -> None:
    """Add app, user and session of a request to its task's log records; the path comes first."""
    names: list[str] = []
    for key in ("app_name", "user_id", "session_id"):
        given = path.get(key.partition("_")[0], path.get(key, getattr(body, key, None)))
        names.append(given if isinstance(given, str) and given else UNKNOWN)
    if any(name != UNKNOWN for name in names):
        CURRENT.set(RunLabel(Place(*names)))


def _check_names(request: Request) -> None:
    """Check the values in path and query before anything uses them.

    Raises:
      InputValidationError: a value is too long, or not printable.
    """
    for name, value in request.path_params.items():
        longest = LONGEST_PACKED if name == "response" else LONGEST_NAME
        check_id("name of a file" if name == "name" else name, value, longest)
    for name, value in request.query_params.multi_items():
        check_id("name in the query", name)
        if name.lower().endswith("id"):
            check_id(f"value of {name}", value)
        else:
            check_text(f"value of {name}", value, LONGEST_QUERY)


_ANY: TypeAdapter[Any] = TypeAdapter(Any)


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON: camelCase, without null fields."""
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True, exclude_none=True).encode()
    return _ANY.dump_json(value, by_alias=True, exclude_none=True)


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response."""
    return Response(json_bytes(value), status, media_type="application/json")
