"""Writing of parameter values: every style and explode of OpenAPI 3 (3.1 §4.8.12.3 to 4.8.12.6)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import quote, unquote

# What `allowReserved` leaves unencoded of RFC 3986 §2.2: never what would end the value or begin
# another one (OpenAPI 3.1.1 §4.8.12.2.2 takes `[ ] # & +` out of queries).
_RESERVED = {
    "query": ":/?@!$'()*,;=",
    "path": "/:@!$&'()*+,;=",
    "cookie": ":/?@!$'()*=",
    "header": "",
}
_DEFAULT_STYLES = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
_DELIMITED = ("spaceDelimited", "pipeDelimited", "tabDelimited")
# Swagger 2.0 has delimited lists in paths and headers, too, and tabs.
_ALLOWED_STYLES = {
    "path": ("simple", "label", "matrix", *_DELIMITED),
    "header": ("simple", *_DELIMITED),
    "query": ("form", *_DELIMITED, "deepObject"),
    "cookie": ("form", "cookie"),
}
_DELIMITERS = {
    "form": ",",
    "spaceDelimited": "%20",
    "pipeDelimited": "%7C",
    "tabDelimited": "%09",
    "cookie": ",",
}

_ESCAPE = re.compile(r"(%[0-9A-Fa-f]{2})")

Pairs = list[tuple[str, str]]


class ParamStyle:
    """How the values of one parameter are written.

    Args:
      name: the parameter's name.
      location: `path`, `query`, `header` or `cookie`.
      style: the style; the location's default if None.
      explode: whether items and properties stand apart; the style's default if None.
      allow_reserved: whether reserved characters of values stay unencoded, as far as the value
        cannot become another parameter by them, and escapes such as `%20` unchanged. Names are
        always encoded.
      inner_styles: of lists in its list, the outermost first; others are written as JSON.

    Raises:
      ValueError: there is no such location, or it has no such style.
    """

    def __init__(
        self,
        name: str,
        location: str,
        style: str | None = None,
        explode: bool | None = None,
        allow_reserved: bool = False,
        inner_styles: Sequence[str] = (),
    ) -> None:
        self._name = name
        self._location = location
        if location not in _DEFAULT_STYLES:
            raise ValueError(
                f"The parameter {name!r} is in {location!r}, which is no place for it."
            )
        self._style = style or _DEFAULT_STYLES[location]
        if self._style not in _ALLOWED_STYLES[location]:
            raise ValueError(
                f"The {location} parameter {name!r} has the style {style!r}, but must have one of "
                f"{', '.join(_ALLOWED_STYLES[location])}."
            )
        for inner in inner_styles:
            if inner not in ("form", *_DELIMITED):
                raise ValueError(
                    f"The {location} parameter {name!r} has lists in a list with the style "
                    f"{inner!r}, but must have one of {', '.join(('form', *_DELIMITED))}."
                )
        self._inner_styles = inner_styles
        joined = self._style in ("form", "cookie", "deepObject")
        self._explode = joined if explode is None else explode
        # Headers and cookies of the style `cookie` are written unencoded.
        self._is_plain = location == "header" or self._style == "cookie"
        self._allow_reserved = allow_reserved
        self._safe = _RESERVED[location] if allow_reserved else ""
        if self._style == "matrix":
            self._safe = self._safe.replace(";", "")

    def write_pairs(self, value: Any) -> Pairs:
        """Return the names and values that a query or a cookie gets, encoded.

        Raises:
          ValueError: the value cannot be written, or its cookie would be another one.
        """
        pairs = self._write_pairs(value)
        if self._style == "cookie":
            for name, text in pairs:
                _check_cookie(self._name, name, text)
        return pairs

    def _write_pairs(self, value: Any) -> Pairs:
        name = self._encode_name(self._name)
        if self._style == "deepObject":
            walked = self._walk(self._name, value)
            return [(self._encode_name(place), text) for place, text in walked]
        delimiter = _DELIMITERS[self._style]
        if isinstance(value, dict):
            pairs = self._encode_items(cast("dict[str, Any]", value))
            if self._explode:
                return pairs
            return [(name, delimiter.join(part for pair in pairs for part in pair))]
        if isinstance(value, list):
            texts = [self._encode_item(one) for one in cast("list[Any]", value)]
            if self._explode:
                return [(name, text) for text in texts]
            return [(name, delimiter.join(texts))]
        return [(name, self._encode(to_text(value)))]

    def write_text(self, value: Any) -> str:
        """Return what stands in a path or in a header.

        Raises:
          ValueError: the value cannot be written.
        """
        if self._style == "simple":
            return ",".join(self._write_parts(value, "="))
        if self._style in _DELIMITED:
            delimiter = _DELIMITERS[self._style]
            if self._is_plain:
                delimiter = unquote(delimiter)
            return delimiter.join(self._write_parts(value, "="))
        if self._style == "label":
            return "." + ("." if self._explode else ",").join(self._write_parts(value, "="))
        name = self._encode_name(self._name)
        if isinstance(value, dict | list) and self._explode:
            parts = self._write_parts(value, "=")
            prefix = "" if isinstance(value, dict) else f"{name}="
            return "".join(f";{prefix}{part}" for part in parts)
        text = ",".join(self._write_parts(value, "="))
        return f";{name}={text}" if text else f";{name}"

    def _write_parts(self, value: Any, mark: str) -> list[str]:
        if isinstance(value, dict):
            pairs = self._encode_items(cast("dict[str, Any]", value))
            if self._explode:
                return [f"{key}{mark}{text}" for key, text in pairs]
            return [part for pair in pairs for part in pair]
        if isinstance(value, list):
            return [self._encode_item(one) for one in cast("list[Any]", value)]
        text = self._encode(to_text(value))
        return [text] if text else []

    def _encode_items(self, value: dict[str, Any]) -> Pairs:
        return [
            (self._encode_name(key), self._encode_item(one))
            for key, one in value.items()
            if one is not None
        ]

    def _walk(self, place: str, value: Any) -> Pairs:
        """Return the leaves of a value with their places: `name[key]`, `name[0][key]`."""
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value).items()
            return [p for key, one in inner for p in self._walk(f"{place}[{key}]", one)]
        if isinstance(value, list):
            items = enumerate(cast("list[Any]", value))
            return [p for at, one in items for p in self._walk(f"{place}[{at}]", one)]
        return [] if value is None else [(place, self._encode(to_text(value)))]

    def _encode(self, text: str) -> str:
        return text if self._is_plain else self._quote(text, self._safe)

    def _quote(self, text: str, safe: str) -> str:
        """Return a value encoded; with `allow_reserved`, what is encoded in it stays (RFC 6570)."""
        if not self._allow_reserved:
            return quote(text, safe=safe)
        pieces = _ESCAPE.split(text)  # each second one is an escape
        return "".join(one if at % 2 else quote(one, safe=safe) for at, one in enumerate(pieces))

    def _encode_name(self, text: str) -> str:
        return text if self._is_plain else quote(text, safe="")

    def _encode_item(self, value: Any, level: int = 0) -> str:
        """Return an item of a list or an object; where they are joined, no comma stays in it."""
        if isinstance(value, list) and level < len(self._inner_styles):
            delimiter = _DELIMITERS[self._inner_styles[level]]
            items = [self._encode_item(one, level + 1) for one in cast("list[Any]", value)]
            return (unquote(delimiter) if self._is_plain else delimiter).join(items)
        text = to_text(value)
        if self._is_plain:
            return text
        return self._quote(
            text, self._safe if self._explode and not level else self._safe.replace(",", "")
        )


def _check_cookie(parameter: str, name: str, text: str) -> None:
    """Refuse a cookie of the style `cookie`, which has no encoding, if it would be another one.

    Raises:
      ValueError: name or value has a character that no cookie can hold.
    """
    known = name.isascii() and text.isascii() and (name + text).isprintable()
    if not known or ";" in name + text or "=" in name:
        raise ValueError(
            f"The cookie parameter {parameter!r} cannot be sent: a cookie holds printable ASCII "
            "characters without a semicolon. Encode the value in the way that the API expects."
        )


def to_text(value: Any) -> str:
    """Return a value as text: numbers and booleans as in JSON, objects within values as JSON."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
