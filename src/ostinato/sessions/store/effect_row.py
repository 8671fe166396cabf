"""The row of a tool call in the effects ledger: its text, and the digests in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from ... import _clock

Outcome = Literal["done", "asked", "failed", "unknown", "not run"]
Resolution = Literal["", "rerun", "at_most_once", "ask", "check", "rejected"]

_PREFIXES = ("adk-", "e-")  # of the ids of calls and of invocations
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IDS = re.compile(f"adk-{_UUID} e-{_UUID}")
_DIGEST = 12  # bytes
_FUNCTION = "FunctionTool"
_SHORT = 4  # fields of a short row whose other fields have their defaults
_encode_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=repr).encode
DEFAULTS = (1, "done", "", "", _FUNCTION)


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(_clock.now() * 1000)


def digest_json(value: Any) -> bytes:
    """Return 96 bits of SHA-256 over a value as JSON with sorted keys."""
    try:
        text = _encode_json(value)
    except (TypeError, ValueError):  # keys of several types, or a cycle
        text = repr(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]


def encode_effect(
    tool: str,
    agent: str,
    ids: tuple[str, str],
    digests: tuple[bytes, bytes],
    milliseconds: int,
    rest: tuple[int, str, str, str, str],
    ran_in: str = "",
) -> str:
    """Return the text of a row: fields between tabs, short, or a JSON list if that cannot be.

    Args:
      tool, agent: their names.
      ids: of the call and of the invocation; in the short form UUIDs with our prefixes.
      digests: of arguments and response.
      milliseconds: from begin to outcome.
      rest: attempts, outcome, resolution, who approved, source; left out if all are the default.
      ran_in: the hidden session in which the call ran, if that is not the ledger's; a list then.
    """
    more = () if rest == DEFAULTS else rest
    if not ran_in and _IDS.fullmatch(f"{ids[0]} {ids[1]}"):
        hexes = f"{ids[0][4:]}{ids[1][2:]}".replace("-", "")
        blob = base64.urlsafe_b64encode(bytes.fromhex(hexes) + digests[0] + digests[1])
        short = "\t".join(
            (tool, agent, blob.decode().rstrip("="), str(milliseconds), *map(str, more))
        )
        if short.count("\t") == _SHORT - 1 + len(more) and not short.startswith("["):
            return short
    of = [digest.hex() for digest in digests]
    fields = [tool, agent, *ids, *of, milliseconds, *rest, *([ran_in] if ran_in else ())]
    return json.dumps(fields, separators=(",", ":"))


def split_row(data: str) -> Sequence[Any]:
    """Return the fields of a row in the order of its long form."""
    if data.startswith("["):
        return json.loads(data)
    tool, agent, blob, *rest = data.split("\t")
    raw = base64.b64decode(blob + "=" * (-len(blob) % 4), b"-_", validate=True)
    if len(raw) != 32 + 2 * _DIGEST:
        raise ValueError(f"the ids and digests have {len(raw)} bytes")
    ids = [
        _unpack(prefix, raw[at : at + 16]) for prefix, at in zip(_PREFIXES, (0, 16), strict=True)
    ]
    return [tool, agent, *ids, raw[32 : 32 + _DIGEST].hex(), raw[32 + _DIGEST :].hex(), *rest]


def _unpack(prefix: str, raw: bytes) -> str:
    text = raw.hex()
    return f"{prefix}{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_readable(data: Any) -> bool:
    """Return whether the text of a row has as many fields as a row has."""
    try:
        if data.startswith("["):
            return len(json.loads(data)) - 7 - len(DEFAULTS) in (0, 1)
        tabs = data.count("\t")
        return tabs in (_SHORT - 1, _SHORT - 1 + len(DEFAULTS)) and is_text(data)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False


def is_text(value: Any) -> bool:
    """Return whether a value is a text without bytes that were no UTF-8 in the store."""
    return isinstance(value, str) and (
        value.isascii() or not any("\ud800" <= one <= "\udfff" for one in value)
    )


def decode_text(text: bytes) -> str:
    """Return the text of a column; surrogates stand for bytes that are no UTF-8."""
    return text.decode("utf-8", "surrogateescape")
