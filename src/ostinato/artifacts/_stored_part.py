"""Parts split into bytes and other fields, for services that store bytes.

Bytes inside JSON would be a third longer, and read in full each time something is listed.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from ostinato.types import Part

ContentKind: TypeAlias = Literal["text", "data"] | None


class StoredPart(NamedTuple):
    """A part taken apart: the field its content goes back to, its other fields, its content."""

    kind: ContentKind
    fields: dict[str, Any]
    content: bytes


def take_apart(part: Part) -> StoredPart:
    """The part's content as bytes, and the rest of it as JSON."""
    if part.inline_data is None:
        kind: ContentKind = None if part.text is None else "text"
        bare = part.model_copy(update={"text": None})
        content = (part.text or "").encode("utf-8")
    else:
        kind = "data"
        blob = part.inline_data.model_copy(update={"data": None})
        bare = part.model_copy(update={"inline_data": blob})
        content = part.inline_data.data or b""
    return StoredPart(kind, bare.model_dump(mode="json", by_alias=True, exclude_none=True), content)


def put_together(stored: StoredPart) -> Part:
    """The part that was taken apart.

    Raises:
        ValueError: the fields are no part, or the content is no text where it should be.
    """
    part = Part.model_validate(stored.fields)
    if stored.kind == "text":
        part.text = stored.content.decode("utf-8")
    elif stored.kind == "data" and part.inline_data is not None:
        part.inline_data.data = stored.content
    return part
