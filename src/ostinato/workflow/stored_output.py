"""The form in which a node's output is stored and handed on: JSON, with bytes and Contents in it.

JSON has neither, so an event that holds some says where they are, in its metadata.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from pydantic_core import to_jsonable_python

from .. import types

PLACES = "ostinato:output_types"
"""Key in the custom metadata of an output event: `[type, key, index, ...]` of each place that
holds bytes or a Content."""

_PLAIN = frozenset((str, int, float, bool, type(None)))


class StoredOutput(NamedTuple):
    """An output as the next node gets it, before and after a restart.

    Attributes:
      value: JSON, but for bytes and Contents.
      places: where it holds them, as in `PLACES`; empty for most.
    """

    value: Any
    places: list[list[Any]]


def to_output(value: Any) -> StoredOutput:
    """Return an output as the next node gets it.

    Raises:
      ValueError: it holds what JSON cannot carry.
    """
    if type(value) in _PLAIN:
        return StoredOutput(value, [])
    found = list(_find_rich(value)) if _holds_rich(value) else []
    mode = "base64" if found else "utf8"
    plain = to_jsonable_python(value, by_alias=False, bytes_mode=mode)
    places: list[list[Any]] = []
    for place, rich in found:
        plain = _put_back(plain, place, rich)
        places.append(["bytes" if isinstance(rich, bytes) else "content", *place])
    return StoredOutput(plain, places)


def to_json(value: Any) -> Any:
    """Return an output as JSON; `from_json` undoes it."""
    return to_jsonable_python(value, by_alias=True, exclude_none=True, bytes_mode="base64")


def from_json(value: Any, places: Iterable[list[Any]]) -> Any:
    """Return an output that was stored, with its bytes and Contents."""
    for kind, *place in places:
        inner: Any = value
        for step in place:
            inner = inner[step]
        if kind == "bytes":
            rich: Any = base64.urlsafe_b64decode(inner)
        else:
            rich = types.Content.model_validate(inner)
        value = _put_back(value, place, rich)
    return value


def is_content(value: Any) -> bool:
    """Return whether a value is a Content, of google-genai too."""
    if isinstance(value, types.Content):
        return True
    named = any(kind.__name__ == "Content" for kind in type(value).__mro__)
    return named and hasattr(value, "parts") and hasattr(value, "role")


def _holds_rich(value: Any) -> bool:
    """Return whether an output holds bytes or a Content; most do not, and need no places."""
    left, seen = [value], set[int]()
    while left:
        item = left.pop()
        if isinstance(item, (dict, list, tuple)) and id(cast(object, item)) not in seen:
            seen.add(id(cast(object, item)))
            inner = cast(Iterable[Any], item.values() if isinstance(item, dict) else item)
            left += [one for one in inner if type(one) not in _PLAIN]
        elif isinstance(item, bytes) or is_content(item):
            return True
    return False


def _find_rich(value: Any) -> Iterable[tuple[list[Any], Any]]:
    """Yield the places of an output that hold bytes or a Content, and what they hold."""
    left: list[tuple[list[Any], Any]] = [([], value)]
    seen = set[int]()
    while left:
        place, item = left.pop()
        if type(item) in _PLAIN:
            continue
        if isinstance(item, bytes) or is_content(item):
            yield place, item
        elif isinstance(item, (dict, list, tuple)) and id(cast(object, item)) not in seen:
            seen.add(id(cast(object, item)))
            if isinstance(item, dict):
                steps = cast(dict[Any, Any], item).items()
                left += [([*place, key], inner) for key, inner in steps if isinstance(key, str)]
            else:
                inners = enumerate(cast(list[Any], item))
                left += [([*place, index], inner) for index, inner in inners]


def _put_back(value: Any, place: list[Any], rich: Any) -> Any:
    if not place:
        return rich
    inner = value
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = rich
    return value
