"""Conversion between content parts, A2A's JSON and the SDK's records.

What the protocol has no field for is sent as data with google-adk's metadata, so that both
implementations understand each other.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, cast

from .. import types
from .._optional import need

EXTRA = "a2a"
PREFIX = "adk_"

_TYPE = f"{PREFIX}type"
_LONG = f"{PREFIX}is_long_running"
_THOUGHT = f"{PREFIX}thought"
_CALL, _RESPONSE = "function_call", "function_response"

Json = dict[str, Any]


def message_of(kind: str, value: Json) -> Any:
    """Return the SDK's record of a kind from its JSON."""
    records = need("a2a.types.a2a_pb2", extra=EXTRA)
    return need("google.protobuf.json_format", extra=EXTRA).ParseDict(
        value, getattr(records, kind)()
    )


def json_of(message: Any) -> Json:
    """Return one of the SDK's records as JSON, with whole numbers as integers."""
    found = need("google.protobuf.json_format", extra=EXTRA).MessageToDict(message)
    return cast(Json, _restore_integers(found))


def _restore_integers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _restore_integers(one) for key, one in cast(Json, value).items()}
    if isinstance(value, list):
        return [_restore_integers(one) for one in cast("list[Any]", value)]
    return value


def parts_json(
    parts: Iterable[types.Part] | None, waiting: Iterable[str] | None = None
) -> list[Json]:
    """Return parts as A2A's JSON, without unsupported parts, and mark the calls in `waiting`."""
    long = frozenset(waiting or ())
    return [one for one in (_part_json(part, long) for part in parts or ()) if one is not None]


def _part_json(part: types.Part, long: frozenset[str]) -> Json | None:
    if part.text is not None:
        return {"text": part.text, **({"metadata": {_THOUGHT: True}} if part.thought else {})}
    blob, file = part.inline_data, part.file_data
    if blob is not None:
        raw = base64.b64encode(blob.data or b"").decode()
        return _add_file_fields({"raw": raw}, blob.mime_type, blob.display_name)
    if file is not None:
        return _add_file_fields({"url": file.file_uri}, file.mime_type, file.display_name)
    if part.function_call is not None:
        metadata: Json = {_TYPE: _CALL}
        if part.function_call.id in long:
            metadata[_LONG] = True
        return {"data": _dump_plain(part.function_call), "metadata": metadata}
    if part.function_response is not None:
        return {"data": _dump_plain(part.function_response), "metadata": {_TYPE: _RESPONSE}}
    return None


def _dump_plain(value: types.FunctionCall | types.FunctionResponse) -> Json:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def _add_file_fields(value: Json, mime_type: str | None, name: str | None) -> Json:
    if mime_type:
        value["mediaType"] = mime_type
    if name:
        value["filename"] = name
    return value


def parts_of(values: Iterable[Json]) -> list[types.Part]:
    """Return A2A's parts as parts.

    Raises:
      ValueError: a function call or response is not valid.
    """
    return [_part_of(one) for one in values]


def _part_of(value: Json) -> types.Part:
    metadata: Json = value.get("metadata") or {}
    mime_type, name = value.get("mediaType") or None, value.get("filename") or None
    if "raw" in value:
        data = base64.b64decode(value["raw"])
        kind = mime_type or "application/octet-stream"
        return types.Part(inline_data=types.Blob(data=data, mime_type=kind, display_name=name))
    if "url" in value:
        file = types.FileData(file_uri=value["url"], mime_type=mime_type, display_name=name)
        return types.Part(file_data=file)
    if "data" in value:
        data = value["data"]
        if metadata.get(_TYPE) == _CALL:
            return types.Part(function_call=types.FunctionCall.model_validate(data))
        if metadata.get(_TYPE) == _RESPONSE:
            return types.Part(function_response=types.FunctionResponse.model_validate(data))
        return types.Part(text=json.dumps(data, ensure_ascii=False))
    return types.Part(text=value.get("text", ""), thought=metadata.get(_THOUGHT) or None)


def waiting_call_ids(values: Iterable[Json]) -> set[str]:
    """Return the ids of the calls among A2A's parts that wait for an answer."""
    found: set[str] = set()
    for one in values:
        metadata: Json = one.get("metadata") or {}
        data = one.get("data")
        if metadata.get(_LONG) and isinstance(data, dict):
            found.add(str(cast(Json, data).get("id", "")))
    return found
