"""Events as google-adk's tables hold them: JSON in the column `event_data`.

Ours is the JSON of a record with the columns put in front, in the names that google-adk gives to
both; google-adk and Ostinato read either spelling.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring as _quoted
from typing import Any

from ...errors import StoreError
from ...events.event import Event
from ..log.event_json import PLACE_KEY, read_agent_path
from ..log.event_log import EventRecord

_COLUMNS = ("id", "invocation_id", "author", "branch", "timestamp")


def event_data(record: EventRecord) -> str:
    """Return the JSON text of an event."""
    # By hand, because json.dumps makes an encoder for each call.
    branch = "" if record.branch is None else f',"branch":{_quoted(record.branch)}'
    rest, path = record.data[1:], read_agent_path(record.data)
    if path and '"nodeInfo":' not in rest:
        rest = f'"nodeInfo":{{"path":{_quoted(path)}}},{rest}'
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
        return _build_record(id, invocation_id, micros, data)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError(
            f"The stored event {id!r} is damaged and cannot be read: {type(error).__name__}. "
            "Restore a backup, or delete its session."
        ) from error


def _build_record(id: str, invocation_id: str, micros: int, data: str | None) -> EventRecord:
    fields: dict[str, Any] = json.loads(data) if data else {}
    columns = {name: fields.pop(name, None) for name in _COLUMNS}
    columns |= {"id": id, "invocation_id": invocation_id}
    columns["author"] = columns["author"] or "user"
    if not isinstance(columns["timestamp"], (int, float)):
        columns["timestamp"] = micros / 1e6
    if _is_adks(fields):
        return EventRecord.of(Event.model_validate({**fields, **columns}), fallback=repr)
    fields = _with_place_first(fields)
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return EventRecord.from_columns(**columns, data=text)


def _with_place_first(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields as `_event_text` writes them: databases keep no order of names."""
    if PLACE_KEY not in fields:
        return fields
    given: dict[str, Any] = fields.get("nodeInfo") or {}
    if given.keys() <= {"path"}:
        fields.pop("nodeInfo", None)
    return {PLACE_KEY: fields.pop(PLACE_KEY), **fields}


def _is_adks(fields: dict[str, Any]) -> bool:
    """Return whether google-adk wrote these fields: its names have underscores."""
    if any("_" in name for name in fields):
        return True
    content: dict[str, Any] = fields.get("content") or {}
    inner: list[Any] = [fields.get("actions"), *(content.get("parts") or ())]
    return any("_" in name for each in inner if each for name in each)
