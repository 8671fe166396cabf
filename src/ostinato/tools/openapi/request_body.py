"""Request bodies: JSON, forms, multipart with files, text and bytes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..._clock import new_id
from .media_types import BodyKind, body_kind, encode_text
from .name_guard import NameGuard, decode_names
from .param_styles import Pairs, ParamStyle, to_text
from .spec_record import dict_of, list_of
from .swagger import INNER_STYLES

_ARTIFACT = "artifact:"
_TEXT, _JSON, _BYTES = "text/plain; charset=utf-8", "application/json", "application/octet-stream"
_STYLES = ("style", "explode", "allowReserved")


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file to send, with its name and media type."""

    name: str
    media_type: str
    data: bytes


LoadFile = Callable[[str], Awaitable[FileContent]]


class BodyWriter:
    """Writes the body of one operation.

    Args:
      media_type: the media type to send.
      media: the media type object: `schema` and `encoding`.
      load_file: loads the artifact of a name, for values `artifact:NAME`.
    """

    def __init__(self, media_type: str, media: Mapping[str, Any], load_file: LoadFile) -> None:
        self._media_type = media_type
        self._schema = dict_of(media.get("schema"))
        self._encoding = dict_of(media.get("encoding"))
        self._load_file = load_file

    async def write(self, value: Any) -> tuple[bytes, str]:
        """Return a body and its media type, with a boundary if it needs one.

        Raises:
          ValueError: the value does not fit the media type.
        """
        kind: BodyKind = body_kind(self._media_type)
        if kind == "json":
            # A wildcard is not a media type that can be sent.
            sent = _JSON if "*" in self._media_type else self._media_type
            return encode_text(json.dumps(value, ensure_ascii=False), sent), sent
        if kind in ("form", "multipart") and not isinstance(value, dict):
            raise ValueError(f"A body of the type {self._media_type} is an object of its fields.")
        if kind in ("form", "multipart"):
            declared = dict_of(self._schema.get("properties"))
            NameGuard(declared).check("", dict_of(value).keys() - declared.keys())
        if kind == "form":
            fields = self._write_fields(cast("dict[str, Any]", value))
            return "&".join(f"{name}={text}" for name, text in fields).encode(), self._media_type
        if kind == "multipart":
            return await self._write_parts(cast("dict[str, Any]", value))
        if kind != "text" and isinstance(value, str) and value.startswith(_ARTIFACT):
            found = await self._load_file(value.removeprefix(_ARTIFACT))
            concrete = found.media_type if "*" in self._media_type else self._media_type
            return found.data, concrete
        if kind != "binary" and isinstance(value, dict | list):
            raise ValueError(f"A body of the type {self._media_type} is a text.")
        return encode_text(to_text(value), self._media_type), self._media_type

    def _write_fields(self, value: dict[str, Any]) -> Pairs:
        pairs: Pairs = []
        guard = NameGuard([*value, *dict_of(self._schema.get("properties"))])
        for name, one in value.items():
            if one is None:
                continue
            encoding = dict_of(self._encoding.get(name))
            if isinstance(one, dict) and not any(key in encoding for key in _STYLES):
                one = json.dumps(one, ensure_ascii=False)
            elif encoding.get("contentType") == _JSON and isinstance(one, list):
                one = json.dumps(one, ensure_ascii=False)
            style = ParamStyle(
                name,
                "query",
                encoding.get("style"),
                encoding.get("explode"),
                bool(encoding.get("allowReserved")),
                list_of(encoding.get(INNER_STYLES)),
            )
            found = style.write_pairs(one)
            guard.check(name, decode_names(found))
            # A form writes a space as a plus; the encoding leaves no other plus sign.
            pairs += [(key, text.replace("%20", "+")) for key, text in found]
        return pairs

    async def _write_parts(self, value: dict[str, Any]) -> tuple[bytes, str]:
        boundary = new_id().replace("-", "")
        chunks: list[bytes] = []
        for name, one in value.items():
            for item in cast("list[Any]", one) if isinstance(one, list) else [one]:
                if item is not None:
                    chunks += [f"--{boundary}\r\n".encode(), await self._write_part(name, item)]
        chunks.append(f"--{boundary}--\r\n".encode())
        return b"".join(chunks), f"multipart/form-data; boundary={boundary}"

    async def _write_part(self, name: str, value: Any) -> bytes:
        encoding = dict_of(self._encoding.get(name))
        declared = str(encoding.get("contentType") or "").partition(",")[0].strip()
        wanted = "" if "*" in declared else declared
        file_name = ""
        if isinstance(value, str) and value.startswith(_ARTIFACT) and self._is_file(name):
            found = await self._load_file(value.removeprefix(_ARTIFACT))
            file_name, media_type, data = found.name, wanted or found.media_type, found.data
        elif self._is_file(name):
            file_name, media_type, data = name, wanted or _BYTES, to_text(value).encode()
        elif isinstance(value, dict):
            media_type, data = wanted or _JSON, json.dumps(value, ensure_ascii=False).encode()
        else:
            media_type = wanted or _TEXT
            data = encode_text(to_text(value), media_type)
        if not media_type.isprintable() or not media_type.isascii():
            raise ValueError(
                f"The content type of {name!r} has a line break or a character that no "
                "header can hold."
            )
        place = f'; filename="{_quote_name(file_name)}"' if file_name else ""
        head = (
            f'Content-Disposition: form-data; name="{_quote_name(name)}"{place}\r\n'
            f"Content-Type: {media_type}\r\n\r\n"
        )
        return head.encode() + data + b"\r\n"

    def _is_file(self, name: str) -> bool:
        schema = dict_of(dict_of(self._schema.get("properties")).get(name))
        if schema.get("type") == "array":
            schema = dict_of(schema.get("items"))
        return schema.get("format") == "binary" or "contentMediaType" in schema


def _quote_name(name: str) -> str:
    """Return a name for a header of a part, as browsers write it."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
