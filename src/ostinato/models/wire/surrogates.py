"""JSON of answers without lone surrogates, which no store and no later request can hold."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from pydantic_core import from_json

_LONE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

_Path = tuple[str | int, ...]


class SplitPairs(dict[_Path, str]):
    """The first halves of surrogate pairs that a stream splits over two of its events.

    A first half is held back until the same field of a later event brings the second one. A half
    that stays alone is left out.
    """

    def join(self, path: _Path, text: str) -> str:
        """Return a field's text with the half that was held back; hold back a half at its end."""
        if not text:
            return text
        first = self.pop(path, "")
        if first and "\udc00" <= text[0] <= "\udfff":
            text = _join_pair(first, text[0]) + text[1:]
        if "\ud800" <= text[-1] <= "\udbff":
            self[path] = text[-1]
            text = text[:-1]
        return text


def load_json(data: str | bytes, pairs: SplitPairs | None = None) -> Any:
    """Parse JSON and replace lone surrogates in its texts with U+FFFD.

    Args:
      data: the JSON.
      pairs: joins the pairs of one stream, of which `data` is an event.

    Raises:
      ValueError: the data is not JSON.
      RecursionError: it is nested too deeply.
    """
    if isinstance(data, str):
        data = data.removeprefix("\ufeff")  # a byte order mark
    try:
        value: Any = from_json(data)  # three times as fast; refuses lone surrogates
    except ValueError:
        value = json.loads(data)
        is_clean = not _may_hold_surrogates(data)
    else:
        is_clean = True
    return value if is_clean and not pairs else _clean(value, (), pairs)


def replace_surrogates(value: Any) -> Any:
    """Return a value of JSON whose texts hold U+FFFD for each lone surrogate."""
    return _clean(value, (), None)


def _may_hold_surrogates(data: str | bytes) -> bool:
    if isinstance(data, str):
        return "\\ud" in data or "\\uD" in data
    # Python's reader accepts surrogates that are encoded as UTF-8; all of them begin with 0xED.
    return b"\\ud" in data or b"\\uD" in data or b"\xed" in data


def _clean(value: Any, path: _Path, pairs: SplitPairs | None) -> Any:
    if isinstance(value, str):
        text = value if pairs is None else pairs.join(path, value)
        return _LONE.sub(_REPLACEMENT, text)
    if isinstance(value, list):
        items = cast(list[Any], value)
        return [_clean(item, (*path, place), pairs) for place, item in enumerate(items)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {
            _LONE.sub(_REPLACEMENT, name): _clean(item, (*path, name), pairs)
            for name, item in fields.items()
        }
    return value


def _join_pair(first: str, second: str) -> str:
    return (first + second).encode("utf-16", "surrogatepass").decode("utf-16")
