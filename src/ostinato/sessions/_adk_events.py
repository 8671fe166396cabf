"""Events as google-adk's tables hold them: JSON in the column `event_data`.

Ours is the JSON of a record with the columns put in front, in the names that google-adk gives to
both; google-adk reads either spelling, and so do we.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring as _quoted
from typing import Any

from ..errors import StoreError
from ..events.event import Event
from .event_log import EventRecord

_COLUMNS = ("id", "invocation_id", "author", "branch", "timestamp")


def event_data(record: EventRecord) -> str:
    """Return the JSON text of an event."""
    # By hand, because json.dumps makes an encoder for each call.
    branch = "" if record.branch is None else f',"branch":{_quoted(record.branch)}'
    rest = record.data[1:]
    return (
        f'{{"id":{_quoted(record.id)},"invocation_id":{_quoted(record.invocation_id)},'
        f'"author":{_quoted(record.author)}{branch},"timestamp":{float(record.timestamp)!r}'
        f"{'' if rest == '}' else ','}{rest}"
    )


def record_of(id: str, invocation_id: str, micros: int, data: str | None) -> EventRecord:
    """Build the record of a stored event.

    Args:
      micros: time of its row, microseconds since 1970; the JSON knows it more exactly.
      data: its JSON text.

    Raises:
      StoreError: the text is no JSON of an event.
    """
    try:
        return _record(id, invocation_id, micros, data)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError(
            f"The stored event {id!r} is damaged and cannot be read: {type(error).__name__}. "
            "Restore a backup, or delete its session."
        ) from error


def _record(id: str, invocation_id: str, micros: int, data: str | None) -> EventRecord:
    fields: dict[str, Any] = json.loads(data) if data else {}
    columns = {name: fields.pop(name, None) for name in _COLUMNS}
    columns |= {"id": id, "invocation_id": invocation_id}
    columns["author"] = columns["author"] or "user"
    if not isinstance(columns["timestamp"], (int, float)):
        columns["timestamp"] = micros / 1e6
    if _is_adks(fields):
        return EventRecord.of(Event.model_validate({**fields, **columns}), fallback=repr)
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return EventRecord.stored(**columns, data=text)


def _is_adks(fields: dict[str, Any]) -> bool:
    """Tell whether google-adk wrote this: it spells names with underscores."""
    if any("_" in name for name in fields):
        return True
    content: dict[str, Any] = fields.get("content") or {}
    inner: list[Any] = [fields.get("actions"), *(content.get("parts") or ())]
    return any("_" in name for each in inner if each for name in each)
