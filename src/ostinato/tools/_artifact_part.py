"""An artifact as models read it: media as it is, text as text, anything else by its name and size.

The tool load_artifacts uses it: a model's service refuses a request with media it does not know.
"""

from __future__ import annotations

from .. import types

_MEDIA = ("image/", "audio/", "video/", "application/pdf")
_TEXT = (
    "text/",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/csv",
    "application/javascript",
    "image/svg+xml",
)
_TEXT_SUFFIXES = ("+xml", "+json", "+yaml")


def readable_part(artifact: types.Part, name: str) -> types.Part:
    """Return what to send to the model for an artifact.

    Args:
      artifact: its content, which is not changed.
      name: its name, for a note in place of bytes that no model reads.
    """
    blob = artifact.inline_data
    if blob is None:
        return artifact
    data = blob.data or b""
    media_type = (blob.mime_type or "").partition(";")[0].strip().lower()
    if media_type.startswith(_TEXT) or media_type.endswith(_TEXT_SUFFIXES):
        return types.Part(text=data.decode("utf-8", "replace"))
    if media_type.startswith(_MEDIA):
        return artifact
    kind = media_type or "unknown"
    return types.Part(
        text=f"[Artifact {name}: {len(data):,} bytes of type {kind}, which cannot be shown here.]"
    )
