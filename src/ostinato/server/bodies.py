"""Bodies: reading a request's body within a limit, and as JSON that every store and client can
carry.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from .problems import Problem

_DEPTH = 100  # of nested lists and objects
_LARGEST = 2**63  # integers beyond it are none in a database

_M = TypeVar("_M", bound=BaseModel)


async def read_json(request: Request, limit: int, seconds: float) -> Any:
    """Return a request's body as JSON values; None for an empty body.

    Args:
      request: the request.
      limit: bytes at most.
      seconds: how long the body may take to arrive.

    Raises:
      Problem: it is too large, too slow, not JSON, or holds what JSON of others cannot carry.
    """
    data = await _read(request, limit, seconds)
    if not data:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind[:12] == "application/" and kind[-5:] == "+json"):
        raise Problem(
            415, "UnsupportedMediaType", "The body has to be JSON: Content-Type: application/json."
        )
    try:
        return json_value(data.decode())
    except UnicodeDecodeError as error:
        raise _invalid("it is not UTF-8 text") from error


def json_value(text: str) -> Any:
    """Return the values of a JSON text that every store and client can carry.

    Raises:
      Problem: it is not JSON, or holds what JSON of others cannot carry.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise _invalid("it is nested too deeply") from error
    except ValueError as error:
        raise _invalid(str(error)) from error
    _check(value)
    return value


async def _read(request: Request, limit: int, seconds: float) -> bytes:
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
                chunks.append(chunk)
    except TimeoutError as error:
        raise Problem(408, "RequestTimeout", "The body did not arrive in time.") from error
    except ClientDisconnect as error:
        raise Problem(400, "ClientDisconnect", "The body was cut off.") from error
    return b"".join(chunks)


def _too_large(limit: int) -> Problem:
    return Problem(413, "ContentTooLarge", f"The body has more than {limit} bytes.")


def _invalid(what: str) -> Problem:
    detail = [{"type": "json_invalid", "loc": ["body"], "msg": f"JSON decode error: {what}"}]
    return Problem(422, "InvalidJson", f"The body is not valid JSON: {what}.", detail=detail)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _check(value: Any) -> None:
    """Refuse what parses and yet is none: infinite numbers, halves of characters, endless depth."""
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo:
        one, depth = todo.pop()
        if depth > _DEPTH:
            raise _invalid(f"it is nested more than {_DEPTH} levels deep")
        if isinstance(one, dict):
            todo += [(part, depth + 1) for pair in one.items() for part in pair]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        elif isinstance(one, list):
            todo += [(part, depth + 1) for part in one]  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError as error:
                raise _invalid("a text holds half of a character (a lone surrogate)") from error
        elif isinstance(one, float):
            if not math.isfinite(one):
                raise _invalid("a number is too large")
        elif isinstance(one, int) and not -_LARGEST <= one < _LARGEST * 2:
            raise _invalid("a number is too large")


def validated(model: type[_M], value: Any, place: str) -> _M:
    """Return values as a record.

    Args:
      model: the record's class.
      value: the values.
      place: where they come from, `body` or `query`.

    Raises:
      Problem: they do not fit.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = [
            {"type": one["type"], "loc": [place, *one["loc"]], "msg": one["msg"]}
            for one in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        first = found[0]
        where = ".".join(map(str, first["loc"]))
        raise Problem(422, "ValidationError", f"{where}: {first['msg']}", detail=found) from error
