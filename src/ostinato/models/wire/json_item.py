"""JsonItem, an object of a request's JSON that is written once, and the writers of JSON."""

from __future__ import annotations

import json
from typing import Any, TypeGuard, cast

from .faults import Unsendable

# A longer text is written anew for each request: kept, it would double the memory of media.
_LONGEST_KEPT = 32_768  # bytes

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class JsonItem(dict[str, Any]):
    """An object whose JSON is kept, so that each request of a long session writes only what is new.

    It must not be edited. A copy of it, such as `{**item}`, is a plain dict.

    Attributes:
      kept: the object as compact JSON in UTF-8; empty until `write` was called.
    """

    __slots__ = ("kept",)

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.kept = b""

    def write(self) -> bytes:
        """Return the object as compact JSON in UTF-8, and keep that unless it is long."""
        text = _write(self)
        if len(text) <= _LONGEST_KEPT:
            self.kept = text
        return text


def json_bytes(value: object) -> bytes:
    """Return a value as compact JSON in UTF-8.

    A list of JsonItems directly below a dict is put together from their texts, as its last field.
    """
    if type(value) is not dict:
        return _write(value)
    fields = cast(dict[str, Any], value)
    lists = {name: items for name, items in fields.items() if _has_items(items)}
    if not lists:
        return _write(fields)
    rest = _write({name: item for name, item in fields.items() if name not in lists})
    written = [b"%b:[%b]" % (_write(name), _join(items)) for name, items in lists.items()]
    return b"%b%b%b}" % (rest[:-1], b"," if len(rest) > 2 else b"", b",".join(written))


def _has_items(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list that begins or ends with a JsonItem."""
    if type(value) is not list or not value:
        return False
    items = cast(list[object], value)
    return isinstance(items[0], JsonItem) or isinstance(items[-1], JsonItem)


def _join(items: list[Any]) -> bytes:
    try:  # nothing is called here for an item that is known
        return b",".join(
            [_write(one) if one.__class__ is dict else one.kept or one.write() for one in items]
        )
    except AttributeError:  # something else stands between them
        return _write(items)[1:-1]


def _write(value: object) -> bytes:
    try:
        return _ENCODER.encode(value).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise Unsendable(
            f"a value that JSON cannot express: {reason}. Look for it in calls, in settings and in "
            "extra_body."
        ) from error
