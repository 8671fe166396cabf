"""Known secrets in text, in every way that servers and libraries write them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast
from urllib.parse import quote, quote_plus

from ._secrets import REDACTED, is_secret_name, redact_text

_SHORTEST_SECRET = 4  # characters; a shorter one would redact words of the message
_HEX = re.compile(r"%[0-9A-F]{2}")


def redact_values(text: str, secrets: Iterable[str]) -> str:
    """Return a text without known secrets, in whatever way they are encoded, and what looks so.

    Args:
      text: any text, such as an error of a server that repeats a request.
      secrets: the values; those of fewer than 4 characters are left.
    """
    return _replace(text, _list_spellings(secrets))


def redact_tree(value: Any, secrets: Iterable[str], skip: Collection[str] = ()) -> Any:
    """Return JSON without known secrets, neither in its texts nor in its keys.

    Args:
      value: the JSON.
      secrets: as for `redact_values`.
      skip: keys whose texts are kept, such as those of base64.
    """
    spellings = _list_spellings(secrets)

    def redact(one: Any) -> Any:
        if isinstance(one, str):
            return _replace(one, spellings)
        if isinstance(one, list):
            return [redact(each) for each in cast("list[Any]", one)]
        if not isinstance(one, dict):
            return one
        fields = cast("dict[str, Any]", one)
        return {
            _replace(key, spellings): each if key in skip else redact(each)
            for key, each in fields.items()
        }

    return redact(value)


def _list_spellings(secrets: Iterable[str]) -> list[str]:
    """Return all ways to write the secrets, the longest first."""
    spellings = {
        spelling
        for secret in secrets
        if len(secret) >= _SHORTEST_SECRET
        for spelling in _spellings_of(secret)
        if len(spelling) >= _SHORTEST_SECRET
    }
    return sorted(spellings, key=len, reverse=True)


def _replace(text: str, spellings: Iterable[str]) -> str:
    for spelling in spellings:
        text = text.replace(spelling, REDACTED)
    return redact_text(text)


def secrets_of_headers(headers: Mapping[str, str], *, is_all: bool = False) -> list[str]:
    """Return the values of headers that hold secrets, and the tokens within them.

    Args:
      headers: the headers.
      is_all: whether each of them may hold a secret, whatever its name is.
    """
    found: list[str] = []
    for name, value in headers.items():
        parts = name.lower().split("-")
        is_named = is_secret_name(name) or bool({"authorization", "cookie", "key"} & {*parts})
        if not is_all and not is_named:
            continue
        scheme, _, token = value.partition(" ")
        found += [value, token or value]
        if "cookie" in parts:
            found += [pair.partition("=")[2].strip() for pair in value.split(";")]
        elif scheme.lower() == "basic":
            found += _read_login(token)
    return found


def _read_login(token: str) -> list[str]:
    """Return what the token of Basic holds: the login, and the password alone."""
    try:
        login = base64.b64decode(token).decode()
    except ValueError:
        return []
    return [login, login.partition(":")[2]]


def _spellings_of(secret: str) -> set[str]:
    """Return a secret as URLs, JSON, HTML, Python and base64 write it."""
    encoded = secret.encode("utf-8", "surrogatepass")
    found = {
        secret,
        quote(encoded),
        quote(encoded, safe=""),
        quote_plus(encoded),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
        repr(secret)[1:-1],
        base64.b64encode(encoded).decode().rstrip("="),
        base64.urlsafe_b64encode(encoded).decode().rstrip("="),
    }
    found |= {one.replace("/", "\\/") for one in found}  # as some writers of JSON escape it
    return found | {_HEX.sub(lambda hit: hit[0].lower(), one) for one in found}
