"""Bounds, formats and patterns of JSON schemas, checked in what people answer and edit.

A schema may come from a server or a model. What makes no sense in it is ignored, and so is a
pattern whose search could take long: the author of the schema judges then.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, cast
from urllib.parse import urlsplit

_MAX_PATTERN = 1_000
_MAX_PATHS = 1_000_000
_ONE_CHARACTER = re.compile(r"(?s)\\.|\[(?:\\.|[^\]\\])*(?:\]|\\?\Z)")
_FIXED_COUNT = re.compile(r"\{\d+\}")
_QUANTIFIER = re.compile(r"[*+?{]")
_UNBOUNDED = re.compile(r"\)[*+?{]|\(\?")  # a repeated group, or one that looks around


def check_bounds(value: Any, schema: Mapping[str, Any], what: str) -> None:
    """Check that a value, whose type fits a schema, keeps to its bounds, format and pattern.

    Args:
      value: the value.
      schema: its JSON schema; only what it says of the value itself counts.
      what: what the value is, for the error.

    Raises:
      ValueError: the value does not fit; the message says where, without the value.
    """
    if isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        _check_number(value, schema, what)
    elif isinstance(value, str):
        _check_length(value, schema, what, ("minLength", "maxLength", "characters"))
        _check_text(value, schema, what)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        _check_length(items, schema, what, ("minItems", "maxItems", "items"))


def _check_number(value: float, schema: Mapping[str, Any], what: str) -> None:
    for name, (words, is_wrong) in _LIMITS.items():
        limit: Any = schema.get(name)
        if _is_number(limit) and is_wrong(value, limit):
            raise ValueError(f"{what} is {words} {limit}")
    step: Any = schema.get("multipleOf")
    if _is_number(step) and step > 0 and abs(value) < 2**53 * step:  # else no fraction is left
        try:
            times = value / step
        except OverflowError:
            return
        if abs(times - round(times)) > 1e-9:
            raise ValueError(f"{what} is no multiple of {step}")


def _check_length(
    value: str | list[Any], schema: Mapping[str, Any], what: str, names: tuple[str, str, str]
) -> None:
    least: Any = schema.get(names[0])
    most: Any = schema.get(names[1])
    if _is_number(least) and len(value) < least:
        raise ValueError(f"{what} has fewer than {least} {names[2]}")
    if _is_number(most) and len(value) > most:
        raise ValueError(f"{what} has more than {most} {names[2]}")


def _check_text(value: str, schema: Mapping[str, Any], what: str) -> None:
    name, pattern = schema.get("format"), schema.get("pattern")
    check = _FORMATS.get(name) if isinstance(name, str) else None
    try:
        fits = check is None or check(value)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{what} is not in the format {name!r}")
    if isinstance(pattern, str) and not matches(pattern, value):
        raise ValueError(f"{what} does not match the pattern {pattern[:100]!r}")


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text; True if the search could take long.

    Python's search backtracks. Without repeated groups it takes no more paths than the choices of
    all quantifiers and alternatives multiply to.
    """
    plain = _ONE_CHARACTER.sub("a", pattern).replace("(?:", "(")
    if len(pattern) > _MAX_PATTERN or _UNBOUNDED.search(plain) or re.search(r"\\[1-9]", pattern):
        return True
    choices = len(_QUANTIFIER.findall(_FIXED_COUNT.sub("", plain)))
    if (len(text) + 1) ** (choices + 1) * 2 ** plain.count("|") > _MAX_PATHS:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sets that a later Python reads otherwise
            return re.search(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_date(text: str) -> bool:
    return text[4:5] == text[7:8] == "-" and bool(date.fromisoformat(text))


def _is_date_time(text: str) -> bool:
    return _is_date(text[:10]) and len(text) > 10 and bool(datetime.fromisoformat(text))


def _is_address(text: str) -> bool:
    return bool(urlsplit(text).scheme)


def _is_email(text: str) -> bool:
    return "@" in text.strip("@")


_LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "minimum": ("less than the minimum of", lambda value, limit: value < limit),
    "maximum": ("more than the maximum of", lambda value, limit: value > limit),
    "exclusiveMinimum": ("not more than", lambda value, limit: value <= limit),
    "exclusiveMaximum": ("not less than", lambda value, limit: value >= limit),
}
_FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "date-time": _is_date_time,
    "email": _is_email,
    "uri": _is_address,
}
