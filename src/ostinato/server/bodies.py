"""Request bodies: read within limits, as JSON that every store and client supports."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request

from .problems import Problem

_CHARSETS = ("utf-8", "utf8", "us-ascii", "ascii")
_TOO_MANY = "too_many_parts"
_LARGE = 64 * 1024  # characters of a JSON text that takes milliseconds to read
_DEPTH = 100  # of nested lists and objects
_LARGEST = 2**63  # databases have no larger integers
_FINDINGS = 50  # reported for one body
_LONGEST = 1000  # characters of a finding
_SHOWN = 100  # characters of a key in a finding

_M = TypeVar("_M", bound=BaseModel)


async def read_json(request: Request, limit: int, seconds: float) -> Any:
    """Return the parsed JSON of a request's body, or None for an empty body.

    Args:
      request: the request.
      limit: bytes at most.
      seconds: how long the body may take to arrive.

    Raises:
      Problem: the body is too large, too slow, not JSON, or has values that JSON cannot carry.
    """
    data = await _read_body(request, limit, seconds)
    if not data:
        return None
    check_media_type(request.headers)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _invalid_json("it is not UTF-8 text") from error
    if len(text) < _LARGE:
        return parse_json(text)
    return await asyncio.to_thread(parse_json, text)  # others are served meanwhile


def check_media_type(headers: Headers) -> None:
    """Refuse a body that is not plain JSON in UTF-8.

    Raises:
      Problem: the media type, charset or encoding is not supported.
    """
    kind, _, parameters = headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind != "application/json" and not (kind[:12] == "application/" and kind[-5:] == "+json"):
        raise _unsupported_media("The body has to be JSON: Content-Type: application/json.")
    for one in parameters.split(";"):
        name, _, value = one.partition("=")
        if name.strip() == "charset" and value.strip(" \t\"'") not in _CHARSETS:
            raise _unsupported_media("The body has to be JSON in UTF-8; send it without a charset.")
    for one in ",".join(headers.getlist("content-encoding")).split(","):
        if one.strip().lower() not in ("", "identity"):
            raise _unsupported_media(
                "The body may not be compressed; send it without Content-Encoding."
            )


def _unsupported_media(message: str) -> Problem:
    return Problem(415, "UnsupportedMediaType", message)


def parse_json(text: str) -> Any:
    """Return the value of a JSON text that every store and client supports.

    Raises:
      Problem: the text is not JSON, or has values that not every store or client supports.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeats)
    except RecursionError as error:
        raise _invalid_json("it is nested too deeply") from error
    except ValueError as error:
        raise _invalid_json(str(error)) from error
    _check_value(value)
    return value


async def _read_body(request: Request, limit: int, seconds: float) -> bytes:
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


def _invalid_json(what: str) -> Problem:
    detail = [{"type": "json_invalid", "loc": ["body"], "msg": f"JSON decode error: {what}"}]
    return Problem(422, "InvalidJson", f"The body is not valid JSON: {what}.", detail=detail)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one with a key twice could say yes to one reader and no to another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        (repeated, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"an object has the key {repeated[:_SHOWN]!r} more than once")
    return found


def _check_value(value: Any) -> None:
    """Refuse infinite or huge numbers, lone surrogates, NUL characters and deep nesting."""
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo:
        one, depth = todo.pop()
        if depth > _DEPTH:
            raise _invalid_json(f"it is nested more than {_DEPTH} levels deep")
        if isinstance(one, dict):
            todo += [(part, depth + 1) for pair in one.items() for part in pair]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        elif isinstance(one, list):
            todo += [(part, depth + 1) for part in one]  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(one, str):
            if "\0" in one:
                raise _invalid_json(
                    "a text contains a NUL character, which not every store supports"
                )
            try:
                one.encode()
            except UnicodeEncodeError as error:
                raise _invalid_json(
                    "a text contains half of a character (a lone surrogate)"
                ) from error
        elif isinstance(one, float):
            if not math.isfinite(one):
                raise _invalid_json("a number is too large")
        elif isinstance(one, int) and not -_LARGEST <= one < _LARGEST * 2:
            raise _invalid_json("a number is too large")


def _finding_path(place: str, loc: tuple[int | str, ...]) -> list[int | str]:
    """Return the path of a finding, with the client's keys cut to a limit."""
    return [place, *(one[:_SHOWN] if isinstance(one, str) else one for one in loc[:_DEPTH])]


@dataclass(slots=True)
class PartCount:
    """How many messages and parts of messages a request may still have.

    Attributes:
      most: how many it may have.
      count: how many were found.
    """

    most: int
    count: int = 0

    def add(self, message: Any) -> None:
        """Count the parts of a message, or the messages of a list, before they are validated.

        Args:
          message: JSON: a message with `parts`, or a list.

        Raises:
          PydanticCustomError: there are too many.
        """
        if isinstance(message, dict):
            message = cast("dict[str, Any]", message).get("parts")
        if isinstance(message, list):
            self.count += len(cast("list[Any]", message))
        if self.count > self.most:
            raise PydanticCustomError(
                _TOO_MANY,
                "A request may have at most {most} messages and parts of messages; this one has "
                "{count} or more. Send fewer, or raise max_parts of the server's settings.",
                {"most": self.most, "count": self.count},
            )


def _count_parts(message: Any, info: ValidationInfo) -> Any:
    if isinstance(info.context, PartCount):
        info.context.add(message)
    return message


# A field with a message or a list of messages or parts, whose number is bounded.
CountedParts = BeforeValidator(_count_parts)


def check_part_count(message: Any, most: int) -> None:
    """Refuse the JSON of a message with too many parts.

    Raises:
      Problem: it has more than `most` parts.
    """
    try:
        PartCount(most).add(message)
    except PydanticCustomError as error:
        raise Problem(422, "ValidationError", error.message()) from error


def validate_record(model: type[_M], value: Any, place: str, parts: PartCount | None = None) -> _M:
    """Validate a value as a record.

    Args:
      model: the record's class.
      value: the value.
      place: where it comes from, such as `body` or `query`.
      parts: bounds the messages and parts of a body.

    Raises:
      Problem: the value is not valid.
    """
    try:
        return model.model_validate(value, context=parts)
    except ValidationError as error:
        findings = error.errors(include_url=False, include_context=False, include_input=False)
        findings.sort(key=lambda one: one["type"] != _TOO_MANY)  # the reason for what follows
        found = [
            {
                "type": one["type"],
                "loc": _finding_path(place, one["loc"]),
                "msg": one["msg"][:_LONGEST],
            }
            for one in findings[:_FINDINGS]
        ]
        first = found[0]
        where = ".".join(map(str, first["loc"]))
        raise Problem(422, "ValidationError", f"{where}: {first['msg']}", detail=found) from error
