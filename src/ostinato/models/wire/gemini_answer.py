"""Answers of Gemini's API, as the JSON that came, read into records. The Gemini adapter reads whole
answers and pieces of streamed ones with these.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ... import types
from .faults import BadAnswer
from .reading import fields_of, items_of, number_of, text_of

RecordType = TypeVar("RecordType", bound=BaseModel)

_LONGEST_SHOWN = 300
_RETRY_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def read_answer(data: dict[str, Any]) -> types.GenerateContentResponse:
    """Return an answer, or a piece of one; fields that are not known are left out.

    Raises:
      BadAnswer: a field holds what it cannot hold.
    """
    for candidate in items_of(data.get("candidates")):
        cited = fields_of(fields_of(candidate).get("citationMetadata"))
        if "citationSources" in cited:  # the Developer API's name of them
            cited["citations"] = cited.pop("citationSources")
    return read_record(types.GenerateContentResponse, data)


_TEXT_FIELDS = frozenset(
    {"candidates", "usageMetadata", "modelVersion", "responseId", "createTime"}
)
_TEXT_CANDIDATE = frozenset({"content", "index"})


def plain_text(data: dict[str, Any]) -> tuple[str, bool | None] | None:
    """Return the text of a piece that holds one text and no more, and whether it is a thought."""
    try:
        [candidate] = data["candidates"]
        content = candidate["content"]
        [part] = content["parts"]
        text, thought = part["text"], part.get("thought")
        is_plain = (
            data.keys() <= _TEXT_FIELDS
            and candidate.keys() <= _TEXT_CANDIDATE
            and content["role"] == "model"
            and len(content) == 2
            and len(part) == (1 if thought is None else 2)
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    is_valid = (
        type(text) is str
        and (thought is None or type(thought) is bool)
        and type(data.get("modelVersion", "")) is str
    )
    return (text, thought) if text and is_plain and is_valid else None


def read_record(kind: type[RecordType], data: dict[str, Any]) -> RecordType:
    """Return a record; what the service sends beyond its fields is left out.

    Raises:
      BadAnswer: a field holds what it cannot hold.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
    unknown = [problem["loc"] for problem in problems if problem["type"] == "extra_forbidden"]
    if not unknown:
        wrong = (f"{'.'.join(map(str, x['loc']))}: {x['msg']}" for x in problems)
        raise BadAnswer("; ".join(wrong)[:_LONGEST_SHOWN])
    for place in unknown:
        _take_out(data, place)
    return read_record(kind, data)


def _take_out(data: Any, place: tuple[int | str, ...]) -> None:
    *way, last = place
    for step in way:
        data = data[step]
    del data[last]


def read_vectors(data: dict[str, Any], count: int) -> list[list[float]]:
    """Return the vectors of an answer with embeddings.

    Raises:
      BadAnswer: there is not one vector of numbers for each text.
    """
    found = [items_of(fields_of(one).get("values")) for one in items_of(data.get("embeddings"))]
    are_numbers = all(type(x) in (int, float) for vector in found for x in vector)
    if len(found) != count or not all(found) or not are_numbers:
        raise BadAnswer(f"it holds no {count} embeddings")
    return [[float(number) for number in vector] for vector in found]


def wanted_delay(body: object) -> float | None:
    """Return after how many seconds an error's body asks to try again, or None."""
    error = fields_of(fields_of(body).get("error"))
    for detail in items_of(error.get("details")):
        if found := _RETRY_DELAY.fullmatch(text_of(fields_of(detail).get("retryDelay"))):
            return float(found[1])
    return None


def stream_error(data: dict[str, Any]) -> tuple[int, str] | None:
    """Return the status and message of an error inside a stream, or None for other data."""
    error = fields_of(data.get("error"))
    if not error:
        return None
    status = number_of(error.get("code"))
    return (status if status is not None else 0), error_words(data)


def error_words(body: object) -> str:
    """Return what an error's body says."""
    error = fields_of(fields_of(body).get("error"))
    return text_of(error.get("message")) or json.dumps(error or body)[:_LONGEST_SHOWN]
