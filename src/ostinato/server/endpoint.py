"""Endpoint: one row of the server's table. Routes and the OpenAPI document are made from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..sessions._durable_store import Place
from .bodies import read_json, validated
from .host import Host
from .place import checked
from .problems import Problem, on_problem


class Empty(BaseModel):
    """No fields."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, as handlers see it.

    Attributes:
      request: the request.
      host: what the server works with.
      path: the values in the path, by name.
      body: the body as the endpoint's record; None where there is none.
      query: the query as the endpoint's record.
    """

    request: Request
    host: Host
    path: dict[str, str]
    body: Any
    query: Any

    def place(self) -> Place:
        """Return the session that the path names.

        Raises:
          InputValidationError: a name breaks its rule.
        """
        return checked(Place(self.path["app"], self.path["user"], self.path["session"]))


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method on a path, and what becomes of it.

    Attributes:
      method: the HTTP method.
      path: the path; names in braces are values, `{name:path}` may hold slashes.
      summary: what it does, in a line.
      handler: does it; what it returns is written as JSON, unless it is a Response.
      body: record of the body; None where there is none.
      optional: whether the body may be left out.
      query: record of the query.
      answer: type of what is returned; None for null.
      status: status where all goes well.
      problems: statuses that it answers otherwise, besides those of every endpoint.
      media: media type of the answer.
      long: it may take as long as it takes: runs and streams.
      upload: files may come in the body.
      open: a token is not asked for.
      on_error: answers a request that raised, in the words of the endpoint's protocol.
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
        body = None
        if self.body is not None:
            limit = settings.max_upload if self.upload else settings.max_body
            value = await read_json(request, limit, settings.request_timeout)
            if value is not None or not self.optional:
                body = validated(self.body, {} if value is None else value, "body")
        query = validated(self.query, dict(request.query_params), "query")
        call = Call(request, host, request.path_params, body, query)
        if self.long:
            found = await self.handler(call)
        else:
            try:
                async with asyncio.timeout(settings.request_timeout):
                    found = await self.handler(call)
            except TimeoutError as error:
                raise Problem(504, "Timeout", "This took too long; try again.") from error
        return found if isinstance(found, Response) else json_response(found, self.status)

    def route(self, prefix: str) -> Route:
        """Return the route to it."""

        async def answer(request: Request) -> Response:
            try:
                return await self(request)
            except Exception as error:  # boundary: whatever a handler raises is an answer
                return await self.on_error(request, error)

        name = f"{self.method} {self.path}"
        return Route(prefix + self.path, answer, methods=[self.method], name=name)


_ANY: TypeAdapter[Any] = TypeAdapter(Any)


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON: camelCase, nulls of records left out."""
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True, exclude_none=True).encode()
    return _ANY.dump_json(value, by_alias=True, exclude_none=True)


def json_response(value: Any, status: int = 200) -> Response:
    """Return an answer of JSON."""
    return Response(json_bytes(value), status, media_type="application/json")
