"""Lists that users give as tuples, sets or generators, as pydantic takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel

_SINGLE = (str, bytes, bytearray, Mapping, BaseModel, type)


def is_several(value: Any) -> bool:
    """Return whether a value holds several: a list, tuple, set, generator or view."""
    return isinstance(value, Iterable) and not isinstance(value, _SINGLE)


def to_list(value: Any, field: str, wanted: str) -> list[Any]:
    """Return the values that a field of several got; a list unchanged.

    Raises:
      ValueError: the value is not several.
    """
    if isinstance(value, list):
        return cast(list[Any], value)
    if not is_several(value):
        raise ValueError(
            f"{field} takes a list of {wanted}; got {type(value).__name__}: {value!r:.80}"
        )
    return list(value)
