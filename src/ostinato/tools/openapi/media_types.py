"""Media types of request bodies: which of several is sent, and of what kind it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

BodyKind = Literal["json", "form", "multipart", "text", "binary", "other"]

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s\";]+)", re.IGNORECASE)
_ORDER: tuple[BodyKind, ...] = ("json", "form", "multipart", "text", "binary", "other")


def body_kind(media_type: str) -> BodyKind:
    """Return how a body of a media type is written; parameters of the type do not matter."""
    plain = media_type.partition(";")[0].strip().lower()
    if plain in ("application/json", "*/*", "application/*") or plain.endswith(("+json", "/json")):
        return "json"
    if plain == FORM:
        return "form"
    if plain == MULTIPART:
        return "multipart"
    if plain.startswith("text/"):
        return "text"
    return "binary" if plain == "application/octet-stream" else "other"


def encode_text(text: str, media_type: str) -> bytes:
    """Return a text in the charset that a media type names; in UTF-8 if it names none.

    Raises:
      ValueError: the charset is unknown, or lacks a character of the text.
    """
    found = _CHARSET.search(media_type)
    if found is None:
        return text.encode()
    try:
        return text.encode(found[1])
    except LookupError as error:
        raise ValueError(f"the media type {media_type} has an unknown charset") from error


def choose_media_type(media_types: Iterable[str]) -> str | None:
    """Return the media type to send: JSON first, then forms, text and bytes.

    Of several of one kind it is the first, but plain JSON stands before other JSON types.
    """
    known = [one for one in media_types if one]
    exact = next((one for one in known if one.lower() == "application/json"), None)
    ranked = sorted(known, key=lambda one: _ORDER.index(body_kind(one)))
    return exact or (ranked[0] if ranked else None)
