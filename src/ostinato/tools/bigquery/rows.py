"""Rows of BigQuery's REST answers as JSON values, in the form that google-adk's tools give."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decode_rows(
    fields: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return rows as dicts by column.

    Args:
      fields: the result's schema.
      rows: as BigQuery sends them, with timestamps in microseconds.
    """
    return [_decode_record(fields, row) for row in rows]


def _decode_record(
    fields: Sequence[Mapping[str, Any]], record: Mapping[str, Any]
) -> dict[str, Any]:
    cells: Sequence[Mapping[str, Any]] = record.get("f", ())
    return {
        field["name"]: _decode_cell(field, cell.get("v"))
        for field, cell in zip(fields, cells, strict=False)
    }


def _decode_cell(field: Mapping[str, Any], value: Any) -> Any:
    if field.get("mode") == "REPEATED":
        return [_decode_value(field, item.get("v")) for item in value or ()]
    return _decode_value(field, value)


def _decode_value(field: Mapping[str, Any], value: Any) -> Any:
    if value is None:
        return None
    kind = field.get("type", "STRING")
    if kind in ("RECORD", "STRUCT"):
        return _decode_record(field.get("fields", ()), value)
    decode = _DECODERS.get(kind)
    return value if decode is None else decode(value)


def _decode_float(value: str) -> float | str:
    number = float(value)
    # JSON has no such numbers.
    return number if math.isfinite(number) else str(value)


def _decode_timestamp(value: str) -> str:
    try:
        return str(_EPOCH + timedelta(microseconds=int(value)))
    except (ValueError, OverflowError):
        return str(value)


def _decode_datetime(value: str) -> str:
    return str(value).replace("T", " ")


def _decode_bytes(value: str) -> str:
    return str(base64.b64decode(value))


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "INTEGER": int,
    "INT64": int,
    "FLOAT": _decode_float,
    "FLOAT64": _decode_float,
    "BOOLEAN": lambda value: str(value).lower() == "true",
    "BOOL": lambda value: str(value).lower() == "true",
    "TIMESTAMP": _decode_timestamp,
    "DATETIME": _decode_datetime,
    "BYTES": _decode_bytes,
    "JSON": json.loads,
}
