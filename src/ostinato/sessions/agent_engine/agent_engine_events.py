"""Events as Agent Engine keeps them: `SessionEvent` messages, with the whole event in `rawEvent`.

What google-adk writes is read, and it reads what is written here. Readers that know no `rawEvent`
find content, actions and metadata in the message's own fields.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any, cast

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from ...errors import InputValidationError, StoreError
from ...events.event import Event
from ...events.event_actions import EventActions
from ..log.event_log import EventRecord

# Fields of `actions` and `eventMetadata` that the message has; Ostinato's on the right.
_ACTIONS = {
    "skipSummarization": "skipSummarization",
    "stateDelta": "stateDelta",
    "artifactDelta": "artifactDelta",
    "transferAgent": "transferToAgent",
    "escalate": "escalate",
    "requestedAuthConfigs": "requestedAuthConfigs",
}
_METADATA = (
    "partial",
    "turnComplete",
    "interrupted",
    "branch",
    "longRunningToolIds",
    "groundingMetadata",
)
_KNOWN_ACTIONS = frozenset(to_camel(name) for name in EventActions.model_fields)
# Where google-adk keeps in the custom metadata what the message has no field for.
_COMPACTION, _USAGE = "_compaction", "_usage_metadata"


def timestamp_text(seconds: float) -> str:
    """Return a time as RFC 3339 text, to the nanosecond: events are ordered by it."""
    whole = math.floor(seconds)
    nanos = min(round((seconds - whole) * 1e9), 999_999_999)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{nanos:09d}Z"


def utc_text(seconds: float) -> str:
    """Return a time as ISO 8601 text for people's programs."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def seconds_of(text: str) -> float:
    """Return the seconds since 1970 of RFC 3339 text."""
    return datetime.fromisoformat(text).timestamp()


def session_event(event: Event) -> dict[str, Any]:
    """Return the message that keeps an event.

    A value that JSON cannot carry is kept as its repr.

    Raises:
      InputValidationError: not even that can be done.
    """
    try:
        text = event.model_dump_json(by_alias=True, exclude_none=True, fallback=repr)
    except ValueError as error:
        raise InputValidationError(
            f"The event by {event.author!r} holds a value that JSON cannot carry: {error}"
        ) from error
    raw: dict[str, Any] = json.loads(text)
    given: dict[str, Any] = raw["actions"]
    actions = {name: given[ours] for name, ours in _ACTIONS.items() if given.get(ours)}
    metadata = {name: raw[name] for name in _METADATA if name in raw}
    custom: dict[str, Any] = dict(raw.get("customMetadata") or {})
    if event.actions.compaction is not None:
        custom[_COMPACTION] = event.actions.compaction.model_dump(mode="json", exclude_none=True)
    if event.usage_metadata is not None:
        custom[_USAGE] = event.usage_metadata.model_dump(mode="json", exclude_none=True)
    if custom:
        metadata["customMetadata"] = custom
    message = {
        "author": event.author or "user",
        "invocationId": event.invocation_id or event.id,  # the service wants one
        "timestamp": timestamp_text(event.timestamp),
        "content": raw.get("content"),
        "errorCode": raw.get("errorCode"),
        "errorMessage": raw.get("errorMessage"),
        "actions": actions,
        "eventMetadata": metadata,
        "rawEvent": raw,
    }
    return {name: value for name, value in message.items() if value}


def record_of(message: dict[str, Any]) -> EventRecord:
    """Build the record of an event that Agent Engine kept.

    Fields that this version does not know are left out.

    Raises:
      StoreError: the record is not a valid event.
    """
    try:
        raw = message.get("rawEvent") or _from_fields(message)
        fields: dict[str, Any] = {**raw, "id": raw.get("id") or _last_segment(message["name"])}
        actions: dict[str, Any] = fields.get("actions") or {}
        fields["actions"] = {k: v for k, v in actions.items() if to_camel(k) in _KNOWN_ACTIONS}
        return EventRecord.of(Event.model_validate(fields), fallback=repr)
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"Agent Engine gave back {message.get('name')!r}, which is no event that this version "
            f"reads ({type(error).__name__}). Update, or delete its session."
        ) from error


def _from_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return an event's fields from a message without `rawEvent`."""
    metadata: dict[str, Any] = dict(message.get("eventMetadata") or {})
    custom: dict[str, Any] = dict(metadata.pop("customMetadata", None) or {})
    given: dict[str, Any] = message.get("actions") or {}
    actions = {ours: given[name] for name, ours in _ACTIONS.items() if name in given}
    compaction, usage = custom.pop(_COMPACTION, None), custom.pop(_USAGE, None)
    if compaction is not None:
        actions["compaction"] = compaction
    fields: dict[str, Any] = {
        **metadata,
        "author": message.get("author"),
        "invocationId": message.get("invocationId"),
        "timestamp": seconds_of(message["timestamp"]),
        "content": message.get("content"),
        "errorCode": message.get("errorCode"),
        "errorMessage": message.get("errorMessage"),
        "actions": actions,
        "customMetadata": custom or None,
        "usageMetadata": usage,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _last_segment(name: Any) -> str:
    return cast(str, name).rpartition("/")[2]
