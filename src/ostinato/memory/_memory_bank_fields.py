"""What requests to the Memory Bank carry: which keys of `custom_metadata` each kind of request
knows, and contents and facts as the service takes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from ostinato._log import get_logger
from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.memory.memory_entry import MemoryEntry

logger = get_logger(__name__)

_WAITS, _METADATA = "wait_for_completion", "metadata"
# Options of google-adk's client, which have no meaning here.
_LEFT_OUT = frozenset(("http_options",))


class Request:
    """A kind of request: the keys that it knows.

    Args:
      fields: field of the request and type of its value, by key.
      keeps_unknown: whether it has metadata, where all other keys go.
    """

    def __init__(
        self, fields: dict[str, tuple[str, type | tuple[type, ...]]], *, keeps_unknown: bool
    ) -> None:
        self.fields, self.keeps_unknown = fields, keeps_unknown


_REVISIONS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "disable_memory_revisions": ("disableMemoryRevisions", bool),
    "revision_expire_time": ("revisionExpireTime", (str, datetime)),
    "revision_labels": ("revisionLabels", dict),
    "revision_ttl": ("revisionTtl", str),
}
INGEST = Request(
    {
        "stream_id": ("streamId", str),
        "force_flush": ("forceFlush", bool),
        "generation_trigger_config": ("generationTriggerConfig", dict),
    },
    keeps_unknown=False,
)
GENERATE = Request(
    {
        **_REVISIONS,
        "ttl": ("revisionTtl", str),
        "disable_consolidation": ("disableConsolidation", bool),
        "metadata_merge_strategy": ("metadataMergeStrategy", str),
    },
    keeps_unknown=True,
)
CREATE = Request(
    {
        **_REVISIONS,
        "ttl": ("ttl", str),
        "expire_time": ("expireTime", (str, datetime)),
        "display_name": ("displayName", str),
        "description": ("description", str),
        "topics": ("topics", list),
        "memory_id": ("memoryId", str),
    },
    keeps_unknown=True,
)
_ONLY_GENERATE = frozenset((*GENERATE.fields, _METADATA, _WAITS, *_LEFT_OUT))


def is_for_generate(metadata: Mapping[str, object]) -> bool:
    """Return whether a key asks the service to generate memories at once (Spec 4 §6)."""
    return not _ONLY_GENERATE.isdisjoint(metadata)


def fields_of(metadata: Mapping[str, object], request: Request) -> tuple[dict[str, Any], bool]:
    """Return the fields of a request, and whether to wait for its end.

    A value of None counts as not given.

    Raises:
      InputValidationError: a value is of the wrong type.
    """
    fields: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for key, value in metadata.items():
        if value is None or key in _LEFT_OUT or key == _WAITS:
            continue
        if key in request.fields:
            name, kind = request.fields[key]
            fields[name] = _check_field(key, value, kind)
        elif not request.keeps_unknown:
            logger.debug("The Memory Bank takes no metadata with events: %r is left out.", key)
        elif key == _METADATA:
            given = cast(dict[str, Any], _check_field(key, value, dict))
            kept.update({name: _metadata_value(one) for name, one in given.items()})
        else:
            kept[key] = _metadata_value(value)
    if kept:
        fields[_METADATA] = kept
    return fields, bool(metadata.get(_WAITS))


def content_of(event: Event) -> dict[str, Any] | None:
    """Return an event's content in the service's format, or None if it is empty."""
    content = event.content
    if content is None or not content.parts:
        return None
    text = content.model_dump_json(by_alias=True, exclude_none=True, fallback=repr)
    told: dict[str, Any] = json.loads(text)
    told["parts"] = [part for part in told["parts"] if part not in ({}, {"text": ""})]
    return told if told["parts"] else None


def fact_of(index: int, entry: MemoryEntry) -> str:
    """Return the text of an entry.

    Raises:
      InputValidationError: it has something other than text, or no text.
    """
    parts = entry.content.parts or []
    if any(part.inline_data or part.file_data for part in parts):
        raise InputValidationError(
            f"memories[{index}] must include text only; inline_data and file_data are not "
            "supported."
        )
    fact = "\n".join(part.text for part in parts if part.text and part.text.strip())
    if not fact:
        raise InputValidationError(f"memories[{index}] must include text.")
    return fact


def _check_field(key: str, value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise InputValidationError(
            f"custom_metadata[{key!r}] must be a {' or '.join(k.__name__ for k in kinds)}, not "
            f"{type(value).__name__}."
            + (" Durations are written as '3600s'." if key.endswith("ttl") else "")
        )
    return value.isoformat() if isinstance(value, datetime) else value


def _metadata_value(value: Any) -> dict[str, Any]:
    """Return a value of metadata in the service's form, which knows four types."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, (int, float)):
        return {"doubleValue": float(value)}
    if isinstance(value, datetime):
        return {"timestampValue": value.isoformat()}
    return {"stringValue": str(value)}
